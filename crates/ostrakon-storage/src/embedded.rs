//! `Embedded`: the log in one file, for a manager without a server beside it.
//!
//! What is acknowledged is on the disk. The file belongs to one process at a time; that also makes one handle of this process enough, and
//! whoever shall see the log shares it. File access blocks, so it has a [thread](worker::Worker) of its own.

mod appending;
mod tables;
#[cfg(test)]
mod tests;
mod worker;

use std::path::Path;
use std::sync::Arc;

use ostrakon_core::{Incarnation, Index, Snapshot, Term};
use redb::{Database, DatabaseError};

use crate::backend::{Batch, Compaction, FORMAT, Known, Limits, NoAnswer};
use crate::{
    Append, AppendError, BoxFuture, Cause, Head, OpenError, Read, Renewal, Renewed, Storage,
    StorageError, StorageSettings,
};
use appending::Written;
use tables::Tables;
use worker::{Broken, Open, Worker};

/// A log in a file. The file is closed when this is dropped.
#[derive(Debug)]
pub struct Embedded {
    place: Arc<str>,
    tables: Tables,
    worker: Worker,
    known: Known,
    settings: StorageSettings,
}

impl Embedded {
    /// Opens the file, or creates it.
    pub async fn open(
        path: &Path,
        cluster: &str,
        settings: StorageSettings,
    ) -> Result<Self, OpenError> {
        let place = path.display().to_string();
        let path = path.to_owned();
        let open = Box::new(move || Database::create(&path));
        Self::open_with(open, place, cluster, settings).await
    }

    async fn open_with(
        open: Open,
        place: String,
        cluster: &str,
        settings: StorageSettings,
    ) -> Result<Self, OpenError> {
        let unavailable = |source: Cause| OpenError::Unavailable {
            place: place.clone(),
            source,
        };
        let worker = Worker::start(open).map_err(|error| unavailable(error.into()))?;
        let storage = Self {
            place: place.as_str().into(),
            tables: Tables::of(cluster),
            worker,
            known: Known::default(),
            settings,
        };
        let tables = storage.tables.clone();
        match storage.run(move |database| tables.create(database)).await {
            Ok((FORMAT, head)) => storage.known.hear(head.last),
            Ok((found, _)) => {
                let known = FORMAT;
                return Err(OpenError::NewerFormat {
                    place,
                    found,
                    known,
                });
            }
            Err(Broken::Closed(DatabaseError::DatabaseAlreadyOpen)) => {
                return Err(OpenError::InUse { place });
            }
            Err(broken) => return Err(unavailable(broken.into())),
        }
        Ok(storage)
    }

    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Database) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, Broken> {
        let deadline = self.settings.deadline;
        let ended = tokio::time::timeout(deadline, self.worker.run(job)).await;
        ended.unwrap_or(Err(Broken::Late(NoAnswer(deadline))))
    }

    async fn call<T: Send + 'static>(
        &self,
        tried: &'static str,
        job: impl FnOnce(&Database) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, StorageError> {
        let ended = self.run(job).await;
        ended.map_err(|broken| StorageError::Unavailable {
            place: self.place.to_string(),
            tried,
            source: broken.into(),
        })
    }
}

impl Storage for Embedded {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(async move {
            let batch = Batch::of(&append, &self.place, Limits::default())?;
            let (after, last) = (append.after, batch.last);
            let unmoved = append.unmoved.to_vec();
            let tables = self.tables.clone();
            let written =
                self.run(move |database| tables.append(database, after, &batch, &unmoved));
            let place = self.place.to_string();
            match written.await {
                Ok(Written::Done) => self.known.hear(last),
                Ok(Written::Conflict) => return Err(AppendError::Conflict { after }),
                Ok(Written::Renewed(incarnation)) => {
                    return Err(AppendError::Renewed { incarnation });
                }
                Ok(Written::NotAtAll(error)) => {
                    let source = error.into();
                    return Err(AppendError::Unavailable { place, source });
                }
                Err(broken) if broken.surely_did_nothing() => {
                    let source = broken.into();
                    return Err(AppendError::Unavailable { place, source });
                }
                Err(broken) => {
                    let source = broken.into();
                    return Err(AppendError::Unknown { place, source });
                }
            }
            Ok(())
        })
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(async move {
            let tables = self.tables.clone();
            let found = self.call("read", move |database| tables.read(database, behind));
            let found = found.await?;
            self.known.hear(found.last);
            found.parse(&self.place, behind)
        })
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        let tables = self.tables.clone();
        Box::pin(self.call("read", move |database| tables.head(database)))
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        let tables = self.tables.clone();
        Box::pin(self.call("write to", move |database| {
            tables.beat(database, term, count)
        }))
    }

    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let compaction = Arc::new(Compaction::of(snapshot, &self.place)?);
            let (tables, wanted) = (self.tables.clone(), Arc::clone(&compaction));
            let last = self.call("write to", move |database| {
                tables.compact(database, &wanted)
            });
            compaction.fits(&self.place, last.await?)
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
        let tables = self.tables.clone();
        Box::pin(self.call("write to", move |database| {
            tables.renew(database, incarnation, renewal)
        }))
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        let tables = self.tables.clone();
        Box::pin(self.call("read", move |database| tables.leases(database)))
    }
}
