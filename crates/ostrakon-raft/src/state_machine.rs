//! `StateMachine`: the control log as the agreed changes made it.
//!
//! It lies in memory; what brings it back after a restart is its last snapshot and the log of the consensus behind that. Readers look at the
//! same state through [`Applied`].

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{Stream, TryStreamExt};
use openraft::storage::{EntryResponder, RaftStateMachine};
use openraft::{EntryPayload, OptionalSend, RaftSnapshotBuilder};
use ostrakon_storage::backend::{Known, LogState};

use crate::codec;
use crate::disk::Disk;
use crate::type_config::{LogId, Membership, Snapshot, SnapshotData, SnapshotMeta, TypeConfig};
use crate::{Outcome, disk};

/// What has been applied here. Whoever reads it may be behind the others.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    state: Mutex<State>,
    pub(crate) known: Known,
}

#[derive(Debug, Default)]
struct State {
    /// Shared with snapshots that are being made, so that these hold nobody up.
    log: Arc<LogState>,
    last: Option<LogId>,
    membership: Membership,
}

impl Applied {
    pub(crate) fn log(&self) -> Arc<LogState> {
        Arc::clone(&self.lock().log)
    }

    pub(crate) fn last_index(&self) -> Option<u64> {
        self.lock().last.map(|last| last.index)
    }

    /// A panic while it was held is the consensus's end anyway, and is reported there.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, log: LogState, meta: &SnapshotMeta) {
        let last = log.head().last;
        *self.lock() = State {
            log: Arc::new(log),
            last: meta.last_log_id,
            membership: meta.last_membership.clone(),
        };
        self.known.hear(last);
    }
}

/// The side of the consensus.
#[derive(Clone, Debug)]
pub(crate) struct StateMachine {
    applied: Arc<Applied>,
    current: Arc<Mutex<Option<Snapshot>>>,
    disk: Option<Disk>,
}

impl StateMachine {
    /// As the last snapshot left it.
    pub(crate) fn new(
        disk: Option<Disk>,
        stored: Option<disk::StoredSnapshot>,
    ) -> io::Result<Self> {
        let machine = Self {
            applied: Arc::default(),
            current: Arc::default(),
            disk,
        };
        if let Some(stored) = stored {
            let log = codec::decode(&stored.data)?;
            machine.applied.replace(log, &stored.meta);
            machine.keep(stored.meta, Arc::new(stored.data));
        }
        Ok(machine)
    }

    pub(crate) fn applied(&self) -> Arc<Applied> {
        Arc::clone(&self.applied)
    }

    fn keep(&self, meta: SnapshotMeta, snapshot: SnapshotData) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Snapshot { meta, snapshot });
    }

    /// On disk first: what it contains may be forgotten right after.
    async fn save(&self, meta: &SnapshotMeta, data: &SnapshotData) -> io::Result<()> {
        if let Some(disk) = &self.disk {
            disk.save_snapshot(meta.clone(), Arc::clone(data)).await?;
        }
        self.keep(meta.clone(), Arc::clone(data));
        Ok(())
    }

    fn apply_one(&self, (entry, responder): EntryResponder<TypeConfig>) {
        let mut state = self.applied.lock();
        state.last = Some(entry.log_id);
        let outcome = match entry.payload {
            EntryPayload::Blank => Outcome::Done,
            EntryPayload::Normal(change) => change.apply(Arc::make_mut(&mut state.log)),
            EntryPayload::Membership(membership) => {
                state.membership = Membership::new(Some(entry.log_id), membership);
                Outcome::Done
            }
        };
        let last = state.log.head().last;
        drop(state);
        self.applied.known.hear(last);
        if let Some(responder) = responder {
            responder.send(outcome);
        }
    }
}

impl RaftStateMachine<TypeConfig> for StateMachine {
    type SnapshotData = SnapshotData;
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Membership), io::Error> {
        let state = self.applied.lock();
        Ok((state.last, state.membership.clone()))
    }

    async fn apply<Strm>(&mut self, mut entries: Strm) -> Result<(), io::Error>
    where
        Strm: Stream<Item = Result<EntryResponder<TypeConfig>, io::Error>> + Unpin + OptionalSend,
    {
        while let Some(entry) = entries.try_next().await? {
            self.apply_one(entry);
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Self::SnapshotBuilder {
        self.clone()
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: SnapshotData,
    ) -> Result<(), io::Error> {
        let log = codec::decode(&snapshot)?;
        self.save(meta, &snapshot).await?;
        self.applied.replace(log, meta);
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot>, io::Error> {
        let current = self.current.lock();
        Ok(current.unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl RaftSnapshotBuilder<TypeConfig> for StateMachine {
    type SnapshotData = SnapshotData;

    async fn build_snapshot(&mut self) -> Result<Snapshot, io::Error> {
        let (log, meta) = {
            let state = self.applied.lock();
            let meta = SnapshotMeta {
                last_log_id: state.last,
                last_membership: state.membership.clone(),
            };
            (Arc::clone(&state.log), meta)
        };
        let encoded = tokio::task::spawn_blocking(move || codec::encode(&*log)).await;
        let snapshot = Arc::new(encoded.map_err(io::Error::other)??);
        self.save(&meta, &snapshot).await?;
        Ok(Snapshot { meta, snapshot })
    }
}
