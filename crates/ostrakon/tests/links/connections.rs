//! Connections come and go; what is sent over them is answered, or ends with the truth.

use std::time::{Duration, Instant};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use ostrakon::{
    AskError, Limits, MemberStatus, Node, Outcome, TellError,
    testing::{self, Fixed},
};
use ostrakon_faults::{Direction, Proxy};

use crate::{
    cluster::{Cluster, SOON, builder},
    handshakes::stranger::{Hello, Judgement, Stranger},
    ledger::{Gate, Ledger, LedgerRef},
};

/// Two nodes; what they say to each other goes through a proxy, whoever dials.
struct Pair {
    cluster: Cluster,
    /// On the way from the first node to the second.
    to_second: Proxy,
    /// On the way from the second node to the first.
    to_first: Proxy,
}

impl Pair {
    async fn new() -> Self {
        Self::within(Limits::default()).await
    }

    async fn within(limits: Limits) -> Self {
        let mut nodes = Vec::new();
        for name in ["node-1", "node-2"] {
            nodes.push(start(name, limits).await);
        }
        let cluster = Cluster::connect(nodes).await;
        let [first, second] = [0, 1].map(|n| testing::address(&cluster.nodes[n]));
        let pair = Self {
            to_second: Proxy::to(second).unwrap(),
            to_first: Proxy::to(first).unwrap(),
            cluster,
        };
        pair.introduce();
        pair
    }

    fn introduce(&self) {
        let [first, second] = [0, 1].map(|n| &self.cluster.nodes[n]);
        testing::introduce(first, "node-2", &self.to_second.address().to_string());
        testing::introduce(second, "node-1", &self.to_first.address().to_string());
    }

    /// An entity on the second node, as the first one reaches it.
    fn there(&self) -> LedgerRef {
        self.cluster.nodes[0].entity::<Ledger>(self.cluster.id_on(1))
    }

    /// Another one, in another shard.
    fn elsewhere(&self) -> LedgerRef {
        let shard = self.cluster.shard(&self.cluster.id_on(1));
        let mut ids = self.cluster.ids_on(1);
        let other = ids.find(|id| self.cluster.shard(id) != shard);
        self.cluster.nodes[0].entity::<Ledger>(other.unwrap())
    }

    async fn second_is(&self, status: MemberStatus) {
        is(&self.cluster.nodes[0], "node-2", status).await;
    }
}

async fn start(name: &str, limits: Limits) -> Node {
    let fixed = Fixed {
        limits,
        ..Fixed::plain()
    };
    builder(name).fixed(fixed).start().await.unwrap()
}

/// Waits until a node takes another for this.
async fn is(node: &Node, peer: &str, status: MemberStatus) {
    let mut changes = node.subscribe_topology();
    let seen = async {
        loop {
            let seen = changes.next().await.unwrap();
            let mut members = seen.members.iter();
            if members.any(|m| m.name.as_str() == peer && m.status == status) {
                return;
            }
        }
    };
    let seen = tokio::time::timeout(SOON, seen).await;
    seen.unwrap_or_else(|_| panic!("{peer} is {status:?}"));
}

/// Fast heartbeats: silence is noticed after 300 ms.
fn watchful() -> Limits {
    let (beat, silence) = (Duration::from_millis(50), Duration::from_millis(300));
    Limits::default()
        .heartbeat(beat, silence)
        .redial(Duration::from_millis(10), Duration::from_millis(50))
        .handshake(Duration::from_millis(500))
}

/// Whether an ask ended because its node could not be reached, and says so.
pub(crate) fn is_unsent(error: &AskError) -> bool {
    let unsent = matches!(
        error,
        AskError::NotSent(TellError::NoOwner { .. } | TellError::Unreachable { .. })
    );
    unsent && error.outcome() == Outcome::NotExecuted && error.is_retryable()
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(SOON, what).await;
    done.expect("it happens soon")
}

