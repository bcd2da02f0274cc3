//! Real processes on loopback: nodes that are killed, stopped, started again and asked to leave, and what the others notice.
//!
//! The test binary starts itself again as a node, with `node_process` as its only test. Parent and child talk in lines of JSON over
//! the child's standard input and output: see `processes/order.rs`.

#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in tests, but not in their helpers"
)]

#[path = "processes/child.rs"]
mod child;
#[path = "processes/desk.rs"]
mod desk;
#[path = "processes/order.rs"]
mod order;
#[path = "processes/process.rs"]
mod process;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use self::{
    order::{Ending, Order, Report, Status, desks_on},
    process::{Process, Processes},
};

/// The deadline of what is expected to end long before.
const LONG: Duration = Duration::from_secs(10);
/// Much less than any deadline and any silence that is waited for.
const AT_ONCE: Duration = Duration::from_secs(1);
/// The usual limit of silence, which no test waits for.
const USUAL_SILENCE: Duration = Duration::from_secs(5);

#[test]
#[ignore = "a node in a process of its own, which the other tests start"]
fn node_process() {
    child::run();
}

#[tokio::test]
async fn three_processes_exchange_asks_tells_and_streams() {
    let all = Processes::start(["a", "b", "c"], USUAL_SILENCE).await;
    for owner in &all.names {
        // One for each asker.
        let desks = desks_on(owner, &all.names);
        for (asker, desk) in all.names.iter().zip(desks) {
            let told = Order::Tell {
                desk: desk.clone(),
                entries: (0..100).collect(),
            };
            assert_eq!(all[asker].order(told).await, Report::Done);
            let asked = all[asker].ask(&desk, 100, LONG).await;
            assert_eq!(asked, Report::Number(101), "{asker} to {owner}");
            let entries = Order::Entries { desk: desk.clone() };
            let entries = all[asker].order(entries).await;
            assert_eq!(entries, Report::Numbers((0..=100).collect()));
            let items = all[asker].order(Order::Stream { desk, to: 500 }).await;
            assert_eq!(items, Report::Numbers((0..500).collect()));
        }
    }
}

#[tokio::test]
async fn a_topic_reaches_a_receiver_in_every_process() {
    let all = Processes::start(["a", "b", "c"], USUAL_SILENCE).await;
    let per_node = |count: u64| {
        let names = ["a", "b", "c"].map(|name| (name.to_owned(), count));
        Report::PerNode(BTreeMap::from(names))
    };
    assert_eq!(all["a"].order(Order::AskTopic).await, per_node(1));
    let told = all["b"].order(Order::TellTopic { entry: 5 }).await;
    assert_eq!(told, Report::Done);
    // From the same node, so behind it.
    assert_eq!(all["b"].order(Order::AskTopic).await, per_node(3));
}

#[tokio::test]
async fn when_a_process_is_killed_asks_to_it_end_at_once_and_others_do_not_notice() {
    let all = Processes::start(["a", "b", "c"], USUAL_SILENCE).await;
    let desks: Vec<_> = desks_on("c", &all.names).take(3).collect();
    let waiting = [("a", 0), ("a", 1), ("b", 2)].map(|(asker, n)| wait(&all[asker], &desks[n]));
    let reached = all["c"].order(Order::GateReached { count: 3 }).await;
    assert_eq!(reached, Report::Done);
    let others = [("a", "b"), ("b", "a")].map(|(asker, owner)| {
        let desk = desks_on(owner, &all.names).next().unwrap();
        all[asker].order(Order::KeepAsking {
            desk,
            time: AT_ONCE,
        })
    });

    all["c"].kill();
    let killed = Instant::now();
    for waiting in waiting {
        let (ending, why) = failure(waiting.await);
        assert_eq!(ending, Ending::Unknown, "{why}");
        assert!(why.contains("connection to `c` was lost"), "{why}");
    }
    see(&all["a"], "c", Status::Down).await;
    see(&all["b"], "c", Status::Down).await;
    assert!(killed.elapsed() < AT_ONCE, "{:?}", killed.elapsed());

    for other in others {
        let report = other.await;
        let Report::Numbers(asks) = &report else {
            panic!("an ask among the others: {report:?}");
        };
        assert!(asks[0] > 0 && asks[1] < 1000, "count, slowest: {asks:?}");
    }
}

