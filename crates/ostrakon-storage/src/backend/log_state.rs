//! `LogState`: a whole log as a value, with everything that the calls of a [`Storage`](crate::Storage) do to it.
//!
//! For backends that keep the log themselves and only bring the calls into an order: a mutex, or consensus. It waits for nothing and
//! looks at no clock, so the same calls in the same order give the same state everywhere.

use std::collections::BTreeMap;

use ostrakon_core::{ControlState, Entry, Incarnation, Index, Snapshot, Term, UnknownFormat};
use serde::{Deserialize, Serialize};

use super::{Batch, Compaction, MOST_READ};
use crate::{Append, AppendError, Head, Read, Renewal, Renewed, StorageError};

/// Entries, snapshot, head and leases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogState {
    snapshot: Option<(Index, Snapshot)>,
    /// Those behind the snapshot.
    entries: Vec<(Index, Entry)>,
    last: Index,
    term: Term,
    beat: u64,
    leases: BTreeMap<Incarnation, Renewal>,
}

impl LogState {
    /// Appends, or says why not; then nothing has changed. The batch is that of the append.
    pub fn append(&mut self, append: &Append<'_>, batch: &Batch) -> Result<(), AppendError> {
        let Append {
            after,
            entries,
            unmoved,
        } = *append;
        if self.last != after {
            return Err(AppendError::Conflict { after });
        }
        for (incarnation, seen) in unmoved {
            if self.leases.get(incarnation) != Some(seen) {
                let incarnation = *incarnation;
                return Err(AppendError::Renewed { incarnation });
            }
        }
        let indexes = batch.entries.iter().map(|(index, _)| *index);
        self.entries.extend(indexes.zip(entries.iter().cloned()));
        self.last = batch.last;
        if let Some(term) = batch.term {
            (self.term, self.beat) = (term, 0);
        }
        let begun = batch.begun.iter().map(|run| (*run, Renewal::default()));
        self.leases.extend(begun);
        for incarnation in &batch.ended {
            self.leases.remove(incarnation);
        }
        Ok(())
    }

    /// Part of what lies behind an index.
    pub fn read(&self, behind: Index, place: &str) -> Result<Read, StorageError> {
        if behind > self.last {
            return Err(StorageError::Shorter {
                place: place.to_owned(),
                last: self.last,
                seen: behind,
            });
        }
        let snapshot = self.snapshot.as_ref().filter(|(index, _)| behind < *index);
        let start = self.entries.partition_point(|(index, _)| *index <= behind);
        let entries = self.entries[start..].iter().take(MOST_READ);
        Ok(Read {
            snapshot: snapshot.map(|(_, snapshot)| snapshot.clone()),
            entries: entries.cloned().collect(),
        })
    }

    /// Where the log ends, and who leads.
    pub fn head(&self) -> Head {
        Head {
            last: self.last,
            term: self.term,
            beat: self.beat,
        }
    }

    /// The leader of this term has counted so far.
    pub fn beat(&mut self, term: Term, count: u64) {
        if self.term == term {
            self.beat = count;
        }
    }

    /// A node counts its lease up.
    pub fn renew(&mut self, incarnation: Incarnation, renewal: Renewal) -> Renewed {
        let Some(lease) = self.leases.get_mut(&incarnation) else {
            return Renewed::Ended;
        };
        if lease.seq < renewal.seq {
            *lease = renewal;
        }
        Renewed::Counted
    }

    /// All leases, in the order of their runs.
    pub fn leases(&self) -> Vec<(Incarnation, Renewal)> {
        let leases = self.leases.iter();
        leases.map(|(run, lease)| (*run, *lease)).collect()
    }

    /// Puts a snapshot in the place of what it contains, unless there is a later one.
    pub fn compact(
        &mut self,
        snapshot: &Snapshot,
        compaction: &Compaction,
        place: &str,
    ) -> Result<(), StorageError> {
        compaction.fits(place, self.last)?;
        let present = self.snapshot.as_ref().map(|(index, _)| *index);
        if present.is_some_and(|present| present >= compaction.index) {
            return Ok(());
        }
        self.snapshot = Some((compaction.index, snapshot.clone()));
        self.entries.retain(|(index, _)| *index > compaction.index);
        self.leases.retain(|run, _| compaction.keeps(*run));
        Ok(())
    }

    /// The snapshot that whoever has applied the log up to an index would make; of the present one if that is later, and of the whole
    /// log if it ends before.
    pub fn snapshot_at(&self, index: Index) -> Result<Snapshot, UnknownFormat> {
        let mut state = match &self.snapshot {
            Some((_, snapshot)) => ControlState::restore(snapshot.clone())?,
            None => ControlState::default(),
        };
        let contained = self.entries.iter().take_while(|(at, _)| *at <= index);
        for (at, entry) in contained {
            state.apply(*at, entry);
        }
        Ok(state.snapshot())
    }
}
