//! `Stats`: what one home counts. Plain relaxed counters, summed up and published once a second by the janitor.
//!
//! Messages from outside are counted in the home's table, under the lock that is held for them anyway.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(crate) struct Stats {
    pub(crate) started: Count,
    pub(crate) stopped: Count,
    pub(crate) failed: Count,
    pub(crate) overloaded: Count,
    /// Messages that were accepted and not handled: nobody waited for them any more, or the entity could not start or
    /// was stopped for good.
    pub(crate) given_up: Count,
    /// Messages of entities to themselves, and how many of those had to wait.
    pub(crate) own_accepted: Count,
    pub(crate) own_queued: Count,
    pub(crate) dequeued: Count,
}

#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn one(&self) {
        self.many(1);
    }

    pub(crate) fn many(&self, n: usize) {
        self.0.fetch_add(n as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a home's table has counted.
#[derive(Clone, Copy)]
pub(crate) struct Tabled {
    pub(crate) active: usize,
    pub(crate) accepted: u64,
    pub(crate) queued: u64,
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
    pub(crate) given_up: u64,
    pub(crate) queued: u64,
}

impl Totals {
    /// Adds a home, and returns how many messages it has handled. Counters are read one after the other: the sums may be off by what
    /// happens in between.
    pub(crate) fn add(&mut self, tabled: Tabled, stats: &Stats) -> u64 {
        let accepted = tabled.accepted + stats.own_accepted.get();
        let queued = tabled.queued + stats.own_queued.get();
        let waiting = queued.saturating_sub(stats.dequeued.get());
        let given_up = stats.given_up.get();
        self.active += tabled.active as u64;
        let handled = accepted.saturating_sub(waiting).saturating_sub(given_up);
        self.handled += handled;
        self.started += stats.started.get();
        self.stopped += stats.stopped.get();
        self.failed += stats.failed.get();
        self.overloaded += stats.overloaded.get();
        self.given_up += given_up;
        self.queued += waiting;
        handled
    }
}
