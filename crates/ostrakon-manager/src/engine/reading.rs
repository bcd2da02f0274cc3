//! What the engine learns from the log, and when it tries to lead.

use ostrakon_core::{AppendOutcome, Beat, CoordinatorInput, Entry, Index};
use ostrakon_storage::{Head, Read};

use super::Engine;
use crate::leading::Leading;

impl Engine {
    pub(super) fn read_log(&mut self) {
        let behind = self.coordinator.state().applied();
        self.parts.keeper.read(behind);
    }

    pub(super) fn read(&mut self, read: Read) {
        if let Some(snapshot) = read.snapshot {
            if let Err(error) = self.view().restore(snapshot.clone()) {
                tracing::error!(%error, "the snapshot in the storage cannot be read");
                return;
            }
            self.compacted = snapshot.applied();
            self.step(CoordinatorInput::Restored(Box::new(snapshot)));
        }
        for (index, entry) in read.entries {
            self.committed(index, entry);
        }
    }

    pub(super) fn committed(&mut self, index: Index, entry: Entry) {
        self.view().apply(index, &entry);
        self.step(CoordinatorInput::Committed { index, entry });
        self.catch_up_with_suspects();
    }

    pub(super) fn read_ended(&mut self, ok: bool) {
        let behind = self.coordinator.state().applied();
        if !self.parts.keeper.read_ended(ok, behind) {
            return;
        }
        if std::mem::take(&mut self.read_is_owed) {
            self.step(CoordinatorInput::ReadEnded);
        }
        let first = self.view().set_read();
        let is_time = match self.parts.leading {
            Leading::Alone => first,
            // Nobody has ever led: there is no need to wait for a sign of it.
            Leading::BySuccession => first && behind == Index::default(),
            Leading::While(_) => std::mem::take(&mut self.leads_when_read),
        };
        if is_time {
            self.step(CoordinatorInput::Lead);
        }
    }

    /// Whether it was elected and has yet to try to lead, or to try again.
    pub(super) fn should_try(&self) -> bool {
        let tries = self.coordinator.leads().is_some() || self.leads_when_read;
        !tries && self.parts.leading.is_elected()
    }

    pub(super) fn election(&mut self) {
        if !self.parts.leading.is_elected() {
            self.leads_when_read = false;
            self.step(CoordinatorInput::StandDown);
        }
    }

    pub(super) fn append_ended(
        &mut self,
        id: u64,
        after: Index,
        entries: Vec<Entry>,
        outcome: AppendOutcome,
    ) {
        match outcome {
            AppendOutcome::Done => {
                for (number, entry) in (after.get() + 1..).zip(entries) {
                    self.committed(Index::new(number), entry);
                }
            }
            // Somebody lives who seemed not to: the sooner it is known who, the better.
            AppendOutcome::Renewed => self.parts.keeper.look_at_leases(),
            AppendOutcome::TooLarge if !self.knows_limit => {
                self.knows_limit = true;
                tracing::error!(
                    entries = entries.len(),
                    "the storage takes less at once than it has to: from now on less is written at once, and what is too large alone is left out; raise the limits of the storage (etcd: --max-request-bytes, --max-txn-ops)"
                );
            }
            AppendOutcome::TooLarge
            | AppendOutcome::Conflict
            | AppendOutcome::Unavailable
            | AppendOutcome::Unknown => {}
        }
        self.step(CoordinatorInput::AppendEnded { id, outcome });
    }

    pub(super) fn looked(&mut self, head: Option<Head>) {
        if self.coordinator.leads().is_some() {
            return;
        }
        let now = self.clock.now();
        if let Some(head) = head
            && head.last > self.coordinator.state().applied()
        {
            self.read_log();
        }
        let beat = head.map(|head| Beat {
            term: head.term,
            count: head.beat,
        });
        self.succession.saw(beat, now);
        if self.view().has_read() && self.succession.is_due(now) {
            tracing::info!("no manager seems to lead: trying to");
            self.step(CoordinatorInput::Lead);
        }
    }
}
