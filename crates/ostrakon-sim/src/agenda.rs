//! `Agenda`: what happens when, in real time.
//!
//! Of two events at the same moment the one that was noted first happens first, so a run never depends on how a heap is built.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// Real time: nanoseconds since the schedule began.
pub type Moment = u64;

/// A second of real time.
pub const SECOND: Moment = 1_000_000_000;
/// A millisecond of real time.
pub const MILLI: Moment = 1_000_000;

/// Events to come.
pub(crate) struct Agenda<E> {
    noted: u64,
    heap: BinaryHeap<Reverse<Item<E>>>,
}

struct Item<E> {
    at: Moment,
    number: u64,
    event: E,
}

impl<E> Agenda<E> {
    pub(crate) fn new() -> Self {
        Self {
            noted: 0,
            heap: BinaryHeap::new(),
        }
    }

    pub(crate) fn note(&mut self, at: Moment, event: E) {
        self.noted += 1;
        let number = self.noted;
        self.heap.push(Reverse(Item { at, number, event }));
    }

    /// The next event and its moment.
    pub(crate) fn next(&mut self) -> Option<(Moment, E)> {
        let Reverse(item) = self.heap.pop()?;
        Some((item.at, item.event))
    }
}

impl<E> Item<E> {
    fn key(&self) -> (Moment, u64) {
        (self.at, self.number)
    }
}

impl<E> PartialEq for Item<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Item<E> {}

impl<E> PartialOrd for Item<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Item<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_they_were_noted() {
        let mut agenda = Agenda::new();
        for (at, name) in [(5, "c"), (1, "a"), (5, "d"), (2, "b")] {
            agenda.note(at, name);
        }
        let order = std::iter::from_fn(|| agenda.next()).map(|(_, name)| name);
        assert_eq!(order.collect::<String>(), "abcd");
    }
}
