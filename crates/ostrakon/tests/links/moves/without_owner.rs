//! Shards that nobody owns for a while, or whose owner has gone: messages wait, within bounds, and end as they say.

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use ostrakon::{
    EntityId, Outcome, TellError,
    testing::{Fixed, ShardMap, Version},
};
use tokio::time::Instant;

use super::*;
use crate::cluster::builder;

/// A node by itself that knows of a map in which nobody owns anything.
async fn without_owners() -> (Node, ShardMap) {
    let node = builder("node-1").fixed(Fixed::plain());
    let node = node.start().await.unwrap();
    let map = ShardMap::unowned(Version::new(1), [&group()]);
    testing::adopt(&node, &map).await;
    (node, map)
}

fn shard_of(id: &str) -> ShardId {
    group().shard_of(&EntityId::new(id).unwrap()).unwrap()
}

fn no_owner(id: &str) -> AskError {
    AskError::NotSent(TellError::NoOwner {
        kind: "ledger",
        id: EntityId::new(id).unwrap(),
        shard: shard_of(id),
    })
}

#[tokio::test(start_paused = true)]
async fn without_an_owner_asks_end_unsent_at_their_deadline() {
    let (node, _) = without_owners().await;
    let ledger = node.entity::<Ledger>("a");
    for millis in [1, 30, 300, 5_000] {
        let deadline = Duration::from_millis(millis);
        let began = Instant::now();
        let error = ledger.clone().within(deadline).add(1).await.unwrap_err();
        let took = began.elapsed();
        assert_eq!(error, no_owner("a"));
        assert_eq!(error.outcome(), Outcome::NotExecuted);
        assert!(error.is_retryable());
        assert!(took >= deadline && took <= deadline + Duration::from_millis(200));
    }
    let opened = ledger
        .within(Duration::from_millis(50))
        .sized(vec![1])
        .await;
    assert_eq!(opened.err(), Some(no_owner("a")));
}

/// The sum of all counters of a name since the last look.
fn counted(snapshotter: &Snapshotter, wanted: &str) -> u64 {
    let metrics = snapshotter.snapshot().into_vec().into_iter();
    metrics
        .filter(|(key, ..)| key.key().name() == wanted)
        .map(|(.., value)| match value {
            DebugValue::Counter(count) => count,
            DebugValue::Gauge(_) | DebugValue::Histogram(_) => 0,
        })
        .sum()
}

#[tokio::test(start_paused = true)]
async fn without_an_owner_tells_are_counted_as_undelivered_in_the_end() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let (node, _) = without_owners().await;
    let ledger = node.entity::<Ledger>("a");
    for n in 0..5 {
        ledger.tell().add(n).await.unwrap();
    }
    let undelivered = || counted(&snapshotter, "ostrakon_undelivered_total");
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(undelivered(), 0);
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(undelivered(), 5);
}

#[tokio::test]
async fn more_messages_than_a_lane_holds_are_overloaded_at_once() {
    let (node, map) = without_owners().await;
    let mut sender = Sender::new("overloaded", 0, &node, "a");
    sender.tell(1_024).await;
    let overloaded = sender.to.tell().add(1).await.unwrap_err();
    assert_eq!(
        overloaded,
        TellError::Overloaded {
            kind: "ledger",
            id: EntityId::new("a").unwrap(),
            capacity: 1_024,
        }
    );
    let asked = sender.to.add(1).now_or_never().expect("an error at once");
    assert_eq!(asked, Err(AskError::NotSent(overloaded)));
    let elsewhere = (0..).map(|n| format!("b{n}"));
    let elsewhere = elsewhere
        .into_iter()
        .find(|id| shard_of(id) != shard_of("a"));
    let elsewhere = node.entity::<Ledger>(elsewhere.unwrap());
    assert_eq!(
        elsewhere.tell().add(1).await,
        Ok(()),
        "other lanes have room"
    );
    let map = map.with(&GroupName::default(), shard_of("a"), owned(node.name(), 1));
    testing::adopt(&node, &map).await;
    let handled = async {
        // There is no room before the first have been handled.
        while sender.to.node().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, handled).await.unwrap();
    sender.check();
}

