//! `RaftLog` as a [`Storage`]: what changes the log is agreed on, what only looks at it is answered here.
//!
//! An error says what is known. A change that the consensus did not take was surely not made; one that it took may be made as long as nobody
//! has heard its outcome.

use openraft::ReadPolicy;
use openraft::errors::{ClientWriteError, LinearizableReadError, RaftError};
use ostrakon_core::{Incarnation, Index, Snapshot, Term};
use ostrakon_storage::backend::{Batch, Compaction, Limits, NoAnswer};
use ostrakon_storage::{
    Append, AppendError, BoxFuture, Cause, Head, Read, Renewal, Renewed, Storage, StorageError,
};

use crate::type_config::TypeConfig;
use crate::{Change, MOST_APPEND, NotLeading, Outcome, RaftLog};

const LIMITS: Limits = Limits {
    entries: 8192,
    bytes: MOST_APPEND,
};

/// Why a change has no outcome.
enum Failed {
    NotMade(Cause),
    Unknown(Cause),
}

impl RaftLog {
    async fn agree(&self, change: Change) -> Result<Outcome, Failed> {
        let deadline = self.settings.storage.deadline;
        let agreed = self.raft.client_write(change);
        match tokio::time::timeout(deadline, agreed).await {
            Ok(Ok(written)) => Ok(written.data),
            Ok(Err(error)) => Err(failed(error)),
            Err(_) => Err(Failed::Unknown(NoAnswer(deadline).into())),
        }
    }

    async fn change(&self, change: Change) -> Result<Outcome, StorageError> {
        let agreed = self.agree(change).await;
        agreed.map_err(|failed| {
            let (Failed::NotMade(source) | Failed::Unknown(source)) = failed;
            self.unavailable("write to", source)
        })
    }

    /// Returns when everything that was agreed on before has been applied here, and this was the leader meanwhile.
    async fn confirm(&self) -> Result<(), StorageError> {
        let deadline = self.settings.storage.deadline;
        let confirmed = self.raft.ensure_linearizable(ReadPolicy::ReadIndex);
        let source: Cause = match tokio::time::timeout(deadline, confirmed).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(RaftError::APIError(LinearizableReadError::ForwardToLeader(forward)))) => {
                NotLeading::from(&forward).into()
            }
            Ok(Err(RaftError::APIError(LinearizableReadError::QuorumNotEnough(_)))) => {
                NotLeading::Unconfirmed.into()
            }
            Ok(Err(RaftError::Fatal(fatal))) => fatal.into(),
            Err(_) => NoAnswer(deadline).into(),
        };
        Err(self.unavailable("confirm", source))
    }

    fn unavailable(&self, tried: &'static str, source: Cause) -> StorageError {
        let place = self.place.clone();
        StorageError::Unavailable {
            place,
            tried,
            source,
        }
    }
}

/// Refused is only what was never in anybody's log.
fn failed(error: RaftError<TypeConfig, ClientWriteError<TypeConfig>>) -> Failed {
    match error {
        RaftError::APIError(ClientWriteError::ForwardToLeader(forward)) => {
            Failed::NotMade(NotLeading::from(&forward).into())
        }
        RaftError::APIError(ClientWriteError::LogEntryDiscarded(forward)) => {
            Failed::Unknown(NotLeading::from(&forward).into())
        }
        RaftError::APIError(other) => Failed::Unknown(other.into()),
        RaftError::Fatal(fatal) => Failed::Unknown(fatal.into()),
    }
}

impl Storage for RaftLog {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(async move {
            Batch::of(&append, &self.place, LIMITS)?;
            let change = Change::Append {
                after: append.after,
                entries: append.entries.to_vec(),
                unmoved: append.unmoved.to_vec(),
            };
            let place = self.place.clone();
            match self.agree(change).await {
                Ok(Outcome::Moved(incarnation)) => Err(AppendError::Renewed { incarnation }),
                Ok(Outcome::Done) => Ok(()),
                Ok(Outcome::Conflict | Outcome::Shorter(_) | Outcome::Ended) => {
                    let after = append.after;
                    Err(AppendError::Conflict { after })
                }
                Err(Failed::NotMade(source)) => Err(AppendError::Unavailable { place, source }),
                Err(Failed::Unknown(source)) => Err(AppendError::Unknown { place, source }),
            }
        })
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(async move { self.applied.log().read(behind, &self.place) })
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        Box::pin(async move {
            self.confirm().await?;
            Ok(self.applied.log().head())
        })
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(async move {
            self.change(Change::Beat { term, count }).await?;
            Ok(())
        })
    }

    /// Everybody makes the snapshot of the entries that are there, which is the same one.
    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let compaction = Compaction::of(snapshot, &self.place)?;
            let upto = compaction.index;
            match self.change(Change::Compact { upto }).await? {
                Outcome::Shorter(last) => compaction.fits(&self.place, last),
                Outcome::Done | Outcome::Conflict | Outcome::Moved(_) | Outcome::Ended => Ok(()),
            }
        })
    }

    fn changed(&self, behind: Index) -> BoxFuture<'_, ()> {
        let poll = self.settings.storage.poll;
        Box::pin(self.applied.known.changed(behind, poll))
    }

    fn renew(
        &self,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> BoxFuture<'_, Result<Renewed, StorageError>> {
        Box::pin(async move {
            let change = Change::Renew {
                incarnation,
                renewal,
            };
            match self.change(change).await? {
                Outcome::Done => Ok(Renewed::Counted),
                Outcome::Ended | Outcome::Conflict | Outcome::Moved(_) | Outcome::Shorter(_) => {
                    Ok(Renewed::Ended)
                }
            }
        })
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        Box::pin(async move {
            self.confirm().await?;
            Ok(self.applied.log().leases())
        })
    }
}
