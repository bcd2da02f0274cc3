//! What is addressed to nodes instead of shards: topics, actors by name, replies that are passed on, and who is there.

use std::collections::BTreeMap;

use futures_util::{FutureExt, StreamExt};
use ostrakon::{
    AskError, Context, Entity, EntityRef, Failure, LookupError, MemberStatus, Node, NodeName,
    Outcome, Reply, StreamReply, TellError, TopologySubscription,
    testing::{self, Fixed},
};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::{
    cluster::{Cluster, SOON, builder},
    ledger::{Gate, Ledger, LedgerMessage},
};

fn names(nodes: &[usize]) -> Vec<NodeName> {
    let name = |n: &usize| NodeName::new(format!("node-{n}")).unwrap();
    nodes.iter().map(name).collect()
}

fn add(entry: u64) -> LedgerMessage {
    let reply = Reply::ignored();
    LedgerMessage::Add { entry, reply }
}

/// Has every node of a cluster talk to every other once.
async fn meet(cluster: &Cluster) {
    for node in &cluster.nodes {
        for other in 0..cluster.nodes.len() {
            let ledger = node.entity::<Ledger>(cluster.id_on(other));
            timeout(SOON, ledger.node()).await.unwrap().unwrap();
        }
    }
}

#[tokio::test]
async fn a_topic_is_answered_once_by_every_node_that_has_a_receiver() {
    let cluster = Cluster::of(3).await;
    for receiver in [0, 2] {
        let joined = cluster.nodes[receiver].join_topic("prices", Ledger::default());
        joined.unwrap();
    }
    for node in &cluster.nodes {
        let topic = node.topic::<Ledger>("prices");
        let answers = topic.ask(|reply| LedgerMessage::Node { reply });
        let answers = timeout(SOON, answers).await.unwrap();
        let expected: BTreeMap<_, _> = names(&[1, 3])
            .into_iter()
            .map(|name| (name.clone(), Ok(name.to_string())))
            .collect();
        assert_eq!(answers, expected, "asked by {}", node.name());
    }
    cluster.leave().await;
}

#[tokio::test]
async fn what_is_told_on_a_topic_reaches_every_receiver_once() {
    let cluster = Cluster::of(3).await;
    let mut receivers = Vec::new();
    for node in &cluster.nodes {
        receivers.push(node.join_topic("news", Ledger::default()).unwrap());
    }
    for (n, node) in (0..).zip(&cluster.nodes) {
        let told = node.topic::<Ledger>("news").tell(|| add(n)).await;
        assert!(told.into_keys().eq(names(&[1, 2, 3])));
    }
    for (n, node) in (0..).zip(&cluster.nodes) {
        // Behind what this node has told.
        let topic = node.topic::<Ledger>("news");
        let answers = topic.ask(|reply| LedgerMessage::Entries { reply }).await;
        assert_eq!(answers.len(), 3);
        for entries in answers.into_values() {
            assert!(entries.unwrap().contains(&n));
        }
    }
    for receiver in receivers {
        let mut entries = receiver.entries().await.unwrap();
        entries.sort_unstable();
        assert_eq!(entries, [0, 1, 2]);
    }
    cluster.leave().await;
}

#[tokio::test]
async fn topics_of_other_names_are_apart() {
    let cluster = Cluster::of(2).await;
    let receiver = cluster.nodes[1].join_topic("a", Ledger::default()).unwrap();
    let other = cluster.nodes[0].topic::<Ledger>("b");
    other.tell(|| add(1)).await;
    let answers = other.ask(|reply| LedgerMessage::Entries { reply }).await;
    assert_eq!(answers, BTreeMap::new());
    assert_eq!(receiver.entries().await, Ok(Vec::new()));
    cluster.leave().await;
}