#[tokio::test]
async fn many_bytes_fill_a_lane_as_many_messages_do() {
    let (node, _) = without_owners().await;
    let ledger = node.entity::<Ledger>("a");
    for _ in 0..5 {
        ledger.tell().swallow(vec![0; 200_000]).await.unwrap();
    }
    let refused = ledger.tell().swallow(vec![0; 200_000]).await.unwrap_err();
    assert!(matches!(refused, TellError::Overloaded { .. }), "{refused}");
    assert!(refused.is_retryable());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_waited_for_an_owner_are_handled_in_order_when_there_is_one() {
    for (log, to) in [("to another", 1), ("to itself", 0)] {
        let (mut cluster, shard, mut sender) = scene(log).await;
        cluster.assigned(shard, None);
        cluster.inform_all().await;
        let mut asked = Vec::new();
        for _ in 0..20 {
            sender.tell(20).await;
            asked.push(sender.ask_later());
        }
        assert_eq!(recorded(log, 0), Vec::<u64>::new());
        let to = cluster.nodes[to].name().clone();
        cluster.assigned(shard, owned(&to, 2));
        cluster.inform_all().await;
        for asked in asked {
            assert!(timeout(SOON, asked).await.unwrap().unwrap().is_ok());
        }
        sender.check();
        cluster.leave().await;
    }
}

#[tokio::test]
async fn an_ask_that_is_dropped_while_it_waits_is_never_executed() {
    let (node, map) = without_owners().await;
    let mut sender = Sender::new("dropped in a lane", 0, &node, "a");
    sender.tell(2).await;
    for unwanted in 1_000..1_010 {
        let asked = sender
            .to
            .record("dropped in a lane".to_owned(), 0, unwanted);
        // Polled once, and dropped.
        assert!(asked.now_or_never().is_none());
    }
    sender.tell(2).await;
    let map = map.with(&GroupName::default(), shard_of("a"), owned(node.name(), 1));
    testing::adopt(&node, &map).await;
    sender.ask().await;
    sender.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ask_that_came_back_and_is_dropped_while_it_waits_is_never_executed() {
    let (mut cluster, shard, mut sender) = scene("came back, dropped").await;
    sender.ask().await;
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    let unwanted = tokio::spawn({
        let to = sender.to.clone();
        async move { to.record("came back, dropped".to_owned(), 0, 1_000).await }
    });
    // One that gives up by itself has the same way and comes back no earlier.
    let short = sender.to.clone().within(Duration::from_millis(300));
    let expired = short
        .record("came back, dropped".to_owned(), 0, 1_001)
        .await;
    let error = expired.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotExecuted, "{error}");
    unwanted.abort();
    assert!(unwanted.await.unwrap_err().is_cancelled());
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    sender.ask().await;
    sender.check();
    cluster.leave().await;
}

/// Takes a shard from a node that stays connected, and gives it to nobody.
async fn orphaned(cluster: &mut Cluster, shard: ShardId) {
    cluster.assigned(shard, None);
    cluster.inform_all().await;
}

#[tokio::test]
async fn a_shard_that_loses_its_owner_lets_messages_wait_without_sending_them_round_and_round() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let (mut cluster, shard, mut sender) = scene("orphaned").await;
    sender.tell(5).await;
    sender.ask().await;
    orphaned(&mut cluster, shard).await;
    sender.tell(5).await;
    let id = sender.to.as_ref().id().unwrap().to_string();
    let began = std::time::Instant::now();
    let short = sender.to.clone().within(Duration::from_millis(300));
    let error = short.add(1).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_millis(1_300));
    assert_eq!(error, no_owner(&id));
    let frames = counted(&snapshotter, "ostrakon_link_frames_total");
    assert!(frames < 200, "{frames} frames for a few messages");
    let back = cluster.nodes[2].name().clone();
    cluster.assigned(shard, owned(&back, 2));
    cluster.inform_all().await;
    sender.ask().await;
    sender.check();
    cluster.leave().await;
}

