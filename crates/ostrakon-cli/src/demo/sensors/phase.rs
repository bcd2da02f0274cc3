//! `Plan`: when what happens; `Figures`: what was measured in one phase of it.

use std::time::{Duration, Instant};

use crate::demo::tally::Tally;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is done to the cluster: the first half.
    Before,
    /// A node is killed and another one joins: the third quarter.
    During,
    /// The last quarter.
    After,
}

/// When what happens.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) began: Instant,
    pub(crate) run_for: Duration,
}

impl Plan {
    /// The phase in which a reading is due; `None` when all is over.
    pub(crate) fn phase(&self, due: Instant) -> Option<Phase> {
        let phases = [Phase::Before, Phase::During, Phase::After];
        phases.into_iter().find(|phase| due < self.end(*phase))
    }

    pub(crate) fn end(&self, phase: Phase) -> Instant {
        self.began
            + match phase {
                Phase::Before => self.run_for / 2,
                Phase::During => self.run_for / 4 * 3,
                Phase::After => self.run_for,
            }
    }

    pub(crate) fn ends(&self) -> Instant {
        self.end(Phase::After)
    }

    pub(crate) fn seconds(&self, phase: Phase) -> f64 {
        let part = match phase {
            Phase::Before => 0.5,
            Phase::During | Phase::After => 0.25,
        };
        self.run_for.as_secs_f64() * part
    }
}

/// What was measured in one phase.
#[derive(Default)]
pub(crate) struct Figures {
    /// Those that were due.
    pub(crate) readings: u64,
    /// Those that were answered within a second of being due.
    pub(crate) on_time: u64,
    pub(crate) tally: Tally,
}