#[tokio::test]
async fn one_receiver_that_fails_does_not_spoil_the_answers_of_the_others() {
    let cluster = Cluster::of(3).await;
    for node in &cluster.nodes[..2] {
        node.join_topic("mixed", Ledger::default()).unwrap();
    }
    let _ = cluster.nodes[2].join_topic("mixed", Broken).unwrap();
    let topic = cluster.nodes[0].topic::<Ledger>("mixed");
    let answers = timeout(SOON, topic.ask(|reply| LedgerMessage::Fail { reply })).await;
    let answers = answers.unwrap();
    // The third receives another kind of message: it is no receiver for this one.
    assert!(answers.keys().eq(&names(&[1, 2])));
    for answer in answers.into_values() {
        assert_eq!(answer.unwrap_err().outcome(), Outcome::FailedInHandler);
    }
    cluster.leave().await;
}

/// An actor of another kind than the ledgers.
struct Broken;

impl Entity for Broken {
    const KIND: &'static str = "broken";
    type Message = u8;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, _: u8, _: &mut Context<Self>) -> Result<(), Failure> {
        Err("broken".into())
    }
}

#[tokio::test]
async fn an_actor_on_another_node_is_asked_told_and_streamed_from() {
    let cluster = Cluster::of(3).await;
    cluster.nodes[1].spawn("till", Ledger::default()).unwrap();
    for (n, node) in cluster.nodes.iter().enumerate() {
        let till = node.lookup::<Ledger>("till").on("node-2").unwrap();
        assert_eq!(till.add(1).await, Ok(3 * n + 1));
        till.tell().add(2).await.unwrap();
        assert_eq!(till.add(3).await, Ok(3 * n + 3));
        assert_eq!(till.node().await.unwrap(), "node-2");
        let items = till.sized(vec![10; 200]).await.unwrap();
        let items: Vec<_> = items.map(|item| item.unwrap()[0]).collect().await;
        assert!(items.into_iter().eq(0..200));
    }
    cluster.leave().await;
}

#[tokio::test]
async fn messages_to_an_actor_keep_their_order_whatever_their_size() {
    let cluster = Cluster::of(2).await;
    let actor = cluster.nodes[1].spawn("sizes", Ledger::default()).unwrap();
    let far = cluster.nodes[0].lookup::<Ledger>("sizes").on("node-2");
    let far = far.unwrap();
    for n in 0..15 {
        // A large message between small ones.
        far.tell().swallow(vec![0; 100_000]).await.unwrap();
        far.tell().add(2 * n).await.unwrap();
        far.tell().add(2 * n + 1).await.unwrap();
    }
    let asked = timeout(SOON, far.entries()).await.unwrap().unwrap();
    assert!(asked.iter().copied().eq(0..30), "{asked:?}");
    assert_eq!(actor.entries().await.unwrap().len(), 30);
    cluster.leave().await;
}

#[tokio::test]
async fn an_actor_that_is_not_there_is_a_clear_error() {
    let cluster = Cluster::of(2).await;
    let no_actor = |name: &str| {
        AskError::NotSent(TellError::NoSuchActor {
            name: ostrakon::EntityId::new(name).unwrap(),
            node: cluster.nodes[1].name().clone(),
        })
    };
    let nobody = cluster.nodes[0].lookup::<Ledger>("nobody").on("node-2");
    let nobody = nobody.unwrap();
    assert_eq!(nobody.add(1).await, Err(no_actor("nobody")));
    assert_eq!(nobody.sized(vec![1]).await.err(), Some(no_actor("nobody")));
    // Nobody waits for an answer to this.
    assert_eq!(nobody.tell().add(1).await, Ok(()));

    let _ = cluster.nodes[1].spawn("broken", Broken).unwrap();
    let other_kind = cluster.nodes[0].lookup::<Ledger>("broken").on("node-2");
    assert_eq!(other_kind.unwrap().add(1).await, Err(no_actor("broken")));

    cluster.nodes[1].spawn("brief", Ledger::default()).unwrap();
    let brief = cluster.nodes[0].lookup::<Ledger>("brief").on("node-2");
    let brief = brief.unwrap();
    assert_eq!(brief.add(1).await, Ok(1));
    // A failure ends an actor for good.
    assert!(brief.fail().await.is_err());
    let after = brief.add(2).await.unwrap_err();
    assert_eq!(after.outcome(), Outcome::NotExecuted);
    timeout(SOON, async {
        // Its end may still be under way.
        while brief.add(2).await != Err(no_actor("brief")) {}
    })
    .await
    .unwrap();
    cluster.leave().await;
}

