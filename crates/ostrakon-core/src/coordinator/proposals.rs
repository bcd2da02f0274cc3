//! `Proposals`: commands on their way into the log.
//!
//! One batch is on its way at a time, because each is decided on the state that the one before has made. If nobody knows what became of a
//! batch, nothing more is proposed until the log has been read.

use std::{collections::BTreeSet, time::Duration};

use crate::{Command, Epoch, Handover, Incarnation, ShardKey, Time};

/// How long to leave a log alone that could not be reached.
const PAUSE: Duration = Duration::from_millis(250);
/// How many commands may wait: beyond this whoever wanted something has to want it again.
const MOST_WAITING: usize = 4096;

#[derive(Default)]
pub(super) struct Proposals {
    next_id: u64,
    waiting: Vec<Command>,
    /// The batch that is on its way.
    sent: Option<Sent>,
    not_before: Time,
    /// Shards whose release has been proposed.
    released: BTreeSet<(ShardKey, Epoch)>,
}

struct Sent {
    id: u64,
    /// What to send again if it is surely not in the log.
    commands: Vec<Command>,
    /// Nobody knows whether it is in the log.
    unknown: bool,
}

impl Proposals {
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.sent = None;
        self.released.clear();
    }

    pub(super) fn push(&mut self, command: Command) {
        if self.waiting.len() < MOST_WAITING && !self.waiting.contains(&command) {
            self.waiting.push(command);
        }
    }

    /// Does not propose it after all; if it has been sent, not again.
    pub(super) fn withdraw(&mut self, command: &Command) {
        self.waiting.retain(|waiting| waiting != command);
        if let Some(sent) = &mut self.sent {
            sent.commands.retain(|sent| sent != command);
        }
    }

    /// Whether a shard may be on its way to this run.
    pub(super) fn grant_to(&self, run: Incarnation) -> bool {
        let sent = self.sent.iter().flat_map(|sent| &sent.commands);
        let grants_to_it = |command: &Command| match command {
            Command::Grant(grants) => grants.iter().any(|grant| grant.to == run),
            Command::Takeover { .. }
            | Command::Register(_)
            | Command::Leave { .. }
            | Command::Expire { .. }
            | Command::ConfirmDead { .. }
            | Command::BeginMove(_)
            | Command::Released(_)
            | Command::SetPolicy(_)
            | Command::CreateGroup(_) => false,
        };
        sent.chain(&self.waiting).any(grants_to_it)
    }

    /// Whether the release of these has not been proposed yet.
    pub(super) fn is_new(&mut self, handovers: &[Handover]) -> bool {
        let keys = handovers.iter().map(|one| (one.shard.clone(), one.epoch));
        let mut new = false;
        for key in keys {
            new |= self.released.insert(key);
        }
        new
    }

    /// Nothing waits and nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.sent.is_none()
    }

    pub(super) fn is_current(&self, id: u64) -> bool {
        self.sent.as_ref().is_some_and(|sent| sent.id == id)
    }

    /// The next batch to be sent.
    pub(super) fn take(&mut self, now: Time) -> Option<(u64, Vec<Command>)> {
        if self.sent.is_some() || self.waiting.is_empty() || now < self.not_before {
            return None;
        }
        self.next_id += 1;
        let commands = std::mem::take(&mut self.waiting);
        self.sent = Some(Sent {
            id: self.next_id,
            commands: commands.clone(),
            unknown: false,
        });
        Some((self.next_id, commands))
    }

    pub(super) fn done(&mut self) {
        self.sent = None;
        self.released.clear();
    }

    /// It is surely not in the log: tries again after a pause.
    pub(super) fn again(&mut self, now: Time) {
        if let Some(sent) = self.sent.take() {
            let later = std::mem::replace(&mut self.waiting, sent.commands);
            self.waiting.extend(later);
            self.not_before = now + PAUSE;
        }
    }

    pub(super) fn wait_for_read(&mut self) {
        if let Some(sent) = &mut self.sent {
            sent.unknown = true;
        }
    }

    /// The log has been read: whatever is in it has been applied, and the rest is decided anew.
    pub(super) fn read_ended(&mut self) {
        if self.sent.as_ref().is_some_and(|sent| sent.unknown) {
            self.clear();
        }
    }

    pub(super) fn retry_at(&self) -> Option<Time> {
        (self.sent.is_none() && !self.waiting.is_empty()).then_some(self.not_before)
    }
}
