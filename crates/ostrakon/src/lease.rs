//! `Lease`: until when this node's entities may act.
//!
//! ```text
//!             extend                 the clock reaches the deadline, or end
//!   (over) ───────────▶ (lasting) ─────────────────────────────────────────▶ (over)
//! ```
//!
//! All hosts of a node share one. Every poll of an entity's code begins with [`Lease::acts`], at the [gate](crate::host::gate); once the
//! lease is over the entity is *suspended*: it keeps its state, mailbox and timers, its waker waits here, and it goes on where it was
//! when the lease is extended. What an entity sends is written only while the lease lasts (see `link/outbox/held.rs`).
//!
//! Invariant: whatever begins to act has looked at the clock after it was entered in the list of what acts. So after the deadline only
//! that goes on which the [watchdog](crate::watchdog) can see, and it sees to it that this is over within the slack: the node has
//! stopped when others, who wait for hold and slack together, may start.
//!
//! A lease that lasts for ever, as on a node that runs alone, costs one load and no look at a clock.

mod acting;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    task::{Poll, Waker},
    time::Duration,
};

use ostrakon_clock::HolderClock;
use ostrakon_core::Time;

pub(crate) use self::acting::{Acting, Acts, Who, for_entity, is_acting_here};
use crate::lock::Mutex;

pub(crate) struct Lease {
    clock: HolderClock,
    /// The deadline in nanoseconds of the clock.
    until: AtomicU64,
    /// How many nanoseconds a step may take before it is counted as slow.
    slow_after: AtomicU64,
    /// How often what entities had left to be sent was given up.
    losses: AtomicU64,
    suspended: Mutex<Suspended>,
}

const FOR_EVER: u64 = u64::MAX;

/// Those who wait for the lease to be extended.
struct Suspended {
    /// How often all have been woken.
    round: u32,
    wakers: Vec<Waker>,
}

/// The place where one task waits: kept by it, so that waiting again takes no second one.
#[derive(Default, Clone, Copy)]
pub(crate) struct Wait {
    /// In which round it was taken; 0 for never.
    round: u32,
    number: u32,
}

impl Lease {
    pub(crate) fn for_ever() -> Self {
        Self {
            clock: HolderClock::start(),
            until: AtomicU64::new(FOR_EVER),
            slow_after: AtomicU64::new(FOR_EVER),
            losses: AtomicU64::new(0),
            suspended: Mutex::new(Suspended {
                round: 1,
                wakers: Vec::new(),
            }),
        }
    }

    /// The clock by which the lease is counted.
    pub(crate) fn clock(&self) -> HolderClock {
        self.clock
    }

    /// The deadline; `None` for ever.
    pub(crate) fn until(&self) -> Option<Time> {
        let until = self.until.load(Ordering::Acquire);
        (until != FOR_EVER).then_some(Time::from_nanos(until))
    }

    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        let until = self.until.load(Ordering::Acquire);
        until != FOR_EVER && self.clock.now().as_nanos() >= until
    }

    /// Lets the node act until then at least; `None` for ever. Those who wait go on, if that is not over as well.
    pub(crate) fn extend(&self, until: Option<Time>) {
        let until = until.map_or(FOR_EVER, Time::as_nanos);
        self.until.fetch_max(until, Ordering::AcqRel);
        if self.is_over() {
            return;
        }
        let mut suspended = self.suspended.lock();
        suspended.round = suspended.round.wrapping_add(1).max(1);
        let wakers = std::mem::take(&mut suspended.wakers);
        drop(suspended);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The node may not act any more, from this moment on.
    pub(crate) fn end(&self) {
        let now = self.clock.now().as_nanos();
        self.until.fetch_min(now, Ordering::AcqRel);
    }

    /// Ready while the lease lasts; else `waker` is woken when it is extended.
    pub(crate) fn poll_lasts(&self, wait: &mut Wait, waker: &Waker) -> Poll<()> {
        if !self.is_over() {
            return Poll::Ready(());
        }
        self.poll_extended(wait, waker)
    }

    #[cold]
    fn poll_extended(&self, wait: &mut Wait, waker: &Waker) -> Poll<()> {
        let mut suspended = self.suspended.lock();
        // Whoever extends it does so before they look who waits.
        if !self.is_over() {
            return Poll::Ready(());
        }
        suspended.wait(wait, waker);
        Poll::Pending
    }

    /// Waits until the lease lasts.
    pub(crate) async fn lasts(&self, wait: &mut Wait) {
        std::future::poll_fn(|cx| self.poll_lasts(wait, cx.waker())).await;
    }

    /// Begins a step of an entity's code. `None`: the lease is over, it must not begin.
    #[inline]
    pub(crate) fn acts(&self, who: impl FnOnce() -> Who) -> Option<Acting> {
        if self.until.load(Ordering::Acquire) == FOR_EVER {
            return Some(Acting::Unwatched);
        }
        let acting = Acting::enter(self, who, |now| now.as_nanos() < self.deadline());
        acting.map(Acting::Watched)
    }

    /// Begins what belongs to a step for which the lease has lasted.
    #[inline]
    pub(crate) fn goes_on(&self, who: impl FnOnce() -> Who) -> Acting {
        if self.until.load(Ordering::Acquire) == FOR_EVER {
            return Acting::Unwatched;
        }
        Acting::enter(self, who, |_| true).map_or(Acting::Unwatched, Acting::Watched)
    }

    /// From now on steps that take longer than half of the slack are counted, while the lease can end.
    pub(crate) fn set_slack(&self, slack: Duration) {
        let half = u64::try_from((slack / 2).as_nanos()).unwrap_or(FOR_EVER);
        self.slow_after.store(half, Ordering::Relaxed);
    }

    fn slow_after(&self) -> Option<Duration> {
        let nanos = self.slow_after.load(Ordering::Relaxed);
        (nanos != FOR_EVER).then_some(Duration::from_nanos(nanos))
    }

    /// The node has lost its shards: what their entities have left to be sent must not be.
    pub(crate) fn lose(&self) {
        self.losses.fetch_add(1, Ordering::AcqRel);
    }

    /// How often that has happened.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.load(Ordering::Acquire)
    }

    fn deadline(&self) -> u64 {
        self.until.load(Ordering::Acquire)
    }

    /// What acts at this moment.
    pub(crate) fn acting(&self) -> Vec<Acts> {
        acting::all_of(self)
    }
}

impl Suspended {
    fn wait(&mut self, wait: &mut Wait, waker: &Waker) {
        if wait.round == self.round {
            self.wakers[wait.number as usize].clone_from(waker);
            return;
        }
        *wait = Wait {
            round: self.round,
            number: self.wakers.len() as u32,
        };
        self.wakers.push(waker.clone());
    }
}

#[cfg(test)]
mod tests;
