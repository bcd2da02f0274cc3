//! `Trace`: what happened, as a number, and as text when somebody wants to read it.
//!
//! The number folds in every event of a schedule in order: two runs with the same number were the same run.

use std::collections::VecDeque;

use crate::agenda::{Moment, SECOND};

/// So many of the last events are kept for a report.
const KEPT: usize = 40;

/// Whether a schedule is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// Only the number.
    Nothing,
    /// The last events, for a report.
    TheLast,
    /// Every event to standard output, as it happens.
    Everything,
}

pub(crate) struct Trace {
    writing: Writing,
    hash: u64,
    events: u64,
    last: VecDeque<String>,
}

impl Trace {
    pub(crate) fn new(writing: Writing) -> Self {
        Self {
            writing,
            hash: 0xCBF2_9CE4_8422_2325,
            events: 0,
            last: VecDeque::new(),
        }
    }

    /// An event, with whatever tells it from others.
    pub(crate) fn event(&mut self, now: Moment, facts: [u64; 3], text: impl FnOnce() -> String) {
        self.events += 1;
        self.fold(now);
        for fact in facts {
            self.fold(fact);
        }
        self.write(now, text);
    }

    /// Something worth reading that is no event of its own.
    pub(crate) fn write(&mut self, now: Moment, text: impl FnOnce() -> String) {
        let stamp = |text: String| format!("{:>12.6}s {text}", now as f64 / SECOND as f64);
        match self.writing {
            Writing::Nothing => {}
            Writing::Everything => println!("{}", stamp(text())),
            Writing::TheLast => {
                self.last.push_back(stamp(text()));
                if self.last.len() > KEPT {
                    self.last.pop_front();
                }
            }
        }
    }

    fn fold(&mut self, fact: u64) {
        self.hash = (self.hash ^ fact).wrapping_mul(0x0000_0100_0000_01B3);
        self.hash ^= self.hash >> 29;
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    pub(crate) fn into_last(self) -> Vec<String> {
        self.last.into()
    }
}
