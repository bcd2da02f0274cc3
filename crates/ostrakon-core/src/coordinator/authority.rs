//! `Authority`: renewals that wait until it is certain that this coordinator leads.
//!
//! A renewal is answered after a check that *began* after it was heard. One check is on its way at a time, and answers all
//! that were heard before it began.

use std::time::Duration;

use crate::{Incarnation, Time};

/// How much later than the last a check begins at the earliest.
const PAUSE: Duration = Duration::from_millis(100);

/// A renewal: whose, and which.
pub(super) type Renewal = (Incarnation, u64);

#[derive(Default)]
pub(super) struct Authority {
    next_id: u64,
    checking: Option<(u64, Vec<Renewal>)>,
    waiting: Vec<Renewal>,
    not_before: Time,
}

impl Authority {
    pub(super) fn clear(&mut self) {
        self.checking = None;
        self.waiting.clear();
    }

    /// A renewal has been heard.
    pub(super) fn ask(&mut self, renewal: Renewal) {
        // Of several renewals of one run only the last matters.
        self.waiting
            .retain(|(incarnation, _)| *incarnation != renewal.0);
        self.waiting.push(renewal);
    }

    /// The check to begin now, if there is one to begin.
    pub(super) fn begin(&mut self, now: Time) -> Option<u64> {
        if self.checking.is_some() || self.waiting.is_empty() || now < self.not_before {
            return None;
        }
        self.next_id += 1;
        self.not_before = now + PAUSE;
        self.checking = Some((self.next_id, std::mem::take(&mut self.waiting)));
        Some(self.next_id)
    }

    pub(super) fn next_start(&self) -> Option<Time> {
        (self.checking.is_none() && !self.waiting.is_empty()).then_some(self.not_before)
    }

    /// The renewals that may be answered.
    pub(super) fn confirmed(&mut self, id: u64) -> Vec<Renewal> {
        match self.checking.take() {
            Some((current, renewals)) if current == id => renewals,
            other => {
                self.checking = other;
                Vec::new()
            }
        }
    }

    /// Nobody knows: those who asked will ask again.
    pub(super) fn failed(&mut self, id: u64) {
        self.confirmed(id);
    }
}
