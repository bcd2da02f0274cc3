//! `Renewal`: how far a node has counted its lease up.

use serde::{Deserialize, Serialize};

/// The state of a lease. It says nothing of time: whoever watches it counts on its own clock since it last moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// Counts the renewals of this run.
    pub seq: u64,
    /// The last renewal that the node knows to have been counted.
    pub ok_seq: u64,
}

/// What came of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// It counts.
    Counted,
    /// There is no such lease: the run has been ended, or never began. What it held may be somebody else's.
    Ended,
}
