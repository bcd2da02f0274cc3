//! `Memory`: the log of a process that needs none after its end. For tests, and for a cluster within one process.

use std::collections::BTreeMap;

use ostrakon_core::{Entry, Incarnation, Index, Snapshot, Term};
use tokio::sync::Mutex;

use crate::backend::{Batch, Compaction, Known, Limits, MOST_READ};
use crate::{
    Append, AppendError, BoxFuture, Head, Read, Renewal, Renewed, Storage, StorageError,
    StorageSettings,
};

const PLACE: &str = "memory";

/// A log in memory. Whoever shall see it shares this handle.
#[derive(Debug)]
pub struct Memory {
    log: Mutex<Log>,
    known: Known,
    settings: StorageSettings,
}

#[derive(Debug, Default)]
struct Log {
    snapshot: Option<(Index, Snapshot)>,
    /// Those behind the snapshot.
    entries: Vec<(Index, Entry)>,
    head: Head,
    leases: BTreeMap<Incarnation, Renewal>,
}

impl Memory {
    /// An empty log.
    pub fn new(settings: StorageSettings) -> Self {
        Self {
            log: Mutex::default(),
            known: Known::default(),
            settings,
        }
    }
}

impl Storage for Memory {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(async move {
            let batch = Batch::of(&append, PLACE, Limits::default())?;
            let mut log = self.log.lock().await;
            log.append(&append, &batch)?;
            self.known.hear(log.head.last);
            Ok(())
        })
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(async move { self.log.lock().await.read(behind) })
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        Box::pin(async move { Ok(self.log.lock().await.head) })
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(async move {
            let head = &mut self.log.lock().await.head;
            if head.term == term {
                head.beat = count;
            }
            Ok(())
        })
    }

    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let compaction = Compaction::of(snapshot, PLACE)?;
            self.log.lock().await.compact(snapshot, &compaction)
        })
    }

    fn changed(&self, behind: Index) -> BoxFuture<'_, ()> {
        Box::pin(self.known.changed(behind, self.settings.poll))
    }

    fn renew(
        &self,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> BoxFuture<'_, Result<Renewed, StorageError>> {
        Box::pin(async move {
            let leases = &mut self.log.lock().await.leases;
            let Some(lease) = leases.get_mut(&incarnation) else {
                return Ok(Renewed::Ended);
            };
            if lease.seq < renewal.seq {
                *lease = renewal;
            }
            Ok(Renewed::Counted)
        })
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        Box::pin(async move {
            let leases = &self.log.lock().await.leases;
            Ok(leases.iter().map(|(run, lease)| (*run, *lease)).collect())
        })
    }
}

impl Log {
    fn append(&mut self, append: &Append<'_>, batch: &Batch) -> Result<(), AppendError> {
        let Append {
            after,
            entries,
            unmoved,
        } = *append;
        if self.head.last != after {
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
        self.head.last = batch.last;
        if let Some(term) = batch.term {
            (self.head.term, self.head.beat) = (term, 0);
        }
        let begun = batch.begun.iter().map(|run| (*run, Renewal::default()));
        self.leases.extend(begun);
        for incarnation in &batch.ended {
            self.leases.remove(incarnation);
        }
        Ok(())
    }

    fn read(&self, behind: Index) -> Result<Read, StorageError> {
        if behind > self.head.last {
            return Err(StorageError::Shorter {
                place: PLACE.to_owned(),
                last: self.head.last,
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

    fn compact(
        &mut self,
        snapshot: &Snapshot,
        compaction: &Compaction,
    ) -> Result<(), StorageError> {
        compaction.fits(PLACE, self.head.last)?;
        let present = self.snapshot.as_ref().map(|(index, _)| *index);
        if present.is_some_and(|present| present >= compaction.index) {
            return Ok(());
        }
        self.snapshot = Some((compaction.index, snapshot.clone()));
        self.entries.retain(|(index, _)| *index > compaction.index);
        self.leases.retain(|run, _| compaction.keeps(*run));
        Ok(())
    }
}