#[tokio::test]
async fn nothing_is_dialed_before_there_is_something_to_say() {
    let pair = Pair::new().await;
    let here = pair.cluster.nodes[0].entity::<Ledger>(pair.cluster.id_on(0));
    here.add(1).await.unwrap();
    let there = pair.there();
    assert_eq!(pair.to_second.connections(), 0);
    there.add(1).await.unwrap();
    // One for messages, one for heartbeats.
    soon(pair.to_second.connected(2)).await;
    for n in 2..100 {
        assert_eq!(there.add(1).await.unwrap(), n);
    }
    let back = pair.cluster.nodes[1].entity::<Ledger>(pair.cluster.id_on(0));
    assert_eq!(back.add(1).await.unwrap(), 2);
    assert_eq!(pair.to_second.connections(), 2);
    assert_eq!(pair.to_first.connections(), 0, "one connection serves both");
    pair.cluster.leave().await;
}

#[tokio::test]
async fn a_cut_connection_ends_what_was_being_handled_at_once() {
    let pair = Pair::new().await;
    let ledger = pair.there();
    let gate = Gate::of("cut connection");
    let asked = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.wait("cut connection".to_owned()).await }
    });
    gate.reached_by(1).await;
    soon(pair.to_second.connected(2)).await;
    let began = Instant::now();
    pair.to_second.cut();
    let lost = asked.await.unwrap().unwrap_err();
    assert!(matches!(lost, AskError::Lost { .. }), "{lost:?}");
    assert_eq!(lost.outcome(), Outcome::Unknown);
    assert!(began.elapsed() < Duration::from_secs(5), "at once");
    gate.open();
    assert_eq!(ledger.add(1).await.unwrap(), 1);
    soon(pair.to_second.connected(4)).await;
    assert_eq!(gate.reached(), 1, "it was not sent again");
    pair.cluster.leave().await;
}

#[tokio::test]
async fn what_was_not_sent_before_a_cut_is_sent_after_it_once() {
    let pair = Pair::new().await;
    let ledger = pair.there();
    ledger.add(0).await.unwrap();
    pair.to_second.refuse();
    pair.second_is(MemberStatus::Down).await;
    for n in 1..100 {
        ledger.tell().add(n).await.unwrap();
    }
    let asked = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.add(100).await }
    });
    soon(pair.to_second.connected(4)).await;
    assert!(!asked.is_finished());
    pair.to_second.pass();
    assert_eq!(asked.await.unwrap().unwrap(), 101);
    let entries = ledger.entries().await.unwrap();
    assert_eq!(entries, (0..=100).collect::<Vec<_>>());
    pair.cluster.leave().await;
}

#[tokio::test]
async fn an_ask_to_a_node_that_cannot_be_reached_ends_by_its_deadline_unexecuted() {
    let pair = Pair::new().await;
    pair.to_second.refuse();
    let (patience, began) = (Duration::from_millis(300), Instant::now());
    let ledger = pair.there().within(patience);
    let asks = (0..10).map(|n| ledger.add(n));
    for asked in futures_util::future::join_all(asks).await {
        let error = asked.unwrap_err();
        assert!(is_unsent(&error), "{error:?}");
    }
    assert!(began.elapsed() >= patience && began.elapsed() < SOON / 2);
    pair.to_second.pass();
    let entries = pair.there().entries().await.unwrap();
    assert_eq!(entries, [] as [u64; 0], "they were taken back");
    pair.cluster.leave().await;
}

#[tokio::test]
async fn pauses_between_dials_grow_up_to_a_bound() {
    let (first, longest) = (Duration::from_millis(20), Duration::from_millis(160));
    let pair = Pair::within(Limits::default().redial(first, longest)).await;
    pair.to_second.refuse();
    let ledger = pair.there();
    let asked = tokio::spawn(async move { ledger.add(1).await });
    soon(pair.to_second.connected(1)).await;
    let began = Instant::now();
    soon(pair.to_second.connected(5)).await;
    // Half of 20 + 40 + 80 + 160 at least, for up to half of each pause is left to chance.
    assert!(began.elapsed() >= Duration::from_millis(145));
    soon(pair.to_second.connected(11)).await;
    // Six more pauses; without a bound they would be 5 s together at least.
    assert!(began.elapsed() < Duration::from_secs(4));
    pair.to_second.pass();
    assert_eq!(soon(asked).await.unwrap().unwrap(), 1);
    pair.cluster.leave().await;
}

