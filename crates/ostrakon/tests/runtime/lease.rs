//! When a node's lease is over its entities do nothing; when it is extended they go on where they were.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ostrakon::{
    AskError, Context, Entity, EntityRef, Epoch, Failure, GroupName, Hosting, Node, Outcome,
    ShardCount, ShardGroup, ShardId, TellError,
    testing::{self, Assignment, Fixed, LeaseControl, ShardMap, Time, Version},
};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::probe::{Do, Probe, World, probe, sum};

const SHORT: Duration = Duration::from_millis(200);
const MINUTE: Duration = Duration::from_secs(60);

/// Lets every task run that is ready, and those that they wake.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// All probes in one shard.
fn one_shard() -> ShardGroup {
    ShardGroup {
        count: ShardCount::new(1).unwrap(),
        ..ShardGroup::default()
    }
}

fn shard() -> ShardId {
    ShardId::new(1).unwrap()
}

async fn wait(entity: EntityRef<Probe>, name: &'static str) -> Result<(), AskError> {
    entity.ask(|reply| Do::Wait(name.to_owned(), reply)).await
}

#[tokio::test]
async fn a_handler_that_waits_goes_on_when_the_lease_is_extended_and_not_before() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let lease = testing::lease(&node);
    let asked = tokio::spawn(wait(probe(&node, "a"), "x"));
    world.seen("a: begin x", 1).await;
    lease.end();
    world.gate.add_permits(1);
    settle().await;
    assert_eq!(world.count("a: end x"), 0);
    lease.extend(Some(lease.now() + MINUTE));
    assert_eq!(asked.await.unwrap(), Ok(()));
    assert_eq!(world.count("a: end x"), 1);
}

#[tokio::test]
async fn messages_wait_for_the_lease_and_are_then_handled_in_order() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let lease = testing::lease(&node);
    lease.end();
    let entity = probe(&node, "a");
    for n in 0..3 {
        let note = Do::Note(n.to_string());
        entity.tell(note).await.unwrap();
    }
    let asked = tokio::spawn({
        let entity = entity.clone();
        async move { sum(&entity).await }
    });
    settle().await;
    assert!(world.events().is_empty(), "it has not even started");
    lease.extend(None);
    assert_eq!(asked.await.unwrap(), Ok(0));
    let noted = ["a: starting", "a: started", "a: 0", "a: 1", "a: 2"];
    assert_eq!(world.events(), noted);
}

