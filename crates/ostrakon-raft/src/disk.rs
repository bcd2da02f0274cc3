//! `Disk`: the file in a voice's data directory, and the thread that writes it.
//!
//! Whatever waits is written in one transaction, in the order in which it was handed over, and nobody is told before it is on the disk. After
//! an error nothing more is written: the consensus stops, because it cannot know what of its promises is still there.

mod tables;

use std::io;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use openraft::storage::IOFlushed;
use redb::Database;
use tokio::sync::oneshot;

use crate::type_config::{LogId, SnapshotData, SnapshotMeta, TypeConfig, Vote};
use crate::{StartError, codec};
use tables::Write;
pub(crate) use tables::{StoredLog, StoredSnapshot};

const FILE: &str = "raft.redb";

/// A handle to the thread. The file is closed after the last one has gone, or when it is told to.
#[derive(Clone, Debug)]
pub(crate) struct Disk(mpsc::Sender<Job>);

/// What was found in the file.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) id: u64,
    pub(crate) log: StoredLog,
    pub(crate) snapshot: Option<StoredSnapshot>,
}

enum Job {
    Write(Write, Told),
    Close(oneshot::Sender<()>),
}

/// Who learns when it has been written.
enum Told {
    Nobody,
    Caller(oneshot::Sender<io::Result<()>>),
    Consensus(IOFlushed<TypeConfig>),
}

impl Disk {
    /// Opens the file of a directory, or makes both; `id` is who we are if nobody was there before.
    pub(crate) async fn open(
        directory: &Path,
        cluster: &str,
        id: u64,
    ) -> Result<(Self, Found), StartError> {
        let path = directory.join(FILE);
        let place = path.display().to_string();
        let cluster = cluster.to_owned();
        let opening = tokio::task::spawn_blocking(move || {
            let database = tables::open(&path)?;
            Self::of(database, &path.display().to_string(), &cluster, id)
        });
        opening.await.unwrap_or_else(|error| {
            let source = error.into();
            Err(StartError::Disk { place, source })
        })
    }

    /// Starts the thread that writes.
    fn of(
        database: Database,
        place: &str,
        cluster: &str,
        id: u64,
    ) -> Result<(Self, Found), StartError> {
        let found = tables::find(&database, place, cluster, id)?;
        let (jobs, queue) = mpsc::channel();
        let thread = thread::Builder::new().name("ostrakon-raft".to_owned());
        let started = thread.spawn(move || work(database, &queue));
        started.map_err(|error| StartError::Disk {
            place: place.to_owned(),
            source: error.into(),
        })?;
        Ok((Self(jobs), found))
    }

    /// One that is as fast as memory, and gone with it.
    #[cfg(test)]
    pub(crate) fn in_memory() -> (Self, Found) {
        let memory = redb::backends::InMemoryBackend::new();
        let database = Database::builder().create_with_backend(memory);
        let database = database.expect("memory does not fail");
        Self::of(database, "memory", "test", 1).expect("it is new")
    }

    pub(crate) async fn save_vote(&self, vote: Vote) -> io::Result<()> {
        self.write(Write::Vote(codec::encode(&vote)?)).await
    }

    /// Soon: it saves time after a restart, and nothing depends on it.
    pub(crate) fn save_committed(&self, committed: LogId) -> io::Result<()> {
        let write = Write::Committed(codec::encode(&committed)?);
        self.send(Job::Write(write, Told::Nobody))
    }

    pub(crate) fn append(
        &self,
        entries: Vec<(u64, Vec<u8>)>,
        written: IOFlushed<TypeConfig>,
    ) -> io::Result<()> {
        self.send(Job::Write(Write::Append(entries), Told::Consensus(written)))
    }

    pub(crate) async fn truncate(&self, from: u64) -> io::Result<()> {
        self.write(Write::Truncate(from)).await
    }

    pub(crate) async fn purge(&self, upto: LogId) -> io::Result<()> {
        let last = codec::encode(&upto)?;
        let upto = upto.index;
        self.write(Write::Purge { upto, last }).await
    }

    pub(crate) async fn save_snapshot(
        &self,
        meta: SnapshotMeta,
        data: SnapshotData,
    ) -> io::Result<()> {
        let meta = codec::encode(&meta)?;
        self.write(Write::Snapshot { meta, data }).await
    }

    /// Writes what waits and closes the file; whatever comes later fails.
    pub(crate) async fn close(&self) {
        let (closed, is_closed) = oneshot::channel();
        if self.send(Job::Close(closed)).is_ok() {
            // An error means that the thread has ended, which closed it as well.
            let _ = is_closed.await;
        }
    }

    async fn write(&self, write: Write) -> io::Result<()> {
        let (told, answer) = oneshot::channel();
        self.send(Job::Write(write, Told::Caller(told)))?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    fn send(&self, job: Job) -> io::Result<()> {
        self.0.send(job).map_err(|_| closed())
    }
}

fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::BrokenPipe,
        "the file of the raft log is closed",
    )
}

fn work(database: Database, queue: &mpsc::Receiver<Job>) {
    while let Ok(first) = queue.recv() {
        let (mut writes, mut told) = (Vec::new(), Vec::new());
        let mut closing = None;
        for job in std::iter::once(first).chain(queue.try_iter()) {
            match job {
                Job::Write(write, who) => {
                    writes.push(write);
                    told.push(who);
                }
                Job::Close(closed) => {
                    closing = Some(closed);
                    break;
                }
            }
        }
        let result = tables::write(&database, &writes).map_err(Arc::new);
        for who in told {
            who.tell(&result);
        }
        if let Some(closed) = closing {
            drop(database);
            // Whoever told us to has gone.
            let _ = closed.send(());
            return;
        }
        if result.is_err() {
            return;
        }
    }
}

impl Told {
    fn tell(self, result: &Result<(), Arc<redb::Error>>) {
        let result = match result {
            Ok(()) => Ok(()),
            Err(error) => Err(io::Error::other(Arc::clone(error))),
        };
        match self {
            Self::Nobody => {}
            // Nobody waits any more, which is the caller's affair.
            Self::Caller(caller) => drop(caller.send(result)),
            Self::Consensus(written) => written.io_completed(result),
        }
    }
}
