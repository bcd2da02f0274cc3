//! `Memory`: the log of a process that needs none after its end. For tests, and for a cluster within one process.

use ostrakon_core::{Incarnation, Index, Snapshot, Term};
use tokio::sync::Mutex;

use crate::backend::{Batch, Compaction, Known, Limits, LogState};
use crate::{
    Append, AppendError, BoxFuture, Head, Read, Renewal, Renewed, Storage, StorageError,
    StorageSettings,
};

const PLACE: &str = "memory";

/// A log in memory. Whoever shall see it shares this handle.
#[derive(Debug)]
pub struct Memory {
    log: Mutex<LogState>,
    known: Known,
    settings: StorageSettings,
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
            self.known.hear(log.head().last);
            Ok(())
        })
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(async move { self.log.lock().await.read(behind, PLACE) })
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        Box::pin(async move { Ok(self.log.lock().await.head()) })
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(async move {
            self.log.lock().await.beat(term, count);
            Ok(())
        })
    }

    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let compaction = Compaction::of(snapshot, PLACE)?;
            let mut log = self.log.lock().await;
            log.compact(snapshot, &compaction, PLACE)
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
        Box::pin(async move { Ok(self.log.lock().await.renew(incarnation, renewal)) })
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        Box::pin(async move { Ok(self.log.lock().await.leases()) })
    }
}
