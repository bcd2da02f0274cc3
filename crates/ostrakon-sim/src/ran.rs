//! `Ran`: what became of a schedule.

use crate::{agenda::Moment, tally::Tally, violation::Violation};

/// What became of a schedule.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The number of the trace.
    pub hash: u64,
    /// How many events there were.
    pub events: u64,
    /// How long it lasted, in simulated nanoseconds.
    pub lasted: Moment,
    /// What happened.
    pub tally: Tally,
    /// What should not have happened.
    pub violation: Option<Violation>,
    /// The last events, if they were kept.
    pub last: Vec<String>,
}
