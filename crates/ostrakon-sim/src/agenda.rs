//! `Agenda`: what happens when, in real time.
//!
//! Of two events at the same moment the one that was noted first happens first, so a run never depends on how a heap is built.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Real time: nanoseconds since the schedule began.
pub type Moment = u64;

/// A second of real time.
pub const SECOND: Moment = 1_000_000_000;
/// A millisecond of real time.
pub const MILLI: Moment = 1_000_000;

/// Events to come.
pub(crate) struct Agenda<E> {
    noted: u64,
    /// When, the how manieth to be noted, and where it lies: events are large, and a heap moves what it orders.
    order: BinaryHeap<Reverse<(Moment, u64, usize)>>,
    events: Vec<Option<E>>,
    free: Vec<usize>,
}

impl<E> Agenda<E> {
    pub(crate) fn new() -> Self {
        Self {
            noted: 0,
            order: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn note(&mut self, at: Moment, event: E) {
        self.noted += 1;
        let place = self.free.pop().unwrap_or(self.events.len());
        match self.events.get_mut(place) {
            Some(vacant) => *vacant = Some(event),
            None => self.events.push(Some(event)),
        }
        self.order.push(Reverse((at, self.noted, place)));
    }

    /// The next event and its moment.
    pub(crate) fn next(&mut self) -> Option<(Moment, E)> {
        let Reverse((at, _, place)) = self.order.pop()?;
        self.free.push(place);
        let event = self.events[place].take()?;
        Some((at, event))
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
