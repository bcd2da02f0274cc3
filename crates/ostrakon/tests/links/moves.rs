//! Shards that move while messages are under way, and nodes that learn of it at different times.
//!
//! What must hold whatever the order in which they learn: the messages of one sender are handled in their order, none twice, and
//! each ask ends as it says.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, TryStreamExt};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use ostrakon::{
    AskError, CustomHash, EntityId, GroupName, Hosting, Node, Outcome, ShardGroup, ShardHash,
    ShardId, TellError,
    testing::{self, Fixed, ShardMap, Version},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};

use crate::{
    cluster::{Cluster, SOON, builder, group, owned},
    ledger::{Gate, Ledger, LedgerRef, recorded},
};

/// More than one batch and less than a lane holds.
const MANY: u64 = 300;

/// A sender of numbered entries, which come in the log in this order if all is well.
struct Sender {
    log: &'static str,
    number: u32,
    to: LedgerRef,
    next: u64,
}

impl Sender {
    fn new(log: &'static str, number: u32, node: &Node, id: &str) -> Self {
        let to = node.entity::<Ledger>(id);
        Self {
            log,
            number,
            to,
            next: 0,
        }
    }

    async fn tell(&mut self, entries: u64) {
        for _ in 0..entries {
            let tell = self.to.tell();
            let told = tell.record(self.log.to_owned(), self.number, self.next);
            told.await.unwrap();
            self.next += 1;
        }
    }

    async fn ask(&mut self) {
        let entry = self.next;
        self.next += 1;
        let asked = self.to.record(self.log.to_owned(), self.number, entry);
        assert_eq!(timeout(SOON, asked).await.unwrap(), Ok(entry));
    }

    /// An ask on a task of its own, which may have to wait.
    fn ask_later(&mut self) -> JoinHandle<Result<u64, AskError>> {
        let (to, log, number, entry) = (self.to.clone(), self.log, self.number, self.next);
        self.next += 1;
        let mut asking = Box::pin(async move { to.record(log.to_owned(), number, entry).await });
        // Sent before this returns.
        let sent = asking.as_mut().now_or_never();
        tokio::spawn(async move {
            match sent {
                Some(answer) => answer,
                None => asking.await,
            }
        })
    }

    /// Everything was handled, once and in order.
    #[track_caller]
    fn check(&self) {
        let entries = recorded(self.log, self.number);
        let expected: Vec<_> = (0..self.next).collect();
        assert_eq!(entries, expected, "the entries of {}", self.number);
    }
}

/// A cluster of three, an id on the second node, its shard, and a sender on the first node.
async fn scene(log: &'static str) -> (Cluster, ShardId, Sender) {
    let cluster = Cluster::of(3).await;
    let id = cluster.id_on(1);
    let shard = cluster.shard(&id);
    let sender = Sender::new(log, 0, &cluster.nodes[0], &id);
    (cluster, shard, sender)
}

