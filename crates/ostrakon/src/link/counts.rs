//! `Counts`: what the links of a node count.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use ostrakon_core::NodeName;

pub(crate) struct Counts {
    writes: metrics::Counter,
    frames: metrics::Counter,
    late: metrics::Counter,
    /// Of all links: names of nodes are without end, so they are no labels.
    heartbeats: metrics::Histogram,
    /// The slowest heartbeat in nanoseconds, for measurements; 0 for none.
    slowest: AtomicU64,
    /// Large messages of our own that waited in a lane.
    pub(crate) own_load: Arc<AtomicUsize>,
}

impl Counts {
    pub(super) fn new(node: &NodeName) -> Self {
        let node = node.to_string();
        Self {
            writes: metrics::counter!("ostrakon_link_writes_total", "node" => node.clone()),
            frames: metrics::counter!("ostrakon_link_frames_total", "node" => node.clone()),
            late: metrics::counter!("ostrakon_late_replies_total", "node" => node.clone()),
            heartbeats: metrics::histogram!("ostrakon_heartbeat_seconds", "node" => node),
            own_load: Arc::default(),
            slowest: AtomicU64::new(0),
        }
    }

    pub(crate) fn heartbeat(&self, took: Duration) {
        self.heartbeats.record(took);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.slowest.fetch_max(nanos, Ordering::Relaxed);
    }

    pub(crate) fn take_slowest_heartbeat(&self) -> Option<Duration> {
        let nanos = self.slowest.swap(0, Ordering::Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }

    pub(crate) fn wrote(&self, frames: usize) {
        self.writes.increment(1);
        self.frames.increment(frames as u64);
    }

    pub(crate) fn late_answer(&self) {
        self.late.increment(1);
    }
}