#[tokio::test]
async fn a_node_that_leaves_says_of_what_it_could_not_send_that_it_was_not_sent() {
    let pair = Pair::new().await;
    pair.to_second.refuse();
    let ledger = pair.there();
    let asked = tokio::spawn(async move { ledger.add(1).await });
    soon(pair.to_second.connected(2)).await;
    pair.cluster.nodes[0].leave().await.unwrap();
    let error = soon(asked).await.unwrap().unwrap_err();
    assert!(is_unsent(&error), "{error:?}");
}

/// How much has gone through a proxy, both ways.
fn traffic(proxy: &Proxy) -> u64 {
    proxy.bytes(Direction::ToClient) + proxy.bytes(Direction::ToTarget)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_dial_each_other_at_once_end_up_with_one_connection() {
    for round in 0..20 {
        let pair = Pair::new().await;
        let asks = [(0, 1), (1, 0)].map(|(from, to)| {
            let ledger = pair.cluster.nodes[from].entity::<Ledger>(pair.cluster.id_on(to));
            tokio::spawn(async move {
                for n in 1..=50 {
                    assert_eq!(ledger.add(n).await.unwrap(), n as usize);
                }
                ledger
            })
        });
        let mut ledgers = Vec::new();
        for asked in asks {
            ledgers.push(soon(asked).await.unwrap());
        }
        let ways = [&pair.to_second, &pair.to_first];
        let before = ways.map(traffic);
        for ledger in &ledgers {
            ledger.refuse("x".repeat(200_000)).await.unwrap_err();
        }
        let [one, other] = [0, 1].map(|n| traffic(ways[n]) - before[n]);
        assert!(one.max(other) > 800_000, "round {round}: {one} {other}");
        assert!(one.min(other) < 10_000, "round {round}: {one} {other}");
        pair.cluster.leave().await;
    }
}

#[tokio::test]
async fn a_half_open_connection_is_noticed_and_what_was_under_way_is_lost() {
    let pair = Pair::within(watchful()).await;
    let ledger = pair.there();
    let gate = Gate::of("half open");
    let handled = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.wait("half open".to_owned()).await }
    });
    gate.reached_by(1).await;
    soon(pair.to_second.connected(2)).await;
    pair.to_second.stall();
    let began = Instant::now();
    let elsewhere = pair.elsewhere();
    let queued = elsewhere.add(1);
    let (handled, queued) = soon(async { tokio::join!(handled, queued) }).await;
    for lost in [handled.unwrap().unwrap_err(), queued.unwrap_err()] {
        assert!(matches!(lost, AskError::Lost { .. }), "{lost:?}");
    }
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert!(began.elapsed() < Duration::from_secs(3));
    pair.second_is(MemberStatus::Down).await;
    is(&pair.cluster.nodes[1], "node-1", MemberStatus::Down).await;
    gate.open();
    pair.to_second.pass();
    assert_eq!(ledger.add(1).await.unwrap(), 1);
    pair.cluster.leave().await;
}