#[tokio::test]
async fn a_node_that_is_not_known_is_a_clear_error() {
    let cluster = Cluster::of(2).await;
    let nowhere = cluster.nodes[0].lookup::<Ledger>("till").on("node-9");
    let node = NodeName::new("node-9").unwrap();
    assert_eq!(nowhere.err(), Some(LookupError::NoSuchNode { node }));
    let bad = cluster.nodes[0].lookup::<Ledger>("").on("node-2");
    assert!(matches!(bad, Err(LookupError::InvalidName(_))));
    let here = cluster.nodes[0].lookup::<Ledger>("till").on("node-1");
    assert!(matches!(here, Err(LookupError::NoSuchActor { .. })));
    cluster.leave().await;
}

#[tokio::test]
async fn an_actor_on_a_node_that_has_left_is_unreachable_by_the_deadline() {
    let cluster = Cluster::of(2).await;
    cluster.nodes[1].spawn("till", Ledger::default()).unwrap();
    let till = cluster.nodes[0].lookup::<Ledger>("till").on("node-2");
    let till = till.unwrap();
    assert_eq!(till.add(1).await, Ok(1));
    timeout(SOON, cluster.lose(1, 0)).await.unwrap();
    let node = cluster.nodes[1].name().clone();
    let till = till.within(std::time::Duration::from_millis(200));
    let error = timeout(SOON, till.add(2)).await.unwrap().unwrap_err();
    assert_eq!(error, AskError::NotSent(TellError::Unreachable { node }));
    assert!(error.is_retryable());
    cluster.nodes[0].leave().await.unwrap();
}

/// Passes a question on, and answers one that was passed to it.
#[derive(Default)]
struct Relay {
    kept: Option<Reply<String>>,
}

#[derive(Serialize, Deserialize)]
enum RelayMessage {
    /// Have the last of these answer.
    Pass(Vec<String>, Then, Reply<String>),
    /// Have an actor of this name and node answer.
    PassToActor(String, String, Reply<String>),
    /// Have a kind answer that nobody hosts.
    PassToNobody(String, Reply<String>),
    /// Answers with what was kept.
    Release,
    Stream(Vec<String>, StreamReply<u64>),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Then {
    Answer,
    Drop,
    Keep,
    Fail,
}

impl Entity for Relay {
    const KIND: &'static str = "relay";
    type Message = RelayMessage;
    type Ref = EntityRef<Self>;

