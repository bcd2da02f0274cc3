//! Who is let in, who is not, and what both sides say about it.

#[path = "log.rs"]
pub(crate) mod log;
#[path = "stranger.rs"]
pub(crate) mod stranger;

use std::time::Duration;

use ostrakon::{
    Hosting, Node, Outcome, ShardCount, ShardGroup, ShardHash,
    testing::{self, Fixed},
};
use serde::Serialize;

use self::{
    log::Log,
    stranger::{Hello, Judgement, Letter, OPENING, Said, Stranger, frame, kind, put_section, text},
};
use crate::{
    cluster::{Cluster, builder, group},
    connections::is_unsent,
    ledger::Ledger,
};

/// Asks from the first node to the second, which do not fit together. Both logs give the reason, and nothing is executed.
async fn do_not_fit(first: Node, second: Node, reason: &[&str]) {
    let log = Log::listen();
    let cluster = Cluster::connect(vec![first, second]).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let ask = ledger.clone().within(Duration::from_millis(400));
    let asked = tokio::spawn(async move { ask.add(1).await });
    log.says(&[&["a connection is refused"], reason].concat())
        .await;
    log.says(&[&["cannot connect", "the other side refused"], reason].concat())
        .await;
    let error = asked.await.unwrap().unwrap_err();
    assert!(is_unsent(&error), "{error:?}");
    assert_eq!(cluster.nodes[1].active("ledger"), Ok(0));
    cluster.leave().await;
}

async fn plain(name: &str) -> Node {
    builder(name).fixed(Fixed::plain()).start().await.unwrap()
}

async fn grouped(name: &str, group: ShardGroup) -> Node {
    let node = Node::builder(name)
        .group(group)
        .host_as::<Ledger>(Hosting::default());
    node.fixed(Fixed::plain()).start().await.unwrap()
}

#[tokio::test]
async fn a_node_of_another_cluster_is_refused() {
    let fixed = Fixed {
        cluster: "staging".to_owned(),
        ..Fixed::plain()
    };
    let other = builder("node-2").fixed(fixed).start().await.unwrap();
    let reason = ["cluster `test`", "this node to `staging`"];
    do_not_fit(plain("node-1").await, other, &reason).await;
}

#[tokio::test]
async fn another_shard_count_is_refused() {
    let other = ShardGroup {
        count: ShardCount::new(300).unwrap(),
        ..group()
    };
    let reason = [
        "shard group `default`",
        "12 shards by hash `stable`",
        "here it is 300 shards",
    ];
    do_not_fit(
        plain("node-1").await,
        grouped("node-2", other).await,
        &reason,
    )
    .await;
}

#[tokio::test]
async fn another_hash_is_refused() {
    let other = ShardGroup {
        hash: ShardHash::Java,
        ..group()
    };
    let reason = ["12 shards by hash `stable`", "12 shards by hash `java`"];
    do_not_fit(
        plain("node-1").await,
        grouped("node-2", other).await,
        &reason,
    )
    .await;
}