#[tokio::test(start_paused = true)]
async fn an_ask_to_a_suspended_entity_ends_in_time_and_leaves_it_free() {
    let world = World::new();
    let node = world.node(Hosting::default().keep_alive()).await;
    let lease = testing::lease(&node);
    let entity = probe(&node, "a");
    assert_eq!(sum(&entity).await, Ok(0));
    lease.end();
    let asked = tokio::time::Instant::now();
    // It is free, so this one would be handled on our own task.
    let error = sum(&entity.clone().within(SHORT)).await.unwrap_err();
    assert_eq!(error, AskError::Expired);
    assert_eq!(error.outcome(), Outcome::NotExecuted);
    assert_eq!(asked.elapsed().as_millis(), SHORT.as_millis());
    entity.tell(Do::Add(3)).await.unwrap();
    lease.extend(None);
    assert_eq!(sum(&entity).await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_is_being_handled_when_the_lease_ends_may_have_taken_effect() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let lease = testing::lease(&node);
    let entity = probe(&node, "a").within(SHORT);
    let asked = tokio::spawn(wait(entity, "x"));
    world.seen("a: begin x", 1).await;
    lease.end();
    world.gate.add_permits(1);
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(world.count("a: end x"), 0);
    lease.extend(None);
    world.seen("a: answered x TooLate", 1).await;
}

#[tokio::test]
async fn the_mailbox_of_a_suspended_entity_has_its_usual_end() {
    let world = World::new();
    let node = world.node(Hosting::default().mailbox(16)).await;
    testing::lease(&node).end();
    let entity = probe(&node, "a");
    // One is with the turn that waits.
    for _ in 0..=16 {
        entity.tell(Do::Add(1)).await.unwrap();
    }
    let error = entity.tell(Do::Add(1)).await.unwrap_err();
    assert!(matches!(error, TellError::Overloaded { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn timers_idleness_and_background_work_wait_for_the_lease() {
    let world = World::new();
    let node = world.node(Hosting::default().idle_after(MINUTE)).await;
    let lease = testing::lease(&node);
    let (ticking, idle, working) = (probe(&node, "t"), probe(&node, "i"), probe(&node, "w"));
    ticking.tell(Do::Every(10, "tick".into())).await.unwrap();
    world.seen("t: tick", 1).await;
    working.tell(Do::Work).await.unwrap();
    world.seen("w: working", 1).await;
    assert_eq!(sum(&idle).await, Ok(0));

    lease.end();
    settle().await;
    let before = world.events();
    world.gate.add_permits(1);
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(world.events(), before);

    lease.extend(None);
    let ticks = world.count("t: tick");
    world.seen("t: tick", ticks + 2).await;
    world.seen("w: work over", 1).await;
    world.seen("i: stopped", 1).await;
}

#[tokio::test]
async fn plain_actors_are_not_owned_and_act_without_a_lease() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    testing::lease(&node).end();
    let actor = node.spawn("ticker", Ticker::default()).unwrap();
    assert_eq!(actor.ask(TickerMessage::Count).await, Ok(0));
}

#[tokio::test]
async fn work_in_small_steps_stops_at_the_deadline() {
    let ticks = Arc::new(Ticks::default());
    let node = Node::builder("node-1")
        .host_with(Hosting::default(), {
            let ticks = Arc::clone(&ticks);
            move |_| Ticker(Arc::clone(&ticks))
        })
        .start()
        .await
        .unwrap();
    let lease = testing::lease(&node);
    lease.end();
    let deadline = lease.now() + SHORT;
    lease.extend(Some(deadline));
    *ticks.lease.lock().unwrap() = Some(lease.clone());
    let ticker = node.entity::<Ticker>("a");
    ticker.tell(TickerMessage::Run).await.unwrap();
    while lease.now() < deadline + SHORT {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let done = ticks.at.lock().unwrap().clone();
    assert!(!done.is_empty());
    for at in &done {
        // The last may have begun right before it.
        let late = at.saturating_since(deadline);
        assert!(late < SHORT / 2, "{late:?}");
    }
    let more = ticks.more.notified();
    lease.extend(None);
    more.await;
    let all = ticks.at.lock().unwrap().clone();
    assert_eq!(all[..done.len()], done);
}

#[tokio::test]
async fn fenced_entities_are_gone_without_a_word_and_their_askers_know_what_became_of_it() {
    let world = World::new();
    let builder = world.builder(Hosting::default()).group(one_shard());
    let node = builder.start().await.unwrap();
    let (busy, parked) = (probe(&node, "busy"), probe(&node, "parked"));
    parked.tell(Do::Add(4)).await.unwrap();
    assert_eq!(sum(&parked).await, Ok(4));
    let running = tokio::spawn(wait(busy.clone(), "x"));
    world.seen("busy: begin x", 1).await;
    let waiting = tokio::spawn(wait(busy.clone(), "y"));
    settle().await;

    testing::fence(&node, "probe", shard()).await;
    assert_eq!(node.active("probe"), Ok(0));
    assert_eq!(world.count("busy: dropped"), 1);
    assert_eq!(world.count("parked: dropped"), 1);
    assert!(!world.events().iter().any(|event| event.contains("stop")));
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotExecuted, "{error}");
    assert!(matches!(
        error,
        AskError::NotSent(TellError::NoOwner { .. })
    ));
    assert!(sum(&parked).await.is_err(), "the shard is closed");

    testing::reopen(&node, "probe", shard(), Epoch::new(7));
    assert_eq!(sum(&parked).await, Ok(0), "a fresh one");
    assert_eq!(world.count("parked: starting"), 2);
}

#[tokio::test]
async fn suspended_entities_can_be_fenced() {
    let world = World::new();
    let builder = world.builder(Hosting::default()).group(one_shard());
    let node = builder.start().await.unwrap();
    let lease = testing::lease(&node);
    let running = tokio::spawn(wait(probe(&node, "a"), "x"));
    world.seen("a: begin x", 1).await;
    lease.end();
    world.gate.add_permits(1);
    let waiting = tokio::spawn(wait(probe(&node, "b"), "y"));
    settle().await;
    testing::fence(&node, "probe", shard()).await;
    let outcome = |asked: Result<(), AskError>| asked.unwrap_err().outcome();
    assert_eq!(outcome(running.await.unwrap()), Outcome::Unknown);
    assert_eq!(outcome(waiting.await.unwrap()), Outcome::NotExecuted);
    let done = ["a: starting", "a: started", "a: begin x", "a: dropped"];
    assert_eq!(world.events(), done);
}

#[tokio::test]
async fn a_suspended_node_answers_nobody_but_goes_on_asking_for_others() {
    let Pair { worlds, nodes, ids } = pair().await;
    let lease = testing::lease(&nodes[0]);
    let running = tokio::spawn(wait(probe(&nodes[1], &ids[0]), "x"));
    let begun = format!("{}: begin x", ids[0]);
    worlds[0].seen(&begun, 1).await;

    lease.end();
    worlds[0].gate.add_permits(1);
    let patient = tokio::spawn({
        let entity = probe(&nodes[1], &ids[0]);
        async move { sum(&entity).await }
    });
    let hasty = probe(&nodes[1], &ids[0]).within(SHORT);
    let error = sum(&hasty).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    assert_eq!(sum(&probe(&nodes[0], &ids[1])).await, Ok(0));
    assert!(!running.is_finished() && !patient.is_finished());

    lease.extend(None);
    assert_eq!(running.await.unwrap(), Ok(()));
    assert_eq!(patient.await.unwrap(), Ok(0));
}

#[tokio::test]
async fn what_an_entity_says_after_the_deadline_does_not_leave_the_node() {
    let Pair { nodes, ids, .. } = pair().await;
    let lease = testing::lease(&nodes[0]);
    lease.end();
    lease.extend(Some(lease.now() + MINUTE));
    let (late, other) = (probe(&nodes[1], &ids[0]), probe(&nodes[1], &ids[1]));
    let asked = tokio::spawn({
        let (late, other) = (late.clone(), ids[1].clone());
        async move { late.ask(|reply| Do::ActTooLate(other, reply)).await }
    });
    while !lease.is_over() {
        tokio::task::yield_now().await;
    }
    // What its node says for others goes the same way, later.
    assert_eq!(sum(&probe(&nodes[0], &ids[2])).await, Ok(0));
    assert_eq!(sum(&other).await, Ok(0));
    assert!(!asked.is_finished());

    lease.extend(Some(lease.now() + MINUTE));
    assert_eq!(asked.await.unwrap(), Ok(()));
    while sum(&other).await != Ok(1) {
        tokio::task::yield_now().await;
    }
}

/// Two nodes, and an entity on the first that has told something to one on the second while nobody owned the shard of that: it waits to be
/// sent. And the lease of the first is over.
async fn told_while_nobody_owned_it() -> Pair {
    let pair = pair().await;
    let Pair { nodes, ids, .. } = &pair;
    let lease = testing::lease(&nodes[0]);
    lease.end();
    lease.extend(Some(lease.now() + MINUTE));
    let unowned = testing::map(&nodes[0]).with(&GroupName::default(), third(), None);
    testing::adopt(&nodes[0], &unowned).await;
    let late = probe(&nodes[0], &ids[0]);
    let act = late.ask(|reply| Do::ActTooLate(ids[2].clone(), reply));
    act.await.unwrap();
    assert!(lease.is_over());
    pair
}

fn third() -> ShardId {
    ShardId::new(3).unwrap()
}

/// Somebody owns the shard again, and what was told has had time to get there.
async fn give_owner(Pair { nodes, ids, .. }: &Pair) {
    let owner = Assignment {
        owner: nodes[1].name().clone(),
        epoch: Epoch::new(1),
    };
    let map = testing::map(&nodes[0]).with(&GroupName::default(), third(), Some(owner));
    testing::adopt(&nodes[0], &map).await;
    for _ in 0..3 {
        settle().await;
        // The node itself can send, on another lane.
        assert_eq!(sum(&probe(&nodes[0], &ids[1])).await, Ok(0));
    }
}

#[tokio::test]
async fn what_an_entity_said_and_had_no_owner_waits_for_the_lease_when_it_has_one() {
    let pair = told_while_nobody_owned_it().await;
    give_owner(&pair).await;
    let Pair { nodes, ids, .. } = pair;
    let other = probe(&nodes[1], &ids[2]);
    assert_eq!(sum(&other).await, Ok(0));
    testing::lease(&nodes[0]).extend(None);
    while sum(&other).await != Ok(1) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_a_lost_entity_said_is_never_sent_wherever_it_waited() {
    for before in [true, false] {
        let pair = told_while_nobody_owned_it().await;
        let (lost, first) = (&pair.nodes[0], ShardId::new(1).unwrap());
        if before {
            testing::lose(lost, first).await;
            give_owner(&pair).await;
        } else {
            give_owner(&pair).await;
            testing::lose(lost, first).await;
        }
        testing::lease(lost).extend(None);
        // What is told on the same way now comes after it.
        let other = probe(lost, &pair.ids[2]);
        other.tell(Do::Add(10)).await.unwrap();
        assert_eq!(
            sum(&other).await,
            Ok(10),
            "lost before it had an owner: {before}"
        );
    }
}

/// Two nodes that are connected.
struct Pair {
    worlds: [Arc<World>; 2],
    nodes: Vec<Node>,
    /// An entity in each shard: one on the first node, two on the second.
    ids: Vec<String>,
}

async fn pair() -> Pair {
    let worlds = [World::new(), World::new()];
    let mut nodes = Vec::new();
    for (world, name) in worlds.iter().zip(["node-1", "node-2"]) {
        let builder = world.builder_named(name, Hosting::default());
        let node = builder.group(three_shards()).fixed(Fixed::plain());
        nodes.push(node.start().await.unwrap());
    }
    let ids = connect(&nodes).await;
    assert_eq!(sum(&probe(&nodes[1], &ids[0])).await, Ok(0));
    assert_eq!(sum(&probe(&nodes[0], &ids[1])).await, Ok(0));
    Pair { worlds, nodes, ids }
}

fn three_shards() -> ShardGroup {
    ShardGroup {
        count: ShardCount::new(3).unwrap(),
        ..ShardGroup::default()
    }
}

/// Makes two nodes a cluster; returns the id of an entity in each shard.
async fn connect(nodes: &[Node]) -> Vec<String> {
    let group = three_shards();
    let mut map = ShardMap::unowned(Version::new(1), [&group]);
    for (shard, node) in group.count.iter().zip([&nodes[0], &nodes[1], &nodes[1]]) {
        let owner = Assignment {
            owner: node.name().clone(),
            epoch: Epoch::new(1),
        };
        map = map.with(&GroupName::default(), shard, Some(owner));
    }
    for (node, other) in [(&nodes[0], &nodes[1]), (&nodes[1], &nodes[0])] {
        let address = testing::address(other).to_string();
        testing::introduce(node, other.name().as_str(), &address);
        testing::adopt(node, &map).await;
    }
    let id_in = |shard| {
        let lives_there = |id: &String| nodes[0].locate("probe", id).unwrap().shard == shard;
        let mut ids = (0..).map(|n| format!("p{n}"));
        ids.find(lives_there).unwrap()
    };
    group.count.iter().map(id_in).collect()
}

/// Works in small steps for ever.
#[derive(Default)]
struct Ticker(Arc<Ticks>);

#[derive(Default)]
struct Ticks {
    lease: Mutex<Option<LeaseControl>>,
    at: Mutex<Vec<Time>>,
    more: Notify,
}

#[derive(Serialize, Deserialize)]
enum TickerMessage {
    Run,
    Count(ostrakon::Reply<usize>),
}

impl Entity for Ticker {
    const KIND: &'static str = "ticker";
    type Message = TickerMessage;
    type Ref = EntityRef<Self>;

    async fn handle(
        &mut self,
        message: TickerMessage,
        _: &mut Context<Self>,
    ) -> Result<(), Failure> {
        match message {
            TickerMessage::Count(reply) => drop(reply.send(self.0.at.lock().unwrap().len())),
            TickerMessage::Run => loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let lease = self.0.lease.lock().unwrap().clone().unwrap();
                self.0.at.lock().unwrap().push(lease.now());
                self.0.more.notify_waiters();
            },
        }
        Ok(())
    }
}
