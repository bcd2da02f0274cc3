//! `Compaction`: a snapshot as it is stored, and what it lets us forget.

use std::collections::BTreeSet;

use ostrakon_core::{ControlState, Incarnation, Index, Snapshot};

use crate::StorageError;

/// A snapshot on its way into a place.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// The last entry that it contains.
    pub index: Index,
    /// The snapshot as JSON.
    pub text: String,
    members: BTreeSet<Incarnation>,
}

impl Compaction {
    /// What to do for a snapshot.
    pub fn of(snapshot: &Snapshot, place: &str) -> Result<Self, StorageError> {
        let unreadable = |error| unreadable(place, error);
        let text = serde_json::to_string(snapshot).map_err(|error| unreadable(error.into()))?;
        let state = ControlState::restore(snapshot.clone());
        let state = state.map_err(|error| unreadable(error.into()))?;
        Ok(Self {
            index: state.applied(),
            text,
            members: state
                .members()
                .map(|(incarnation, _)| incarnation)
                .collect(),
        })
    }

    /// Whether the lease of this run has to be kept: it is a member, or began after the snapshot.
    pub fn keeps(&self, incarnation: Incarnation) -> bool {
        incarnation > Incarnation::from(self.index) || self.members.contains(&incarnation)
    }

    /// The members of the snapshot.
    pub fn members(&self) -> impl Iterator<Item = Incarnation> {
        self.members.iter().copied()
    }

    /// A log that ends before the snapshot is not the one that it was made of.
    pub fn fits(&self, place: &str, last: Index) -> Result<(), StorageError> {
        match last < self.index {
            true => Err(StorageError::Shorter {
                place: place.to_owned(),
                last,
                seen: self.index,
            }),
            false => Ok(()),
        }
    }
}

fn unreadable(place: &str, source: crate::Cause) -> StorageError {
    StorageError::Unreadable {
        place: place.to_owned(),
        what: "the snapshot".to_owned(),
        source,
    }
}