#[tokio::test]
async fn a_killed_process_is_reached_again_when_it_is_back() {
    let mut all = Processes::start(["a", "b", "c"], USUAL_SILENCE).await;
    let desk = desks_on("c", &all.names).next().unwrap();
    assert_eq!(all["a"].ask(&desk, 1, LONG).await, Report::Number(1));
    all["c"].kill();
    see(&all["a"], "c", Status::Down).await;

    let asked = Instant::now();
    let short = Duration::from_millis(300);
    let (ending, why) = failure(all["a"].ask(&desk, 2, short).await);
    assert_eq!(ending, Ending::NotExecuted, "{why}");
    let took = asked.elapsed();
    assert!(short <= took && took < short + AT_ONCE, "{took:?}");

    // These wait, and are answered by its next life, which begins with empty desks.
    let patient = all["a"].ask(&desk, 3, LONG);
    all.restart("c").await;
    assert_eq!(patient.await, Report::Number(1));
    see(&all["a"], "c", Status::Up).await;
    assert_eq!(all["b"].ask(&desk, 4, LONG).await, Report::Number(2));
    let entries = all["c"].order(Order::Entries { desk }).await;
    assert_eq!(entries, Report::Numbers(vec![3, 4]));
    let elsewhere = desks_on("a", &all.names).next().unwrap();
    assert_eq!(all["c"].ask(&elsewhere, 5, LONG).await, Report::Number(1));
}

#[tokio::test]
async fn a_process_that_stands_still_counts_as_gone_until_it_goes_on() {
    let silence = Duration::from_millis(500);
    let all = Processes::start(["a", "b"], silence).await;
    let desk = desks_on("b", &all.names).next().unwrap();
    let ask = |entry, within| all["a"].ask(&desk, entry, within);
    assert_eq!(ask(0, LONG).await, Report::Number(1));

    // It may answer some more before it really stands.
    all["b"].signal("STOP");
    let (mut lost, stopped) = (1, Instant::now());
    let unanswered = loop {
        let answer = ask(lost, LONG).await;
        if !matches!(answer, Report::Number(_)) {
            break answer;
        }
        lost += 1;
    };
    let (ending, why) = failure(unanswered);
    assert_eq!(ending, Ending::Unknown, "{why}");
    see(&all["a"], "b", Status::Down).await;
    let took = stopped.elapsed();
    assert!(took < silence + 2 * AT_ONCE, "{took:?}");
    let (ending, why) = failure(ask(1001, Duration::from_millis(300)).await);
    assert_eq!(ending, Ending::NotExecuted, "{why}");

    all["b"].signal("CONT");
    let Report::Number(count) = ask(1002, LONG).await else {
        panic!("it goes on");
    };
    see(&all["a"], "b", Status::Up).await;
    // The lost one may have been handled before or after the stop, but not after this one.
    let handled = if count == lost + 1 {
        0..lost
    } else {
        0..lost + 1
    };
    let expected = handled.chain([1002]).collect();
    let entries = Order::Entries { desk: desk.clone() };
    assert_eq!(all["a"].order(entries).await, Report::Numbers(expected));
}

#[tokio::test]
async fn a_process_that_leaves_answers_what_it_has_taken_and_says_goodbye() {
    let all = Processes::start(["a", "b"], USUAL_SILENCE).await;
    let desks: Vec<_> = desks_on("b", &all.names).take(3).collect();
    let waiting = [0, 1].map(|n| wait(&all["a"], &desks[n]));
    let reached = all["b"].order(Order::GateReached { count: 2 }).await;
    assert_eq!(reached, Report::Done);

    let left = all["b"].order(Order::Leave);
    see(&all["b"], "b", Status::Leaving).await;
    let (ending, why) = failure(all["a"].ask(&desks[2], 1, Duration::from_millis(300)).await);
    assert_eq!(ending, Ending::NotExecuted, "{why}");
    assert_eq!(all["b"].order(Order::OpenGate).await, Report::Done);
    for waiting in waiting {
        assert_eq!(waiting.await, Report::Number(7));
    }
    assert_eq!(left.await, Report::Done);
    let gone = Instant::now();
    see(&all["a"], "b", Status::Down).await;
    assert!(gone.elapsed() < AT_ONCE, "{:?}", gone.elapsed());
    assert!(all["b"].ended().success());
}

/// Asks a desk that waits for the gate of its process.
fn wait(asker: &Process, desk: &str) -> impl Future<Output = Report> + use<> {
    asker.order(Order::Wait {
        desk: desk.to_owned(),
        within: LONG,
    })
}

async fn see(process: &Process, peer: &str, status: Status) {
    let peer = peer.to_owned();
    let seen = process.order(Order::See { peer, status }).await;
    assert_eq!(seen, Report::Done);
}

#[track_caller]
fn failure(report: Report) -> (Ending, String) {
    let Report::Failed(ending, why) = report else {
        panic!("expected a failure: {report:?}");
    };
    (ending, why)
}
