//! Shards that move while messages are under way, and nodes that learn of it at different times.
//!
//! What must hold whatever the order in which they learn: the messages of one sender are handled in their order, none twice, and
//! each ask ends as it says.

#[path = "moves/coming_back.rs"]
mod coming_back;
#[path = "moves/kinds.rs"]
mod kinds;
#[path = "moves/over_breaking_connections.rs"]
mod over_breaking_connections;
#[path = "moves/without_owner.rs"]
mod without_owner;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use ostrakon::{AskError, GroupName, Node, ShardId, testing};
use tokio::{task::JoinHandle, time::timeout};

use crate::{
    cluster::{Cluster, SOON, group, owned},
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