    async fn handle(
        &mut self,
        message: RelayMessage,
        ctx: &mut Context<Self>,
    ) -> Result<(), Failure> {
        let node = ctx.node().clone();
        match message {
            RelayMessage::Pass(hops, then, reply) => match (hops.split_first(), then) {
                (Some((next, rest)), _) => {
                    let pass = RelayMessage::Pass(rest.to_vec(), then, reply);
                    node.entity::<Self>(next).tell(pass).await?;
                }
                (None, Then::Answer) => {
                    reply.send(node.name().to_string());
                }
                (None, Then::Drop) => drop(reply),
                (None, Then::Keep) => {
                    self.kept = Some(reply);
                    Gate::of("a reply is kept").open();
                }
                (None, Then::Fail) => return Err("no".into()),
            },
            RelayMessage::PassToActor(name, on, reply) => {
                let actor = node.lookup::<Self>(name).on(on)?;
                let pass = RelayMessage::Pass(Vec::new(), Then::Answer, reply);
                actor.tell(pass).await?;
            }
            RelayMessage::PassToNobody(id, reply) => {
                node.entity::<Unhosted>(id).tell(reply).await?;
            }
            RelayMessage::Release => {
                if let Some(reply) = self.kept.take() {
                    reply.send("kept".to_owned());
                }
            }
            RelayMessage::Stream(hops, reply) => match hops.split_first() {
                Some((next, rest)) => {
                    let pass = RelayMessage::Stream(rest.to_vec(), reply);
                    node.entity::<Self>(next).tell(pass).await?;
                }
                None => ctx.spawn(async move {
                    for n in 0..500 {
                        if reply.send(n).await.is_err() {
                            Gate::of("a passed stream was cancelled").open();
                            return;
                        }
                    }
                    reply.finish().await;
                }),
            },
        }
        Ok(())
    }
}

/// A kind that the nodes of these tests know and do not host.
struct Unhosted;

impl Entity for Unhosted {
    const KIND: &'static str = "unhosted";
    type Message = Reply<String>;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, _: Reply<String>, _: &mut Context<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

async fn relays(size: usize) -> Cluster {
    let mut nodes: Vec<Node> = Vec::new();
    for n in 1..=size {
        let node = builder(&format!("node-{n}"))
            .host::<Relay>()
            .reach::<Unhosted>(ostrakon::GroupName::default())
            .fixed(Fixed::plain());
        nodes.push(node.start().await.unwrap());
    }
    Cluster::connect(nodes).await
}

async fn pass(cluster: &Cluster, hops: &[usize], then: Then) -> Result<String, AskError> {
    let mut hops = (0..).zip(hops).map(|(n, on)| {
        // No relay comes twice: it would be told, not asked, but the test is about others.
        cluster.ids_on(*on).nth(n).unwrap()
    });
    let first = cluster.nodes[0].entity::<Relay>(hops.next().unwrap());
    let hops: Vec<_> = hops.collect();
    let asked = first.ask(|reply| RelayMessage::Pass(hops, then, reply));
    timeout(SOON, asked).await.expect("an outcome")
}

#[tokio::test]
async fn a_reply_that_was_passed_on_answers_the_first_asker() {
    let cluster = relays(3).await;
    for hops in [
        &[1, 2][..],
        &[1, 0],
        &[0, 1],
        &[1, 2, 1],
        &[2, 1, 0, 2, 1],
        &[1, 1, 2, 2, 0],
    ] {
        let last = hops.last().unwrap() + 1;
        let answer = pass(&cluster, hops, Then::Answer).await;
        assert_eq!(answer, Ok(format!("node-{last}")), "by way of {hops:?}");
    }
    cluster.leave().await;
}

#[tokio::test]
async fn a_reply_that_was_passed_on_and_dropped_is_no_reply() {
    let cluster = relays(3).await;
    for hops in [&[1, 2][..], &[1, 0], &[0, 1], &[1, 2, 1]] {
        for then in [Then::Drop, Then::Fail] {
            let answer = pass(&cluster, hops, then).await;
            assert_eq!(answer, Err(AskError::NoReply), "by way of {hops:?}");
        }
    }
    cluster.leave().await;
}

#[tokio::test]
async fn a_reply_that_was_passed_on_may_be_kept_for_later() {
    let cluster = relays(3).await;
    let (second, third) = (cluster.id_on(1), cluster.id_on(2));
    let asked = cluster.nodes[0].entity::<Relay>(&second);
    let asking = asked.ask(|reply| RelayMessage::Pass(vec![third.clone()], Then::Keep, reply));
    let mut asking = std::pin::pin!(asking);
    let kept = Gate::of("a reply is kept");
    tokio::select! {
        early = &mut asking => panic!("{early:?}"),
        () = kept.opened() => {}
    }
    assert!(asking.as_mut().now_or_never().is_none());
    let third = cluster.nodes[1].entity::<Relay>(&third);
    third.tell(RelayMessage::Release).await.unwrap();
    assert_eq!(timeout(SOON, asking).await.unwrap(), Ok("kept".to_owned()));
    cluster.leave().await;
}

#[tokio::test]
async fn a_reply_that_is_passed_to_an_actor_on_a_third_node_is_answered() {
    let cluster = relays(3).await;
    let _ = cluster.nodes[2].spawn("clerk", Relay::default()).unwrap();
    let relay = cluster.nodes[0].entity::<Relay>(cluster.id_on(1));
    let ask = |name: &str, on: &str| {
        let (name, on) = (name.to_owned(), on.to_owned());
        let asked = relay.ask(|reply| RelayMessage::PassToActor(name, on, reply));
        timeout(SOON, asked)
    };
    let answer = ask("clerk", "node-3").await.unwrap();
    assert_eq!(answer, Ok("node-3".to_owned()));
    let answer = ask("nobody", "node-3").await.expect("an outcome in time");
    assert_eq!(answer, Err(AskError::NoReply), "no such actor drops it");
    cluster.leave().await;
}

#[tokio::test]
async fn a_reply_that_is_passed_to_a_kind_nobody_hosts_is_no_reply() {
    let cluster = relays(3).await;
    let (second, third) = (cluster.id_on(1), cluster.id_on(2));
    let relay = cluster.nodes[0].entity::<Relay>(second);
    let asked = relay.ask(|reply| RelayMessage::PassToNobody(third, reply));
    let answer = timeout(SOON, asked).await.expect("an outcome in time");
    assert_eq!(answer, Err(AskError::NoReply));
    cluster.leave().await;
}

#[tokio::test]
async fn a_reply_whose_third_node_is_lost_has_an_outcome_at_once() {
    let cluster = relays(3).await;
    let (second, third) = (cluster.id_on(1), cluster.ids_on(2).nth(1).unwrap());
    let relay = cluster.nodes[0].entity::<Relay>(second);
    let keeps = cluster.nodes[2].entity::<Relay>(&third);
    let asked = relay.ask(|reply| RelayMessage::Pass(vec![third], Then::Keep, reply));
    let mut asked = std::pin::pin!(asked);
    assert!(asked.as_mut().now_or_never().is_none());
    let sent = async {
        // It is on its way until the third relay has something to release.
        while cluster.nodes[2].active("relay").unwrap() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        early = &mut asked => panic!("{early:?}"),
        () = sent => {}
    }
    drop(keeps);
    cluster.nodes[2].leave().await.unwrap();
    let error = timeout(SOON, asked).await.unwrap().unwrap_err();
    assert!(
        matches!(error, AskError::NoReply | AskError::Lost { .. }),
        "{error}"
    );
    cluster.nodes[0].leave().await.unwrap();
    cluster.nodes[1].leave().await.unwrap();
}

#[tokio::test]
async fn a_stream_reply_that_was_passed_on_brings_all_items() {
    let cluster = relays(3).await;
    let (second, third) = (cluster.id_on(1), cluster.id_on(2));
    let relay = cluster.nodes[0].entity::<Relay>(&second);
    let stream = relay.stream(|reply| RelayMessage::Stream(vec![third.clone()], reply));
    let mut stream = stream.await.unwrap();
    for n in 0..500 {
        let item = timeout(SOON, stream.next()).await.expect("an item");
        assert_eq!(item, Some(Ok(n)));
    }
    assert_eq!(timeout(SOON, stream.next()).await.unwrap(), None);
    let stream = relay.stream(|reply| RelayMessage::Stream(vec![third], reply));
    let mut stream = stream.await.unwrap();
    assert_eq!(timeout(SOON, stream.next()).await.unwrap(), Some(Ok(0)));
    drop(stream);
    let stopped = timeout(SOON, Gate::of("a passed stream was cancelled").opened()).await;
    assert!(stopped.is_ok(), "the producer on the third node is told");
    cluster.leave().await;
}

async fn until(changes: &mut TopologySubscription, name: &str, status: MemberStatus) {
    let seen = async {
        loop {
            let members = changes.next().await.unwrap().members;
            let mut members = members.iter().filter(|m| m.name.as_str() == name);
            if members.any(|member| member.status == status) {
                return;
            }
        }
    };
    let seen = timeout(SOON, seen).await;
    assert!(seen.is_ok(), "{name} is never {status:?}");
}

fn statuses(node: &Node) -> Vec<(String, MemberStatus)> {
    let members = node.topology().members.into_iter();
    members.map(|m| (m.name.to_string(), m.status)).collect()
}

#[tokio::test]
async fn members_appear_when_they_are_introduced_and_are_up_when_connected() {
    let cluster = Cluster::of(2).await;
    let [first, second] = &cluster.nodes[..] else {
        unreachable!("two nodes")
    };
    let known = |status| {
        vec![
            ("node-1".to_owned(), MemberStatus::Up),
            ("node-2".to_owned(), status),
        ]
    };
    assert_eq!(statuses(first), known(MemberStatus::Down));
    let mut changes = second.subscribe_topology();
    meet(&cluster).await;
    assert_eq!(statuses(first), known(MemberStatus::Up));
    until(&mut changes, "node-1", MemberStatus::Up).await;

    // One that nobody has introduced here makes itself known.
    let third = builder("node-3").fixed(Fixed::plain());
    let third = third.start().await.unwrap();
    testing::introduce(&third, "node-2", &testing::address(second).to_string());
    let greeting = third.lookup::<Ledger>("nobody").on("node-2").unwrap();
    assert!(greeting.add(1).await.is_err());
    until(&mut changes, "node-3", MemberStatus::Up).await;
    assert!(statuses(first).iter().all(|(name, _)| name != "node-3"));
    third.leave().await.unwrap();
    cluster.leave().await;
}

#[tokio::test]
async fn a_member_that_leaves_is_down_at_once_for_all_others() {
    let cluster = Cluster::of(3).await;
    meet(&cluster).await;
    let mut changes: Vec<_> = cluster.nodes[..2]
        .iter()
        .map(Node::subscribe_topology)
        .collect();
    for changes in &mut changes {
        until(changes, "node-3", MemberStatus::Up).await;
    }
    let leaving = std::time::Instant::now();
    cluster.nodes[2].leave().await.unwrap();
    for changes in &mut changes {
        until(changes, "node-3", MemberStatus::Down).await;
    }
    // Not by the silence of its heartbeats.
    assert!(leaving.elapsed() < std::time::Duration::from_secs(4));
    let others = statuses(&cluster.nodes[0]);
    assert_eq!(others[1], ("node-2".to_owned(), MemberStatus::Up));
    assert_eq!(
        statuses(&cluster.nodes[2])[2],
        ("node-3".to_owned(), MemberStatus::Down)
    );
    cluster.nodes[0].leave().await.unwrap();
    cluster.nodes[1].leave().await.unwrap();
}

#[tokio::test]
async fn a_member_whose_connection_is_lost_is_down_at_once_and_up_again_when_it_is_back() {
    let cluster = Cluster::of(2).await;
    let _ = cluster.nodes[0]
        .entity::<Ledger>(cluster.id_on(1))
        .add(1)
        .await;
    let mut changes = cluster.nodes[0].subscribe_topology();
    until(&mut changes, "node-2", MemberStatus::Up).await;
    let Cluster { mut nodes, map } = cluster;
    let lost = std::time::Instant::now();
    // Dropped without a word, as when its process is killed.
    drop(nodes.pop());
    until(&mut changes, "node-2", MemberStatus::Down).await;
    assert!(lost.elapsed() < std::time::Duration::from_secs(4));

    let again = builder("node-2")
        .fixed(Fixed::plain())
        .start()
        .await
        .unwrap();
    testing::introduce(&nodes[0], "node-2", &testing::address(&again).to_string());
    testing::adopt(&again, &map).await;
    let far = nodes[0].lookup::<Ledger>("nobody").on("node-2").unwrap();
    assert!(far.add(1).await.is_err());
    until(&mut changes, "node-2", MemberStatus::Up).await;
    nodes[0].leave().await.unwrap();
    again.leave().await.unwrap();
}