#[tokio::test]
async fn an_owner_that_gives_a_shard_up_for_nobody_is_not_asked_again_and_again() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let (mut cluster, shard, mut sender) = scene("given up").await;
    sender.ask().await;
    let id = sender.to.as_ref().id().unwrap().to_string();
    cluster.assigned(shard, None);
    // Only the old owner knows: for the sender's map it is the owner still.
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    let short = sender.to.clone().within(Duration::from_millis(400));
    let error = short.add(1).await.unwrap_err();
    assert_eq!(error, no_owner(&id));
    let frames = counted(&snapshotter, "ostrakon_link_frames_total");
    assert!(frames < 100, "{frames} frames for one ask");
    cluster.leave().await;
}

#[tokio::test]
async fn a_tell_that_comes_back_again_and_again_is_given_up_in_the_end() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let (mut cluster, shard, mut sender) = scene("given up tell").await;
    sender.ask().await;
    cluster.assigned(shard, None);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    sender.to.tell().add(1).await.unwrap();
    let counted = async {
        while counted(&snapshotter, "ostrakon_undelivered_total") == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let began = std::time::Instant::now();
    let given_up = timeout(Duration::from_secs(15), counted).await;
    assert!(given_up.is_ok(), "it is sent for ever");
    assert!(began.elapsed() > Duration::from_secs(9));
    cluster.leave().await;
}

#[tokio::test]
async fn an_owner_that_has_left_is_no_owner_that_can_be_reached() {
    let (cluster, _, mut sender) = scene("has left").await;
    sender.ask().await;
    timeout(SOON, cluster.lose(1, 0)).await.unwrap();
    let deadline = Duration::from_millis(300);
    let began = std::time::Instant::now();
    let error = sender.to.clone().within(deadline).add(1).await;
    assert!(began.elapsed() < deadline + Duration::from_secs(1));
    assert_eq!(error.unwrap_err().outcome(), Outcome::NotExecuted);
    cluster.nodes[0].leave().await.unwrap();
    cluster.nodes[2].leave().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_sent_to_an_owner_that_has_gone_goes_to_the_next_in_order() {
    let (mut cluster, shard, mut sender) = scene("gone owner").await;
    sender.tell(MANY).await;
    sender.ask().await;
    timeout(SOON, cluster.lose(1, 0)).await.unwrap();
    sender.tell(MANY).await;
    let asked = sender.ask_later();
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
    sender.tell(MANY).await;
    assert!(timeout(SOON, asked).await.unwrap().unwrap().is_ok());
    sender.ask().await;
    sender.check();
    cluster.nodes[0].leave().await.unwrap();
    cluster.nodes[2].leave().await.unwrap();
}

#[tokio::test]
async fn a_lone_ask_that_waits_for_an_owner_that_has_gone_follows_the_shard() {
    let (mut cluster, shard, mut sender) = scene("lone").await;
    sender.ask().await;
    timeout(SOON, cluster.lose(1, 0)).await.unwrap();
    let asked = sender.ask_later();
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
    // Nobody sends anything else that could remind the lane of it.
    assert!(timeout(SOON, asked).await.unwrap().unwrap().is_ok());
    cluster.nodes[0].leave().await.unwrap();
    cluster.nodes[2].leave().await.unwrap();
}

#[tokio::test]
async fn what_somebody_said_about_the_owner_counts_no_more_when_a_newer_map_names_nobody() {
    let (mut cluster, shard, mut sender) = scene("hearsay").await;
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    sender.ask().await;
    assert_eq!(owner(&sender).await, "node-3", "the old owner has said so");
    timeout(SOON, cluster.lose(2, 0)).await.unwrap();
    cluster.assigned(shard, None);
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
    let hurried = sender.to.clone().within(Duration::from_millis(300));
    let error = hurried.add(1).await.unwrap_err();
    assert!(
        matches!(error, AskError::NotSent(TellError::NoOwner { .. })),
        "{error:?}"
    );
    cluster.nodes[0].leave().await.unwrap();
    cluster.nodes[1].leave().await.unwrap();
}