#[tokio::test]
async fn a_node_under_the_address_of_another_is_refused() {
    let log = Log::listen();
    let cluster = Cluster::of(3).await;
    let third = testing::address(&cluster.nodes[2]).to_string();
    testing::introduce(&cluster.nodes[0], "node-2", &third);
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let asked = ledger.within(Duration::from_millis(200)).add(1).await;
    assert_eq!(asked.unwrap_err().outcome(), Outcome::NotExecuted);
    let reason = "it wants `node-2`, this node is `node-3`";
    log.says(&["a connection is refused", reason]).await;
    log.says(&["cannot connect", "peer=node-2", reason]).await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_stranger_is_refused_with_a_reason_that_is_logged() {
    let log = Log::listen();
    let node = plain("node-1").await;
    let address = testing::address(&node);
    let refused = async |hello: Hello, reason: &str| {
        let mut stranger = Stranger::dial(address).await;
        let said = stranger.introduce(&hello).await.refusal();
        assert!(said.contains(reason), "{said}");
        assert!(stranger.frame().await.is_none(), "it is closed");
        log.says(&["a connection is refused", reason]).await;
    };
    let hello = || Hello::to("node-1");
    let node = "node-1".to_owned();
    let own_name = Hello { node, ..hello() };
    refused(own_name, "it has this node's own name `node-1`").await;
    let node = "no\nname".to_owned();
    let bad_name = Hello { node, ..hello() };
    refused(bad_name, "its name `no\u{FFFD}name` cannot be used").await;
    refused(Hello::to("node-7"), "it wants `node-7`").await;
    let long = Hello {
        cluster: "x".repeat(50_000),
        ..hello()
    };
    refused(long, &format!("cluster `{}`", "x".repeat(64))).await;
    let control = Hello {
        purpose: "Control".to_owned(),
        session: 99,
        ..hello()
    };
    let limits = ostrakon::Limits::default().handshake(Duration::from_millis(200));
    let fixed = Fixed {
        limits,
        ..Fixed::plain()
    };
    let hasty = builder("node-1").fixed(fixed).start().await.unwrap();
    let mut stranger = Stranger::dial(testing::address(&hasty)).await;
    let said = stranger.introduce(&control).await.refusal();
    assert!(said.contains("the session it belongs to is over"), "{said}");
    assert!(log.text().lines().all(|line| line.len() < 2000));
}

#[tokio::test]
async fn versions_that_do_not_overlap_are_refused_and_those_that_do_are_not() {
    let log = Log::listen();
    let node = plain("node-1").await;
    let hello = text(&Hello::to("node-1"));
    for (oldest, newest) in [(2, 3), (0, 0), (u16::MAX, u16::MAX)] {
        let mut stranger = Stranger::dial(testing::address(&node)).await;
        let versions = [u16::to_le_bytes(oldest), u16::to_le_bytes(newest)].concat();
        // What follows may be of any form in another version, and of any length.
        let said = [b"OSTRAKON", &versions[..], &hello, &[0xC1; 5000]].concat();
        stranger.say(&said).await;
        let judged: Judgement = stranger.hear_text().await.expect("a reason");
        let reason = format!("it speaks protocol versions {oldest} to {newest}, this node 1 to 1");
        assert!(judged.refusal().contains(&reason));
        log.says(&["a connection is refused", &reason]).await;
    }
    let mut stranger = Stranger::dial(testing::address(&node)).await;
    let said = [b"OSTRAKON", &[0, 0, 9, 0][..], &hello].concat();
    stranger.say(&said).await;
    let judged: Judgement = stranger.hear_text().await.unwrap();
    assert_eq!(judged.welcome().version, 1);
}

#[tokio::test]
async fn what_a_later_version_says_on_top_is_skipped() {
    #[derive(Serialize)]
    struct Later<'a> {
        colour: &'a str,
        cluster: &'a str,
        node: &'a str,
        nested: Vec<Vec<Option<u8>>>,
        incarnation: u64,
        to: &'a str,
        purpose: &'a str,
        // No session, no groups, no features.
        message: u64,
        last: (),
    }
    let cluster = Cluster::of(1).await;
    let mut stranger = Stranger::dial(testing::address(&cluster.nodes[0])).await;
    let hello = Later {
        colour: "red",
        cluster: "test",
        node: stranger::NAME,
        nested: vec![vec![Some(1), None]],
        incarnation: 1,
        to: "node-1",
        purpose: "Data",
        message: 100_000,
        last: (),
    };
    stranger.say(&[&OPENING[..], &text(&hello)].concat()).await;
    let judged: Judgement = stranger.hear_text().await.unwrap();
    #[derive(Serialize)]
    struct LaterReady {
        more: &'static str,
        challenge: u64,
    }
    let challenge = judged.welcome().challenge;
    let more = "more";
    stranger.say(&text(&LaterReady { more, challenge })).await;
    let id = cluster.id_on(0);
    let said = Said::Add {
        entry: 3,
        reply: Some(0),
    };
    let ask = Letter::ask(1, cluster.shard(&id), &id, &said);
    stranger.say(&ask.frame()).await;
    let answer = stranger.frame_of(kind::ANSWER).await;
    assert_eq!((answer.request(), answer.fields()), (1, &[1_u8][..]));
    drop(stranger);
    cluster.leave().await;
}

#[tokio::test]
async fn an_unknown_frame_that_wants_an_answer_is_answered_with_a_fault() {
    let cluster = Cluster::of(1).await;
    let address = testing::address(&cluster.nodes[0]);
    let mut stranger = Stranger::enter(address, &Hello::to("node-1")).await;
    for unknown in [17, 99, 255] {
        stranger.say(&frame(unknown, 5, b"whatever it means")).await;
        let (code, words) = stranger.frame_of(kind::FAULT).await.fault();
        assert_eq!(code, 15);
        assert_eq!(words, format!("frames of kind {unknown} are unknown here"));
        // Nobody waits for this one.
        stranger.say(&frame(unknown, 0, &[])).await;
        stranger.is_heard().await;
    }
    drop(stranger);
    cluster.leave().await;
}

