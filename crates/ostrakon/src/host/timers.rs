//! `Timers`: the messages that entities of one kind have scheduled for later.
//!
//! One heap for the whole kind, served by its janitor: an entity that waits for a timer has no task.

use std::{
    cmp::Ordering as Order,
    collections::BinaryHeap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ostrakon_core::Time;

use super::{
    cell::{Cell, Timed, TimerOf},
    gate,
};
use crate::{Entity, lease::Lease, lock::Mutex};

pub(crate) struct Timers<E: Entity> {
    heap: Mutex<Heap<E>>,
}

struct Heap<E: Entity> {
    entries: BinaryHeap<Entry<E>>,
    /// Timers due at the same time fire in the order they were set.
    next_order: u64,
    /// With this many entries it is time to forget the cancelled ones.
    prune_at: usize,
}

const FIRST_PRUNE: usize = 1024;

impl<E: Entity> Default for Timers<E> {
    fn default() -> Self {
        Self {
            heap: Mutex::new(Heap {
                entries: BinaryHeap::new(),
                next_order: 0,
                prune_at: FIRST_PRUNE,
            }),
        }
    }
}

/// A scheduled message. Dropping the handle does not cancel it; the end of the entity's life does.
#[derive(Debug, Clone)]
pub struct Timer {
    cancelled: Arc<AtomicBool>,
}

impl Timer {
    /// A timer that was never set.
    pub(crate) fn inert() -> Self {
        Self {
            cancelled: Arc::new(AtomicBool::new(true)),
        }
    }

    /// The message will not come, unless it is in the mailbox already.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }
}

pub(crate) enum Schedule<E: Entity> {
    /// `None` once it has come.
    Once(Option<E::Message>),
    Every(Duration, Box<dyn FnMut() -> E::Message + Send>),
}

struct Entry<E: Entity> {
    due: Time,
    order: u64,
    cell: Weak<Cell<E>>,
    life: u32,
    cancelled: Arc<AtomicBool>,
    schedule: Schedule<E>,
}

impl<E: Entity> Timers<E> {
    /// Sets a timer for the present life of the entity in `cell`. `None`: it has as many as it may have.
    pub(crate) fn set(
        &self,
        due: Time,
        cell: &Arc<Cell<E>>,
        schedule: Schedule<E>,
    ) -> Option<Timer> {
        let mut heap = self.heap.lock();
        if heap.entries.len() >= heap.prune_at {
            heap.prune();
        }
        let most = cell.home.kind.hosting.mailbox;
        let life = cell.begin_timer(most).or_else(|| {
            // Cancelled ones are forgotten only now and then: perhaps there is room after all.
            heap.prune();
            cell.begin_timer(most)
        })?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let timer = Timer {
            cancelled: Arc::clone(&cancelled),
        };
        let order = heap.next_order;
        heap.next_order += 1;
        heap.entries.push(Entry {
            due,
            order,
            cell: Arc::downgrade(cell),
            life,
            cancelled,
            schedule,
        });
        Some(timer)
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        self.heap.lock().entries.peek().map(|entry| entry.due)
    }

    /// Delivers what is due, while the lease lasts; what could not be delivered goes to `refused`.
    pub(crate) fn fire(&self, now: Time, lease: &Lease, refused: impl Fn(&Cell<E>)) {
        while !lease.is_over()
            && let Some(entry) = self.pop_due(now)
        {
            self.fire_one(entry, now, &refused);
        }
    }

    fn pop_due(&self, now: Time) -> Option<Entry<E>> {
        let mut heap = self.heap.lock();
        if heap.entries.peek()?.due > now {
            return None;
        }
        heap.entries.pop()
    }

    fn fire_one(&self, mut entry: Entry<E>, now: Time, refused: &impl Fn(&Cell<E>)) {
        let Some(cell) = entry.cell.upgrade() else {
            return;
        };
        let (message, again) = match &mut entry.schedule {
            Schedule::Once(message) => (message.take(), false),
            Schedule::Every(_, make) => (gate::call_of(&cell, make).ok(), true),
        };
        let Some(message) = message else {
            tracing::warn!(kind = E::KIND, id = %cell.id, "a timer's message could not be made; it ends here");
            cell.end_timer(entry.life);
            return;
        };
        let timer = TimerOf {
            life: entry.life,
            is_over: entry.is_cancelled(),
            comes_again: again,
        };
        match cell.deliver_timed(timer, message) {
            Timed::Stale => return,
            Timed::Delivered => {}
            Timed::Refused => refused(&cell),
        }
        if again {
            entry.skip_to_after(now);
            self.heap.lock().entries.push(entry);
        }
    }

    /// Forgets what was cancelled, so that it no longer keeps its entity from being idle.
    pub(crate) fn prune(&self) {
        self.heap.lock().prune();
    }
}

impl<E: Entity> Heap<E> {
    fn prune(&mut self) {
        self.entries.retain(|entry| {
            let Some(cell) = entry.cell.upgrade() else {
                return false;
            };
            if entry.is_cancelled() {
                cell.end_timer(entry.life);
            }
            !entry.is_cancelled()
        });
        // Looking through all of them is worth it again when there are twice as many.
        self.prune_at = (self.entries.len() * 2).max(FIRST_PRUNE);
    }
}

impl<E: Entity> Entry<E> {
    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// The next tick that is still to come: missed ones are not made up for.
    fn skip_to_after(&mut self, now: Time) {
        let Schedule::Every(period, _) = self.schedule else {
            return;
        };
        let late = now.saturating_since(self.due).as_nanos();
        let missed = late / period.as_nanos();
        let periods = u32::try_from(missed + 1).unwrap_or(u32::MAX);
        self.due = self.due + period.saturating_mul(periods);
    }
}

impl<E: Entity> Ord for Entry<E> {
    /// The earliest is the greatest, because the heap yields the greatest first.
    fn cmp(&self, other: &Self) -> Order {
        (other.due, other.order).cmp(&(self.due, self.order))
    }
}

impl<E: Entity> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl<E: Entity> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl<E: Entity> Eq for Entry<E> {}
