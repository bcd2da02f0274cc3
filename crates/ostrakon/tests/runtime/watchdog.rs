//! A thread that an entity holds beyond the end of the lease and the slack: in a process of its own, because it may end the process.
//!
//! The test binary starts itself again, with `watched_process` as its only test.

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, Output},
    time::Duration,
};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use ostrakon::{
    Hosting, Reply,
    testing::{self, Strictness},
};

use crate::probe::{Do, World, probe};

/// Says in its environment what the process shall do.
const ROLE: &str = "OSTRAKON_WATCHED";
const ABORTED: i32 = 6;
const SLACK: Duration = Duration::from_millis(200);

#[test]
fn the_process_is_aborted_whose_entity_holds_its_thread_beyond_the_slack() {
    let output = run("strict");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(ABORTED), "{said}");
    assert!(said.contains("probe/a has held its thread for"), "{said}");
    assert!(said.contains("node `node-1` is aborted"), "{said}");
}

#[test]
fn a_lenient_process_counts_it_and_goes_on() {
    let output = run("lenient");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", output.status);
}

#[test]
fn entities_that_wait_are_no_reason_to_end_the_process() {
    let output = run("waiting");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", output.status);
}

fn run(role: &str) -> Output {
    let name = "watchdog::watched_process";
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", name])
        .env(ROLE, role)
        .output()
        .unwrap()
}

#[test]
#[ignore = "a process of its own, which the other tests start"]
fn watched_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    match role.as_str() {
        "strict" => on_two_threads(strict()),
        "lenient" => on_two_threads(lenient()),
        "waiting" => on_one_thread(waiting()),
        other => panic!("no role {other}"),
    }
}

/// The entity holds one of them.
fn on_two_threads(role: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(role);
}

/// Whatever the entity was seen to do, it does not act any more when the role goes on.
fn on_one_thread(role: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(role);
}

async fn strict() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let lease = testing::lease(&node);
    lease.watch(SLACK, Strictness::Strict);
    lease.end();
    lease.extend(Some(lease.now() + SLACK));
    probe(&node, "a").tell(Do::Block).await.unwrap();
    // Much longer than it can take; then the test sees that this process has ended well.
    tokio::time::sleep(100 * SLACK).await;
}

async fn lenient() {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    recorder.install().unwrap();
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let lease = testing::lease(&node);
    lease.watch(SLACK, Strictness::Lenient);
    lease.end();
    lease.extend(Some(lease.now() + SLACK));
    let entity = probe(&node, "a");
    entity.tell(Do::Block).await.unwrap();
    entity.tell(Do::Add(2)).await.unwrap();
    while counted(&seen, "ostrakon_lease_overruns_total") == 0 {
        tokio::time::sleep(SLACK / 10).await;
    }
    assert_eq!(counted(&seen, "ostrakon_slow_polls_total"), 0, "it goes on");
    world.gate.add_permits(1);
    lease.extend(Some(lease.now() + 100 * SLACK));
    assert_eq!(crate::probe::sum(&entity).await, Ok(2));
    assert_eq!(counted(&seen, "ostrakon_slow_polls_total"), 1);
}

async fn waiting() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let lease = testing::lease(&node);
    lease.watch(SLACK, Strictness::Strict);
    let wait = Do::Wait("x".into(), Reply::ignored());
    probe(&node, "a").tell(wait).await.unwrap();
    world.seen("a: begin x", 1).await;
    lease.end();
    world.gate.add_permits(1);
    // The watchdog looks, several times.
    tokio::time::sleep(5 * SLACK).await;
    assert_eq!(world.count("a: end x"), 0);
    lease.extend(None);
    world.seen("a: end x", 1).await;
}

/// A counter; the snapshot takes what it has counted since the last.
fn counted(seen: &Snapshotter, name: &str) -> u64 {
    let mut metrics = seen.snapshot().into_vec().into_iter();
    let counted = metrics.find_map(|(key, _, _, value)| match value {
        DebugValue::Counter(n) if key.key().name() == name => Some(n),
        DebugValue::Counter(_) | DebugValue::Gauge(_) | DebugValue::Histogram(_) => None,
    });
    counted.unwrap_or(0)
}