#[tokio::test]
async fn an_unknown_option_of_a_message_is_skipped() {
    let cluster = Cluster::of(1).await;
    let address = testing::address(&cluster.nodes[0]);
    let mut stranger = Stranger::enter(address, &Hello::to("node-1")).await;
    let id = cluster.id_on(0);
    let said = Said::Trace { reply: Some(0) };
    let mut ask = Letter::ask(8, cluster.shard(&id), &id, &said);
    ask.options.push(200);
    put_section(&mut ask.options, b"what is this?");
    ask.options.push(1);
    let mut trace = [7; 25];
    trace[24] = 1;
    put_section(&mut ask.options, &trace);
    stranger.say(&ask.frame()).await;
    let answer = stranger.frame_of(kind::ANSWER).await;
    assert_eq!(answer.request(), 8);
    let seen: Option<String> = rmp_serde::from_slice(answer.fields()).unwrap();
    let expected = format!("00-{}-{}-01", "07".repeat(16), "07".repeat(8));
    assert_eq!(seen, Some(expected));
    drop(stranger);
    cluster.leave().await;
}

#[tokio::test]
async fn a_recorded_conversation_is_worth_nothing() {
    let log = Log::listen();
    let cluster = Cluster::of(1).await;
    let address = testing::address(&cluster.nodes[0]);
    let id = cluster.id_on(0);
    let said = Said::Add {
        entry: 1,
        reply: Some(0),
    };
    let ask = Letter::ask(1, cluster.shard(&id), &id, &said).frame();
    let hello = Hello::to("node-1");
    let mut first = Stranger::dial(address).await;
    let challenge = first.introduce(&hello).await.welcome().challenge;
    let ready = text(&stranger::Ready { challenge });
    let rest = [&ready[..], &ask].concat();
    first.say(&rest).await;
    first.frame_of(kind::ANSWER).await;

    let mut replay = Stranger::dial(address).await;
    replay.say(&[&hello.opening()[..], &rest].concat()).await;
    replay.hear_text::<Judgement>().await.unwrap().welcome();
    assert_eq!(replay.until_closed().await, 0);
    let reason = "it answers a challenge that was not given";
    log.says(&["a connection is refused", reason]).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(&id);
    assert_eq!(ledger.entries().await.unwrap(), [1], "executed once");
    // The connection that the replay pretended to be did not suffer.
    first.is_heard().await;
    drop(first);
    cluster.leave().await;
}

#[tokio::test]
async fn a_long_refusal_is_logged_in_part() {
    let log = Log::listen();
    let cluster = Cluster::of(2).await;
    let listener = cluster.instead_of("node-2").await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let asked = tokio::spawn(async move { ledger.within(Duration::from_millis(300)).add(1).await });
    let (stream, _) = listener.accept().await.unwrap();
    let mut acceptor = Stranger::on(stream);
    let hello = acceptor.hear_hello().await;
    assert_eq!((&*hello.node, &*hello.to), ("node-1", "node-2"));
    let reason = format!("it is Tuesday {}", "!".repeat(60_000));
    acceptor.say(&text(&Judgement::Refused(reason))).await;
    let line = log.says(&["cannot connect", "it is Tuesday"]).await;
    assert!(line.len() < 1000, "{} bytes", line.len());
    drop(listener);
    assert_eq!(
        asked.await.unwrap().unwrap_err().outcome(),
        Outcome::NotExecuted
    );
    cluster.leave().await;
}

#[tokio::test]
async fn whoever_answers_under_another_name_is_refused_by_the_dialer() {
    let log = Log::listen();
    let cluster = Cluster::of(2).await;
    let listener = cluster.instead_of("node-2").await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let asked = tokio::spawn(async move { ledger.within(Duration::from_millis(300)).add(1).await });
    let (stream, _) = listener.accept().await.unwrap();
    let mut acceptor = Stranger::on(stream);
    acceptor.hear_hello().await;
    let welcome = stranger::Welcome {
        version: 1,
        node: "node-9".to_owned(),
        incarnation: 1,
        session: 1,
        challenge: 5,
        message: 100_000,
    };
    acceptor.say(&text(&Judgement::Welcome(welcome))).await;
    let declined: stranger::Declined = acceptor.hear_text().await.unwrap();
    assert!(declined.refused.contains("`node-9`"), "{declined:?}");
    assert!(
        acceptor.hear_text::<stranger::Ready>().await.is_none(),
        "no word more"
    );
    log.says(&["cannot connect", "`node-2`", "`node-9`"]).await;
    drop(listener);
    assert_eq!(
        asked.await.unwrap().unwrap_err().outcome(),
        Outcome::NotExecuted
    );
    cluster.leave().await;
}
