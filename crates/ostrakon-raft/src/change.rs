//! `Change`: a call of the storage that has to be agreed on, and `Outcome`, what came of it.
//!
//! Both are the same on every voice, because they depend on nothing but the state and the change. A compaction carries only how far it goes:
//! everybody has the entries, and a state that may be large need not travel.

use std::fmt;

use ostrakon_core::{Entry, Incarnation, Index, Term};
use ostrakon_storage::backend::{Batch, Compaction, Limits, LogState};
use ostrakon_storage::{Append, AppendError, Renewal, Renewed, StorageError};
use serde::{Deserialize, Serialize};

/// What is agreed on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Change {
    Append {
        after: Index,
        entries: Vec<Entry>,
        unmoved: Vec<(Incarnation, Renewal)>,
    },
    Beat {
        term: Term,
        count: u64,
    },
    Compact {
        upto: Index,
    },
    Renew {
        incarnation: Incarnation,
        renewal: Renewal,
    },
}

/// What it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Done,
    /// The log does not end there.
    Conflict,
    /// The lease of this run is not so.
    Moved(Incarnation),
    /// The log ends here, before what was to be compacted.
    Shorter(Index),
    /// There is no such lease.
    Ended,
}

/// At apply nothing is too large any more.
const ANY_SIZE: Limits = Limits {
    entries: usize::MAX,
    bytes: usize::MAX,
};

impl Change {
    pub(crate) fn apply(&self, log: &mut LogState) -> Outcome {
        match self {
            Self::Append {
                after,
                entries,
                unmoved,
            } => {
                let append = Append {
                    after: *after,
                    entries,
                    unmoved,
                };
                outcome_of(append, log)
            }
            Self::Beat { term, count } => {
                log.beat(*term, *count);
                Outcome::Done
            }
            Self::Compact { upto } => compact(*upto, log),
            Self::Renew {
                incarnation,
                renewal,
            } => match log.renew(*incarnation, *renewal) {
                Renewed::Counted => Outcome::Done,
                Renewed::Ended => Outcome::Ended,
            },
        }
    }
}

fn outcome_of(append: Append<'_>, log: &mut LogState) -> Outcome {
    let batch = Batch::of(&append, "", ANY_SIZE);
    match batch.and_then(|batch| log.append(&append, &batch)) {
        Ok(()) => Outcome::Done,
        Err(AppendError::Renewed { incarnation }) => Outcome::Moved(incarnation),
        Err(_) => Outcome::Conflict,
    }
}

/// A snapshot of a later version cannot be gone on with: its entries stay, which is the same state in other words.
fn compact(upto: Index, log: &mut LogState) -> Outcome {
    let last = log.head().last;
    if upto > last {
        return Outcome::Shorter(last);
    }
    let Ok(snapshot) = log.snapshot_at(upto) else {
        return Outcome::Done;
    };
    let compacted: Result<(), StorageError> = Compaction::of(&snapshot, "")
        .and_then(|compaction| log.compact(&snapshot, &compaction, ""));
    match compacted {
        Ok(()) => Outcome::Done,
        Err(_) => Outcome::Shorter(last),
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append { after, entries, .. } => {
                write!(f, "append {} behind {after}", entries.len())
            }
            Self::Beat { count, .. } => write!(f, "beat {count}"),
            Self::Compact { upto } => write!(f, "compact up to {upto}"),
            Self::Renew { incarnation, .. } => write!(f, "renew {incarnation}"),
        }
    }
}
