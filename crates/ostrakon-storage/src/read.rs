//! `Read` and `Head`: what lies in the log, and how far it goes.

use ostrakon_core::{Entry, Index, Snapshot, Term};

/// What lies behind an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The state to begin with, if entries that were asked for are no longer there one by one.
    pub snapshot: Option<Snapshot>,
    /// The entries that follow, without a gap.
    pub entries: Vec<(Index, Entry)>,
}

/// The end of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The last entry.
    pub last: Index,
    /// The newest takeover.
    pub term: Term,
    /// How far its leader has counted; zero until it begins.
    pub beat: u64,
}
