//! `Keeper`: carries out what is wanted of the storage, and reports what came of it.
//!
//! Everything runs beside the engine, so that a slow storage holds nobody up. At most one read is on its way; whoever wants the log
//! read while one is gets another one after it, which begins later than the wish.

use std::{sync::Arc, time::Duration};

use ostrakon_core::{AppendOutcome, ConfirmOutcome, Entry, Incarnation, Index, Snapshot, Term};
use ostrakon_storage::{Append, AppendError, Renewal, Storage};
use tokio::sync::mpsc;

use crate::engine::Input;

/// How long to leave a storage alone that could not be read.
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) struct Keeper {
    storage: Arc<dyn Storage>,
    inputs: mpsc::Sender<Input>,
    reading: Reading,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    No,
    /// One read is on its way.
    Once,
    /// Another is wanted after it.
    Again,
}

impl Keeper {
    pub(crate) fn new(storage: Arc<dyn Storage>, inputs: mpsc::Sender<Input>) -> Self {
        Self {
            storage,
            inputs,
            reading: Reading::No,
        }
    }

    /// Reads all that lies behind an index.
    pub(crate) fn read(&mut self, behind: Index) {
        if self.reading != Reading::No {
            self.reading = Reading::Again;
            return;
        }
        self.reading = Reading::Once;
        let (storage, inputs) = (Arc::clone(&self.storage), self.inputs.clone());
        tokio::spawn(async move {
            let read = read_all(storage.as_ref(), behind, &inputs).await;
            if let Err(error) = &read {
                tracing::warn!(error = %explained(error), "the log cannot be read");
                tokio::time::sleep(PAUSE).await;
            }
            let _ = inputs.send(Input::ReadEnded { ok: read.is_ok() }).await;
        });
    }

    /// A read is over. Returns whether nothing has to be read any more.
    pub(crate) fn read_ended(&mut self, ok: bool, behind: Index) -> bool {
        let again = self.reading == Reading::Again || !ok;
        self.reading = Reading::No;
        if again {
            self.read(behind);
        }
        !again
    }

    /// Appends, if these runs have not counted their leases any further.
    pub(crate) fn append(
        &self,
        id: u64,
        after: Index,
        entries: Vec<Entry>,
        unmoved: Vec<(Incarnation, Renewal)>,
    ) {
        let (storage, inputs) = (Arc::clone(&self.storage), self.inputs.clone());
        tokio::spawn(async move {
            let append = Append {
                after,
                entries: &entries,
                unmoved: &unmoved,
            };
            let result = storage.append(append).await;
            let outcome = match &result {
                Ok(()) => AppendOutcome::Done,
                Err(error) => {
                    tracing::warn!(error = %explained(error), "an append did not succeed");
                    outcome(error)
                }
            };
            let ended = Input::AppendEnded {
                id,
                after,
                entries,
                outcome,
            };
            let _ = inputs.send(ended).await;
        });
    }

    pub(crate) fn confirm(&self, id: u64, term: Term) {
        let (storage, inputs) = (Arc::clone(&self.storage), self.inputs.clone());
        tokio::spawn(async move {
            let outcome = match storage.head().await {
                Ok(head) if head.term == term => ConfirmOutcome::Confirmed,
                Ok(_) => ConfirmOutcome::Deposed,
                Err(error) => {
                    tracing::warn!(error = %explained(&error), "cannot find out who leads");
                    ConfirmOutcome::Unavailable
                }
            };
            let _ = inputs.send(Input::Confirmed { id, outcome }).await;
        });
    }

    /// Counts as the leader of this term.
    pub(crate) fn beat(&self, term: Term, count: u64) {
        let storage = Arc::clone(&self.storage);
        tokio::spawn(async move {
            if let Err(error) = storage.beat(term, count).await {
                tracing::warn!(error = %explained(&error), "cannot give a sign of life to other managers");
            }
        });
    }

    /// Looks whether somebody else leads.
    pub(crate) fn look(&self) {
        let (storage, inputs) = (Arc::clone(&self.storage), self.inputs.clone());
        tokio::spawn(async move {
            let head = storage.head().await;
            let _ = inputs.send(Input::Looked(head.ok())).await;
        });
    }

    /// Looks where the log ends.
    pub(crate) fn look_at_end(&self) {
        let (storage, inputs) = (Arc::clone(&self.storage), self.inputs.clone());
        tokio::spawn(async move {
            let head = storage.head().await;
            let end = head.ok().map(|head| head.last);
            let _ = inputs.send(Input::LogEnds(end)).await;
        });
    }

    /// Looks how far nodes have counted their leases.
    pub(crate) fn look_at_leases(&self) {
        let (storage, inputs) = (Arc::clone(&self.storage), self.inputs.clone());
        tokio::spawn(async move {
            match storage.leases().await {
                Ok(leases) => {
                    let _ = inputs.send(Input::Leases(leases)).await;
                }
                Err(error) => {
                    tracing::warn!(error = %explained(&error), "cannot look at the leases of nodes");
                }
            }
        });
    }

    pub(crate) fn compact(&self, snapshot: Snapshot) {
        let storage = Arc::clone(&self.storage);
        tokio::spawn(async move {
            if let Err(error) = storage.compact(&snapshot).await {
                tracing::warn!(error = %explained(&error), "the log could not be compacted; it is tried again later");
            }
        });
    }
}

/// Tells the engine whenever something may be new in the log.
pub(crate) async fn watch(
    storage: Arc<dyn Storage>,
    mut applied: tokio::sync::watch::Receiver<Index>,
    inputs: mpsc::Sender<Input>,
) {
    loop {
        let behind = *applied.borrow_and_update();
        tokio::select! {
            () = storage.changed(behind) => {
                if inputs.send(Input::LogMoved).await.is_err() {
                    return;
                }
                // Until the engine has read it, or found nothing there.
                let _ = tokio::time::timeout(PAUSE, applied.changed()).await;
            }
            changed = applied.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

async fn read_all(
    storage: &dyn Storage,
    behind: Index,
    inputs: &mpsc::Sender<Input>,
) -> Result<(), ostrakon_storage::StorageError> {
    let mut behind = behind;
    loop {
        let read = storage.read(behind).await?;
        let is_all = read.snapshot.is_none() && read.entries.is_empty();
        if is_all {
            return Ok(());
        }
        let last = read.entries.last().map(|(index, _)| *index);
        let of_snapshot = read.snapshot.as_ref().map(Snapshot::applied);
        behind = last.or(of_snapshot).unwrap_or(behind).max(behind);
        if inputs.send(Input::Read(read)).await.is_err() {
            return Ok(());
        }
    }
}

fn outcome(error: &AppendError) -> AppendOutcome {
    match error {
        AppendError::Conflict { .. } => AppendOutcome::Conflict,
        AppendError::Renewed { .. } => AppendOutcome::Renewed,
        AppendError::TooLarge { .. } => AppendOutcome::TooLarge,
        AppendError::Unavailable { .. } => AppendOutcome::Unavailable,
        // Whatever is added later: the log can tell.
        AppendError::Unknown { .. } | _ => AppendOutcome::Unknown,
    }
}

/// An error with all that caused it, on one line.
pub(crate) fn explained(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