async fn owner(sender: &Sender) -> String {
    timeout(SOON, sender.to.node()).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_is_never_told_learns_it_from_the_old_owner() {
    let (mut cluster, shard, mut sender) = scene("never told").await;
    let before = testing::map(&cluster.nodes[0]);
    sender.tell(MANY).await;
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    sender.tell(MANY).await;
    sender.ask().await;
    sender.check();
    assert_eq!(owner(&sender).await, "node-3");
    assert_eq!(testing::map(&cluster.nodes[0]), before);
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_only_the_old_owner_knows_messages_wait() {
    let (mut cluster, shard, mut sender) = scene("old owner only").await;
    sender.tell(MANY).await;
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    sender.tell(MANY).await;
    let asked = sender.ask_later();
    // Its first messages have come back when this one is answered.
    let other = cluster.ids_on(1).find(|id| cluster.shard(id) != shard);
    let other = cluster.nodes[0].entity::<Ledger>(other.unwrap());
    other.node().await.unwrap();
    assert!(!asked.is_finished());
    assert!(recorded("old owner only", 0).len() as u64 <= MANY);
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    assert!(timeout(SOON, asked).await.unwrap().unwrap().is_ok());
    sender.check();
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_learns_first_waits_for_both_owners() {
    let (mut cluster, shard, mut sender) = scene("sender first").await;
    sender.tell(MANY).await;
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
    sender.tell(MANY).await;
    let asked = sender.ask_later();
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    assert!(!asked.is_finished(), "the new owner does not know yet");
    sender.tell(MANY).await;
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    assert!(timeout(SOON, asked).await.unwrap().unwrap().is_ok());
    sender.ask().await;
    sender.check();
    assert_eq!(owner(&sender).await, "node-3");
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_new_owner_learns_last_messages_wait_until_it_opens() {
    let (mut cluster, shard, mut sender) = scene("new owner last").await;
    sender.tell(MANY).await;
    sender.ask().await;
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
    sender.tell(MANY).await;
    let asked = sender.ask_later();
    let other = cluster.ids_on(2).find(|id| cluster.shard(id) != shard);
    let other = cluster.nodes[0].entity::<Ledger>(other.unwrap());
    other.node().await.unwrap();
    assert_eq!(recorded("new owner last", 0).len() as u64, MANY + 1);
    assert!(!asked.is_finished());
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    assert!(timeout(SOON, asked).await.unwrap().unwrap().is_ok());
    sender.check();
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_messages_keep_their_place_across_a_move() {
    let (mut cluster, shard, mut sender) = scene("large across a move").await;
    sender.tell(1).await;
    cluster.moved(shard, 2);
    for round in 0..5 {
        sender.to.tell().swallow(vec![0; 150_000]).await.unwrap();
        sender.tell(3).await;
        if round == 1 {
            testing::adopt(&cluster.nodes[1], &cluster.map).await;
        }
    }
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    sender.ask().await;
    sender.check();
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_in_the_old_owners_mailbox_are_handled_before_the_shard_moves() {
    let (mut cluster, shard, mut sender) = scene("mailbox").await;
    let gate = Gate::of("mailbox");
    let waiting = tokio::spawn({
        let to = sender.to.clone();
        async move { to.wait("mailbox".to_owned()).await }
    });
    gate.reached_by(1).await;
    sender.tell(MANY).await;
    let asked = sender.ask_later();
    let other = cluster.ids_on(1).find(|id| cluster.shard(id) != shard);
    let other = cluster.nodes[0].entity::<Ledger>(other.unwrap());
    other.node().await.unwrap();
    cluster.moved(shard, 2);
    let (_, ()) = tokio::join!(testing::adopt(&cluster.nodes[1], &cluster.map), async {
        sender.tell(MANY).await;
        gate.open();
    });
    assert_eq!(waiting.await.unwrap(), Ok(7));
    assert!(timeout(SOON, asked).await.unwrap().unwrap().is_ok());
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    sender.ask().await;
    sender.check();
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_comes_to_the_sender_and_goes_again_keeps_the_order() {
    let (mut cluster, shard, mut sender) = scene("to the sender").await;
    sender.tell(MANY).await;
    for (from, to) in [(1, 0), (0, 2), (2, 0), (0, 1)] {
        cluster.moved(shard, to);
        testing::adopt(&cluster.nodes[from], &cluster.map).await;
        sender.tell(MANY).await;
        let asked = sender.ask_later();
        testing::adopt(&cluster.nodes[to], &cluster.map).await;
        sender.tell(MANY).await;
        assert!(timeout(SOON, asked).await.unwrap().unwrap().is_ok());
        sender.ask().await;
        assert_eq!(owner(&sender).await, format!("node-{}", to + 1));
    }
    sender.check();
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_is_followed_through_several_owners() {
    let (mut cluster, shard, mut sender) = scene("several hints").await;
    sender.ask().await;
    // The sender hears of the first move only when the second has been made, and so on.
    for (from, to) in [(1, 2), (2, 1), (1, 2), (2, 1), (1, 2)] {
        cluster.moved(shard, to);
        testing::adopt(&cluster.nodes[from], &cluster.map).await;
        testing::adopt(&cluster.nodes[to], &cluster.map).await;
    }
    sender.tell(MANY).await;
    sender.ask().await;
    sender.check();
    assert_eq!(owner(&sender).await, "node-3");
    cluster.leave().await;
}

/// Tells and asks without end until it is told to stop; returns what it has sent.
async fn send_until(mut sender: Sender, stop: Arc<AtomicBool>) -> Sender {
    while !stop.load(Ordering::Relaxed) {
        sender.tell(2).await;
        sender.ask().await;
    }
    sender.ask().await;
    sender
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_back_and_forth_under_load_lose_and_double_and_reorder_nothing() {
    let mut cluster = Cluster::of(3).await;
    let id = cluster.id_on(1);
    let shard = cluster.shard(&id);
    let stop = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = (0..9)
        .map(|n| {
            let node = &cluster.nodes[n as usize % 3];
            let sender = Sender::new("back and forth", n, node, &id);
            tokio::spawn(send_until(sender, Arc::clone(&stop)))
        })
        .collect();
    let mut from = 1;
    for n in 0..40 {
        let to = (from + 1 + n / 7 % 2) % 3;
        let third = 3 - from - to;
        cluster.moved(shard, to);
        if n % 4 == 0 {
            testing::adopt(&cluster.nodes[third], &cluster.map).await;
        }
        testing::adopt(&cluster.nodes[from], &cluster.map).await;
        // Some time, so that the moves are not all over before much was sent.
        tokio::time::sleep(Duration::from_millis(n as u64 % 5)).await;
        testing::adopt(&cluster.nodes[to], &cluster.map).await;
        if n % 4 == 1 {
            testing::adopt(&cluster.nodes[third], &cluster.map).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        from = to;
    }
    stop.store(true, Ordering::Relaxed);
    for sender in senders {
        let sender = timeout(SOON, sender).await.unwrap().unwrap();
        sender.check();
        assert!(sender.next > 100, "{} has sent too little", sender.number);
    }
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_shards_may_move_at_once_under_load() {
    let mut cluster = Cluster::of(3).await;
    let stop = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = (0..12)
        .map(|n| {
            let node = &cluster.nodes[n as usize % 3];
            let sender = Sender::new("all at once", n, node, &format!("ledger-{n}"));
            tokio::spawn(send_until(sender, Arc::clone(&stop)))
        })
        .collect();
    for round in 0..6 {
        // First nobody has anything, then everybody has what another had.
        let owners: Vec<_> = group()
            .count
            .iter()
            .map(|shard| {
                (
                    shard,
                    cluster.map.owner(&GroupName::default(), shard).cloned(),
                )
            })
            .collect();
        for (shard, _) in &owners {
            cluster.assigned(*shard, None);
        }
        cluster.inform_all().await;
        for (shard, old) in owners {
            let to = cluster.nodes[(shard.index() + round) % 3].name().clone();
            let epoch = old.unwrap().epoch.get() + 1;
            cluster.assigned(shard, owned(&to, epoch));
        }
        cluster.inform_all().await;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    stop.store(true, Ordering::Relaxed);
    for sender in senders {
        timeout(SOON, sender).await.unwrap().unwrap().check();
    }
    cluster.leave().await;
}

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

#[tokio::test]
async fn a_kind_that_the_owner_does_not_host_is_unknown() {
    let mut nodes = vec![builder("node-1").fixed(Fixed::plain())];
    nodes.push(Node::builder("node-2").group(group()).fixed(Fixed::plain()));
    let mut started = Vec::new();
    for node in nodes {
        started.push(node.start().await.unwrap());
    }
    let cluster = Cluster::connect(started).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let kind = "ledger".to_owned();
    let unknown = AskError::NotSent(TellError::UnknownKind { kind });
    assert_eq!(ledger.add(1).await, Err(unknown.clone()));
    assert_eq!(ledger.sized(vec![1]).await.err(), Some(unknown));
    assert_eq!(ledger.tell().add(1).await, Ok(()), "nobody waits for it");
    cluster.leave().await;
}

#[tokio::test]
async fn functions_of_one_name_that_answer_differently_are_found_out() {
    let hashed = |last: bool| {
        let shard = move |id: &str, count: ostrakon::ShardCount| {
            if last { count.get() } else { id.len() as u32 }
        };
        ShardGroup {
            hash: ShardHash::Custom(CustomHash::new("ours", shard)),
            ..group()
        }
    };
    let mut nodes = Vec::new();
    for (name, last) in [("node-1", false), ("node-2", true)] {
        let node = Node::builder(name)
            .group(hashed(last))
            .host_as::<Ledger>(Hosting::default())
            .fixed(Fixed::plain());
        nodes.push(node.start().await.unwrap());
    }
    let mut cluster = Cluster::connect(nodes).await;
    let second = cluster.nodes[1].name().clone();
    for shard in group().count.iter() {
        cluster.assigned(shard, owned(&second, 2));
    }
    cluster.inform_all().await;
    let ledger = cluster.nodes[0].entity::<Ledger>("abc");
    let error = ledger.add(1).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotExecuted);
    let AskError::NotSent(refused) = error else {
        panic!("{error:?}");
    };
    let text = refused.to_string();
    assert!(text.contains("do not agree on the hash"), "{text}");
    assert!(!refused.is_retryable());
    let agreed = cluster.nodes[0].entity::<Ledger>("a".repeat(12));
    assert_eq!(agreed.add(1).await, Ok(1), "where they agree all is well");
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_only_reaches_a_kind_asks_tells_and_streams() {
    let mut nodes = Vec::new();
    let client = Node::builder("node-1")
        .group(group())
        .reach::<Ledger>(GroupName::default())
        .fixed(Fixed::plain());
    nodes.push(client.start().await.unwrap());
    for name in ["node-2", "node-3"] {
        let node = builder(name).fixed(Fixed::plain());
        nodes.push(node.start().await.unwrap());
    }
    let mut cluster = Cluster::connect(nodes).await;
    let id = cluster.id_on(1);
    let mut sender = Sender::new("only reaches", 0, &cluster.nodes[0], &id);
    sender.tell(MANY).await;
    sender.ask().await;
    let items = sender.to.sized(vec![10; 100]).await.unwrap();
    let items: Vec<_> = items.try_collect().await.unwrap();
    assert_eq!(items.len(), 100);
    let found = cluster.nodes[0].locate("ledger", &id).unwrap();
    assert_eq!(found.node, *cluster.nodes[1].name());

    let shard = cluster.shard(&id);
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    sender.tell(MANY).await;
    sender.ask().await;
    sender.check();

    // A mistake in the map: a shard for a node that does not host the kind.
    let mistaken = cluster.nodes[0].entity::<Ledger>(cluster.id_on(0));
    let kind = "ledger".to_owned();
    let unknown = AskError::NotSent(TellError::UnknownKind { kind });
    let asked = timeout(SOON, mistaken.add(1)).await.unwrap();
    assert_eq!(asked, Err(unknown.clone()));
    let mistaken = cluster.nodes[2].entity::<Ledger>(cluster.id_on(0));
    let asked = timeout(SOON, mistaken.add(1)).await.unwrap();
    assert_eq!(asked, Err(unknown));
    cluster.leave().await;
}

#[tokio::test]
async fn an_older_map_changes_nothing() {
    let (mut cluster, shard, mut sender) = scene("older map").await;
    let old = cluster.map.clone();
    cluster.moved(shard, 2);
    cluster.inform_all().await;
    for node in &cluster.nodes {
        testing::adopt(node, &old).await;
    }
    sender.ask().await;
    assert_eq!(owner(&sender).await, "node-3");
    let epochs: BTreeSet<_> = cluster
        .nodes
        .iter()
        .map(|node| testing::map(node).version())
        .collect();
    assert_eq!(epochs, BTreeSet::from([cluster.map.version()]));
    cluster.leave().await;
}
