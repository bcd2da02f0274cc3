//! What can go wrong: starting, forming, and changing who votes.

use std::time::Duration;

use ostrakon_storage::Cause;
use thiserror::Error;

use crate::{NotLeading, Voice};

/// Why a voice could not be started. Nothing was changed, except perhaps for an empty file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The times do not fit each other.
    #[error("these times cannot work: {0}")]
    InvalidTimes(String),
    /// Another process has the file.
    #[error(
        "{place} is open already: stop the other process, or give this one a directory of its own"
    )]
    InUse {
        /// Which file.
        place: String,
    },
    /// The directory belongs to another cluster.
    #[error(
        "{place} belongs to cluster `{found}`, and this is `{wanted}`: check the data directory"
    )]
    OtherCluster {
        /// Which file.
        place: String,
        /// Whose it is.
        found: String,
        /// Who we are.
        wanted: String,
    },
    /// A later version has been here.
    #[error(
        "{place} has format {found}, and this version knows up to {known}: use a later version"
    )]
    NewerFormat {
        /// Which file.
        place: String,
        /// The format that lies there.
        found: u64,
        /// The latest that this version knows.
        known: u64,
    },
    /// It cannot be read or written.
    #[error("cannot open {place}: check that it can be written, and what is in it")]
    Disk {
        /// Which file.
        place: String,
        /// What was said.
        source: Cause,
    },
    /// The log that was found cannot be gone on with.
    #[error("the raft log cannot be started")]
    Log(#[source] Cause),
}

/// Why no cluster was formed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FormError {
    /// There is a log: it has been formed, or somebody let us in.
    #[error("this voice has a log already: it belongs to a cluster, and cannot form another")]
    HasLog,
    /// It has stopped.
    #[error("the raft log has stopped")]
    Stopped(#[source] Cause),
    /// It is not known whether it was formed. Forming again tells.
    #[error("forming did not end within {0:?}")]
    Late(Duration),
}

/// Why the voters are not, or not yet, those that were wanted. Asking for the same again goes on where it ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VotersError {
    /// Nobody may be left over.
    #[error("there must be a voter")]
    None,
    /// Only the leader can.
    #[error(transparent)]
    NotLeading(#[from] NotLeading),
    /// These were invited, but do not have the log yet. They stay invited.
    #[error("{} of those that shall vote have not caught up within {within:?}, the first is {}", behind.len(), first(behind))]
    Behind {
        /// Who.
        behind: Vec<Voice>,
        /// How long they had.
        within: Duration,
    },
    /// Another change is under way, of this leader or of the one before.
    #[error("the voters are being changed already: {0}")]
    Busy(String),
    /// It is not known whether this step was done.
    #[error("no majority of the voters has agreed within {0:?}")]
    Late(Duration),
    /// It has stopped.
    #[error("the raft log has stopped")]
    Stopped(#[source] Cause),
}

fn first(voices: &[Voice]) -> String {
    voices.first().map_or_else(String::new, Voice::to_string)
}
