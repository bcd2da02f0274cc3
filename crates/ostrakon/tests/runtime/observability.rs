//! What an operator sees: metrics per kind and spans, without any payload.

use std::{
    io::Write,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use ostrakon::{Hosting, Reply};
use parking_lot::Mutex;

use crate::probe::{Do, World, probe, sum};

fn value(snapshotter: &Snapshotter, name: &str) -> f64 {
    let mut total = 0.0;
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        if key.key().name() == name {
            total += match value {
                DebugValue::Counter(n) => n as f64,
                DebugValue::Gauge(n) => n.into_inner(),
                DebugValue::Histogram(samples) => samples.len() as f64,
            };
        }
    }
    total
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
    entity.tell(Do::Wait("x".into(), Reply::ignored())).await.unwrap();
    world.seen("a: begin x", 1).await;
    let refused = (0..10).map(|_| entity.try_tell(Do::Add(1)).is_err());
    assert_eq!(refused.filter(|refused| *refused).count(), 2);
    tokio::time::sleep(Duration::from_secs(2)).await;

    assert_eq!(value(&seen, "ostrakon_entities"), 1.0);
    assert_eq!(value(&seen, "ostrakon_queued_messages"), 8.0);
    assert_eq!(value(&seen, "ostrakon_overloaded_total"), 2.0);
    assert_eq!(value(&seen, "ostrakon_dead_letters_total"), 1.0);
    world.gate.add_permits(1);
    sum(&entity).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(value(&seen, "ostrakon_started_total"), 2.0);
    assert_eq!(value(&seen, "ostrakon_failed_total"), 2.0);
    assert_eq!(value(&seen, "ostrakon_stopped_total"), 1.0);
    assert_eq!(value(&seen, "ostrakon_handled_total"), 100.0 + 1.0 + 1.0 + 1.0 + 8.0 + 1.0);
    assert_eq!(value(&seen, "ostrakon_queued_messages"), 0.0);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn spans_name_kind_and_id_but_no_payload() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::NEW)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "alice");
    entity.tell(Do::Note("secret".into())).await.unwrap();
    sum(&entity).await.unwrap();
    let text = String::from_utf8(log.0.lock().clone()).unwrap();
    assert!(text.contains("handle{kind=\"probe\" id=alice}"), "{text}");
    assert!(text.contains("start{kind=\"probe\" id=alice}"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}
