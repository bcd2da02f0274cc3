//! `Stats`: what one home counts. Plain relaxed counters, summed up and published once a second by the janitor.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(crate) struct Stats {
    pub(crate) handled: Count,
    pub(crate) started: Count,
    pub(crate) stopped: Count,
    pub(crate) failed: Count,
    pub(crate) overloaded: Count,
    /// Messages of entities to themselves that had to wait; the others are counted in the table.
    pub(crate) own_queued: Count,
    pub(crate) dequeued: Count,
}

#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Counts one, and returns how many there were before.
    pub(crate) fn one(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn many(&self, n: usize) {
        self.0.fetch_add(n as u64, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The sum over a kind's homes.
#[derive(Default, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) active: u64,
    pub(crate) handled: u64,
    pub(crate) started: u64,
    pub(crate) stopped: u64,
    pub(crate) failed: u64,
    pub(crate) overloaded: u64,
    pub(crate) queued: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, active: usize, queued: u64, stats: &Stats) {
        self.active += active as u64;
        self.handled += stats.handled.get();
        self.started += stats.started.get();
        self.stopped += stats.stopped.get();
        self.failed += stats.failed.get();
        self.overloaded += stats.overloaded.get();
        // Counters read one after the other: the difference may be off by what happens in between.
        let queued = queued + stats.own_queued.get();
        self.queued += queued.saturating_sub(stats.dequeued.get());
    }
}