#[tokio::test]
async fn a_half_open_connection_is_noticed_also_while_much_waits_to_be_written() {
    let pair = Pair::within(watchful()).await;
    let ledger = pair.there();
    ledger.add(1).await.unwrap();
    soon(pair.to_second.connected(2)).await;
    pair.to_second.stall();
    // Far more than the sockets on the way take.
    let asks = (0..200).map(|_| ledger.refuse("x".repeat(60_000)));
    let asks = futures_util::future::join_all(asks);
    let stall = async {
        let began = Instant::now();
        pair.second_is(MemberStatus::Down).await;
        assert!(began.elapsed() < Duration::from_secs(3));
        pair.to_second.pass();
    };
    let (answers, ()) = soon(async { tokio::join!(asks, stall) }).await;
    let mut lost = 0;
    for answer in answers {
        let error = answer.unwrap_err();
        let is_lost = matches!(error, AskError::Lost { .. });
        assert!(
            is_lost || matches!(error, AskError::Rejected(_)),
            "{error:?}"
        );
        lost += usize::from(is_lost);
    }
    // Those that were on their way; the others waited for the next connection.
    assert!((1..200).contains(&lost), "{lost} were lost");
    assert_eq!(ledger.add(1).await.unwrap(), 2);
    pair.cluster.leave().await;
}

#[tokio::test]
async fn a_short_stall_loses_nothing() {
    let (beat, silence) = (Duration::from_millis(50), Duration::from_secs(3));
    let pair = Pair::within(Limits::default().heartbeat(beat, silence)).await;
    let ledger = pair.there();
    ledger.add(0).await.unwrap();
    soon(pair.to_second.connected(2)).await;
    for round in 0..3 {
        pair.to_second.stall();
        let asks = (1..=10).map(|n| ledger.add(10 * round + n));
        let asks = futures_util::future::join_all(asks);
        let stall = async {
            // The stall is the time that passes.
            tokio::time::sleep(Duration::from_millis(150)).await;
            pair.to_second.pass();
        };
        let (answers, ()) = soon(async { tokio::join!(asks, stall) }).await;
        for answer in answers {
            answer.unwrap();
        }
    }
    let entries = ledger.entries().await.unwrap();
    assert_eq!(entries, (0..=30).collect::<Vec<_>>());
    assert_eq!(pair.to_second.connections(), 2, "the same connection");
    pair.cluster.leave().await;
}

#[tokio::test]
async fn a_connection_that_works_one_way_only_is_noticed_by_both() {
    for direction in [Direction::ToTarget, Direction::ToClient] {
        let pair = Pair::within(watchful()).await;
        let ledger = pair.there();
        ledger.add(1).await.unwrap();
        soon(pair.to_second.connected(2)).await;
        pair.to_second.stall_towards(direction);
        let lost = soon(ledger.add(2)).await.unwrap_err();
        assert!(
            matches!(lost, AskError::Lost { .. }),
            "{direction:?}: {lost:?}"
        );
        is(&pair.cluster.nodes[1], "node-1", MemberStatus::Down).await;
        pair.to_second.pass();
        let entries = ledger.entries().await.unwrap();
        match direction {
            Direction::ToTarget => assert_eq!(entries, [1], "it never arrived"),
            Direction::ToClient => assert_eq!(entries, [1, 2], "only the answer was lost"),
        }
        pair.cluster.leave().await;
    }
}

#[tokio::test]
async fn a_node_that_leaves_answers_what_it_has_and_its_peers_know_at_once() {
    let pair = Pair::new().await;
    let ledger = pair.there();
    let gate = Gate::of("leaving");
    let slow = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.wait("leaving".to_owned()).await }
    });
    gate.reached_by(1).await;
    let (why, big) = ("x".repeat(3_000_000), ledger.clone());
    let large = tokio::spawn(async move { big.refuse(why).await });
    let small = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.add(1).await }
    });
    // Behind them on another lane: they have arrived when this has.
    let elsewhere = pair.elsewhere();
    while pair.to_second.bytes(Direction::ToTarget) < 3_000_000 {
        elsewhere.add(1).await.unwrap();
    }
    elsewhere.add(1).await.unwrap();
    let began = Instant::now();
    let leaving = tokio::spawn({
        let node = pair.cluster.nodes[1].clone();
        async move { node.leave().await }
    });
    gate.open();
    pair.second_is(MemberStatus::Down).await;
    assert!(began.elapsed() < Duration::from_secs(3));
    assert_eq!(soon(slow).await.unwrap().unwrap(), 7);
    let refused = soon(large).await.unwrap().unwrap_err();
    assert!(
        matches!(&refused, AskError::Rejected(refused) if refused.0.len() == 3_000_000),
        "{:?}",
        refused.outcome()
    );
    assert_eq!(soon(small).await.unwrap().unwrap(), 1);
    soon(leaving).await.unwrap().unwrap();
    let gone = ledger.within(Duration::from_millis(200)).add(2).await;
    assert_eq!(gone.unwrap_err().outcome(), Outcome::NotExecuted);
    pair.cluster.nodes[0].leave().await.unwrap();
}

