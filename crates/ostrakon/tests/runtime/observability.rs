//! What an operator sees: metrics per kind.

use std::{collections::BTreeMap, sync::atomic::Ordering, time::Duration};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use ostrakon::{Hosting, Reply};

use crate::probe::{Do, World, probe, sum};

/// The metrics of kind `probe`, by name.
fn look(snapshotter: &Snapshotter) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let mut labels = key.key().labels();
        assert!(labels.any(|label| label.key() == "kind" && label.value() == "probe"));
        let value = match value {
            DebugValue::Counter(n) => n as f64,
            DebugValue::Gauge(n) => n.into_inner(),
            DebugValue::Histogram(samples) => samples.len() as f64,
        };
        let name = key.key().name().trim_start_matches("ostrakon_");
        values.insert(name.to_owned(), value);
    }
    values
}

#[tokio::test(start_paused = true)]
async fn the_counters_tell_what_happened() {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let world = World::new();
    world.failing_starts.store(1, Ordering::SeqCst);
    let node = world.node(Hosting::default().mailbox(8)).await;
    let entity = probe(&node, "a");
    assert!(sum(&entity).await.is_err());
    for _ in 0..100 {
        sum(&entity).await.unwrap();
    }
    entity.tell(Do::Fail(Reply::ignored())).await.unwrap();
    sum(&entity).await.unwrap();
    entity
        .tell(Do::Wait("x".into(), Reply::ignored()))
        .await
        .unwrap();
    world.seen("a: begin x", 1).await;
    let refused = (0..10).map(|_| entity.try_tell(Do::Add(1)).is_err());
    assert_eq!(refused.filter(|refused| *refused).count(), 2);
    tokio::time::sleep(Duration::from_secs(2)).await;

    let first = look(&seen);
    assert_eq!(first["entities"], 1.0);
    assert_eq!(first["queued_messages"], 8.0);
    assert_eq!(first["overloaded_total"], 2.0);
    assert_eq!(first["dead_letters_total"], 1.0);
    assert_eq!(first["started_total"], 2.0);
    assert_eq!(first["given_up_total"], 1.0);
    assert_eq!(first["failed_total"], 2.0);
    assert_eq!(first["stopped_total"], 1.0);
    assert!(first["handle_seconds"] >= 3.0, "one message in 32 is timed");

    world.gate.add_permits(1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let second = look(&seen);
    assert_eq!(second["queued_messages"], 0.0);
    // A hundred asks, the failing tell, an ask, the wait, and the eight that waited behind it.
    assert_eq!(second["handled_total"], 111.0);
}
