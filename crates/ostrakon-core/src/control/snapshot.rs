//! `Snapshot`: a state as it is stored or sent, so that a log need not be kept from its beginning.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ControlState;
use crate::Index;

/// The form that this version writes. It reads all earlier ones.
const FORMAT: u32 = 1;

/// A state and the form it is written in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    format: u32,
    state: ControlState,
}

/// A snapshot of a later version. It was not restored; use the version that wrote it, or a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the snapshot has format {format}, and this version reads up to {FORMAT}: use a later version"
)]
pub struct UnknownFormat {
    /// The format of the snapshot.
    pub format: u32,
}

impl Snapshot {
    /// The last entry that is in it.
    pub fn applied(&self) -> Index {
        self.state.applied()
    }
}

impl ControlState {
    /// The state as it can be stored.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            format: FORMAT,
            state: self.clone(),
        }
    }

    /// The state that was stored.
    pub fn restore(snapshot: Snapshot) -> Result<Self, UnknownFormat> {
        match snapshot.format {
            FORMAT => Ok(snapshot.state),
            format => Err(UnknownFormat { format }),
        }
    }
}