#[tokio::test]
async fn a_node_that_comes_back_under_its_name_is_talked_to_again() {
    for leaves in [true, false] {
        let mut cluster = Cluster::of(2).await;
        let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
        ledger.add(1).await.unwrap();
        let address = testing::address(&cluster.nodes[1]).to_string();
        let old = cluster.nodes.remove(1);
        if leaves {
            old.leave().await.unwrap();
        }
        drop(old);
        is(&cluster.nodes[0], "node-2", MemberStatus::Down).await;
        let again = async {
            loop {
                let fixed = Fixed {
                    listen: address.clone(),
                    ..Fixed::plain()
                };
                // The port is free as soon as the old node's listener has been dropped.
                match builder("node-2").fixed(fixed).start().await {
                    Ok(node) => return node,
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        };
        let again = soon(again).await;
        testing::adopt(&again, &cluster.map).await;
        assert_eq!(soon(ledger.entries()).await.unwrap(), [] as [u64; 0]);
        assert_eq!(ledger.add(5).await.unwrap(), 1);
        cluster.nodes.push(again);
        cluster.leave().await;
    }
}

#[tokio::test]
async fn a_node_that_comes_back_elsewhere_is_dialed_at_once() {
    let long = Duration::from_secs(120);
    let patient = start("node-1", Limits::default().redial(long, long)).await;
    let away = builder("node-2")
        .fixed(Fixed::plain())
        .start()
        .await
        .unwrap();
    let mut cluster = Cluster::connect(vec![patient, away]).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    ledger.add(1).await.unwrap();
    drop(cluster.nodes.remove(1));
    is(&cluster.nodes[0], "node-2", MemberStatus::Down).await;
    let unheard = ledger
        .clone()
        .within(Duration::from_millis(200))
        .add(2)
        .await;
    assert_eq!(unheard.unwrap_err().outcome(), Outcome::NotExecuted);
    let again = builder("node-2")
        .fixed(Fixed::plain())
        .start()
        .await
        .unwrap();
    testing::adopt(&again, &cluster.map).await;
    let address = testing::address(&again).to_string();
    testing::introduce(&cluster.nodes[0], "node-2", &address);
    // Long before the pause is over that follows a dial in vain.
    assert_eq!(soon(ledger.add(3)).await.unwrap(), 1);
    cluster.nodes.push(again);
    cluster.leave().await;
}

#[tokio::test]
async fn a_life_with_a_clock_that_went_back_is_told_why_it_is_refused_and_let_in_later() {
    let node = start("node-1", watchful()).await;
    let address = testing::address(&node);
    let born = |incarnation| Hello {
        incarnation,
        ..Hello::to("node-1")
    };
    drop(Stranger::enter(address, &born(10)).await);
    let mut restarted = Stranger::dial(address).await;
    let reason = restarted.introduce(&born(9)).await.refusal();
    assert!(reason.contains("its clock has gone back"), "{reason}");
    let let_in = async {
        loop {
            let judgement = Stranger::dial(address).await.introduce(&born(9)).await;
            if matches!(judgement, Judgement::Welcome(_)) {
                return;
            }
        }
    };
    soon(let_in).await;
    node.leave().await.unwrap();
}

#[tokio::test]
async fn an_older_life_of_a_connected_node_is_refused_and_a_newer_one_takes_over() {
    let node = start("node-1", Limits::default()).await;
    let address = testing::address(&node);
    let born = |incarnation| Hello {
        incarnation,
        ..Hello::to("node-1")
    };
    let mut present = Stranger::enter(address, &born(10)).await;
    present.is_heard().await;
    let mut older = Stranger::dial(address).await;
    let reason = older.introduce(&born(9)).await.refusal();
    assert!(reason.contains("give them different names"), "{reason}");
    present.is_heard().await;
    let mut newer = Stranger::enter(address, &born(11)).await;
    let words = present.last_words().await;
    assert!(words.contains("takes its place"), "{words}");
    newer.is_heard().await;
    let last_words = async {
        let words = newer.last_words().await;
        drop(newer);
        words
    };
    let (left, words) = tokio::join!(node.leave(), last_words);
    left.unwrap();
    assert!(words.contains("this node leaves"), "{words}");
}

/// The longest of the heartbeats' round trips, and how many there were.
fn heartbeats(metrics: &Snapshotter) -> (f64, usize) {
    let mut all = Vec::new();
    for (key, _, _, value) in metrics.snapshot().into_vec() {
        if let ("ostrakon_heartbeat_seconds", DebugValue::Histogram(samples)) =
            (key.key().name(), value)
        {
            all.extend(samples.into_iter().map(|seconds| seconds.into_inner()));
        }
    }
    (all.iter().copied().fold(0.0, f64::max), all.len())
}

#[tokio::test]
async fn heartbeats_and_small_asks_do_not_wait_for_large_messages() {
    let recorder = DebuggingRecorder::new();
    let metrics = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let limits = Limits::default().heartbeat(Duration::from_millis(20), SOON);
    // A machine that is busy with other things may spoil one attempt; traffic before the heartbeats would spoil all.
    let mut slowest = Vec::new();
    for _ in 0..5 {
        let pair = Pair::within(limits).await;
        let (ledger, small) = (pair.there(), pair.elsewhere());
        small.add(0).await.unwrap();
        soon(pair.to_second.connected(2)).await;
        // Eight megabytes each way take the better part of a second.
        pair.to_second.throttle(12_000_000);
        heartbeats(&metrics);
        let began = Instant::now();
        let burst = (0..4).map(|_| ledger.refuse("x".repeat(2 * 1024 * 1024)));
        let burst = futures_util::future::join_all(burst);
        let mut longest_ask = Duration::ZERO;
        let asks = async {
            loop {
                let began = Instant::now();
                small.add(1).await.unwrap();
                longest_ask = longest_ask.max(began.elapsed());
            }
        };
        tokio::select! {
            refused = burst => for refused in refused {
                assert!(matches!(refused, Err(AskError::Rejected(_))));
            },
            () = asks => {}
        }
        let (took, (longest, count)) = (began.elapsed(), heartbeats(&metrics));
        pair.cluster.leave().await;
        assert!(took > Duration::from_millis(500), "a burst of {took:?}");
        assert!(count >= 10, "{count} heartbeats in {took:?}");
        assert!(longest_ask < took / 2, "{longest_ask:?} of {took:?}");
        if longest < 0.05 {
            return;
        }
        slowest.push(longest);
    }
    panic!("a heartbeat took longer than 50 ms each time: {slowest:?}");
}

#[tokio::test]
async fn names_that_come_and_go_make_room_for_others() {
    const AT_ONCE: usize = 8;
    let limits = watchful().connections(AT_ONCE);
    let cluster = Cluster::connect(vec![start("node-1", limits).await]).await;
    let server = &cluster.nodes[0];
    for n in 0..AT_ONCE * 3 {
        let guest = start(&format!("guest-{n}"), watchful()).await;
        testing::introduce(&guest, "node-1", &testing::address(server).to_string());
        testing::adopt(&guest, &cluster.map).await;
        let ledger = guest.entity::<Ledger>(cluster.id_on(0)).within(SOON);
        assert_eq!(ledger.add(0).await.unwrap(), n + 1, "guest {n}");
        guest.leave().await.unwrap();
    }
    cluster.leave().await;
}
