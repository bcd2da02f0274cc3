//! `Worker`: the thread that has the file.
//!
//! After an error of the disk the database closes itself. It is opened again for the next job, so that a full disk that has been cleared
//! needs no restart. A job whose caller has gone before it began is not begun.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::{fmt, io, thread};

use redb::{Database, DatabaseError};
use thiserror::Error;
use tokio::sync::oneshot;

use crate::backend::NoAnswer;

/// How the file is opened, the first time and after an error.
pub(super) type Open = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// So many may wait: callers beyond that are told at once.
const MOST_WAITING: usize = 1024;

pub(super) struct Worker {
    /// `None` while it is dropped, which ends the thread.
    jobs: Option<mpsc::SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

type Job = Box<dyn FnOnce(Result<&Database, DatabaseError>) -> After + Send>;

/// What to do with the database after a job.
enum After {
    Keep,
    Close,
}

/// Why a job has no result.
#[derive(Debug, Error)]
pub(super) enum Broken {
    #[error("it cannot be opened")]
    Closed(#[source] DatabaseError),
    #[error("the disk fails")]
    Failed(#[source] redb::Error),
    #[error("it is busy with {MOST_WAITING} other calls")]
    Busy,
    #[error("its thread has ended")]
    Ended,
    #[error(transparent)]
    Late(NoAnswer),
}

impl Broken {
    /// Whether the job was not even begun, and will not be.
    pub(super) fn surely_did_nothing(&self) -> bool {
        match self {
            Self::Closed(_) | Self::Busy => true,
            Self::Failed(_) | Self::Ended | Self::Late(_) => false,
        }
    }
}

impl Worker {
    pub(super) fn start(open: Open) -> io::Result<Self> {
        let (jobs, queue) = mpsc::sync_channel(MOST_WAITING);
        let thread = thread::Builder::new()
            .name("ostrakon-storage".to_owned())
            .spawn(move || work(&open, &queue))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Does something with the database on its thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Database) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, Broken> {
        let (answer, answered) = oneshot::channel();
        let jobs = self.jobs.as_ref().expect("it is not being dropped");
        let queued = jobs.try_send(Box::new(move |database| perform(database, job, answer)));
        match queued {
            Ok(()) => answered.await.unwrap_or(Err(Broken::Ended)),
            Err(mpsc::TrySendError::Full(_)) => Err(Broken::Busy),
            Err(mpsc::TrySendError::Disconnected(_)) => Err(Broken::Ended),
        }
    }
}

/// Whoever opens the file again right after this shall find it closed.
impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // It has panicked: the callers of then were told.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker")
    }
}

fn work(open: &Open, queue: &mpsc::Receiver<Job>) {
    let mut database = None;
    for job in queue {
        let opened = match database.take() {
            Some(database) => Ok(database),
            None => open(),
        };
        match opened {
            Ok(opened) => match job(Ok(&opened)) {
                After::Keep => database = Some(opened),
                After::Close => {}
            },
            Err(error) => {
                job(Err(error));
            }
        }
    }
}

fn perform<T>(
    database: Result<&Database, DatabaseError>,
    job: impl FnOnce(&Database) -> Result<T, redb::Error>,
    answer: oneshot::Sender<Result<T, Broken>>,
) -> After {
    if answer.is_closed() {
        return After::Keep;
    }
    let result = match database {
        Ok(database) => job(database).map_err(Broken::Failed),
        Err(error) => Err(Broken::Closed(error)),
    };
    let after = match &result {
        Ok(_) => After::Keep,
        Err(_) => After::Close,
    };
    // Nobody waits any more, which is the caller's affair.
    let _ = answer.send(result);
    after
}
