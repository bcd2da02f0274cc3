//! `Proposals`: commands on their way into the log.
//!
//! One batch is on its way at a time, because each is decided on the state that the one before has made, and it is no larger than a
//! storage takes at once. If nobody knows what became of a batch, nothing more is proposed until the log has been read.

use std::{collections::BTreeSet, time::Duration};

use super::portion::{self, Portion};
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
    /// Of the last command that was sent the rest still waits.
    is_cut: bool,
    /// The storage takes only so many bytes at once.
    less: Option<usize>,
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
        self.is_cut = false;
        self.released.clear();
    }

    pub(super) fn push(&mut self, command: Command) {
        if self.waiting.len() < MOST_WAITING && !self.waiting.contains(&command) {
            self.waiting.push(command);
        }
    }

    /// Does not propose these after all; if they have been sent, not again.
    pub(super) fn withdraw(&mut self, unwanted: impl Fn(&Command) -> bool) {
        self.waiting.retain(|command| !unwanted(command));
        if let Some(sent) = &mut self.sent {
            sent.commands.retain(|command| !unwanted(command));
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
        let most = self.less.unwrap_or(portion::MOST_BYTES);
        let Portion { commands, is_cut } = Portion::take(&mut self.waiting, most);
        self.sent = Some(Sent {
            id: self.next_id,
            commands: commands.clone(),
            unknown: false,
        });
        self.is_cut = is_cut;
        Some((self.next_id, commands))
    }

    /// Whether the log has only a part of what belongs together, and the rest is on its way.
    pub(super) fn goes_on(&self, now: Time) -> bool {
        let unknown = self.sent.as_ref().is_some_and(|sent| sent.unknown);
        self.is_cut && !unknown && now >= self.not_before
    }

    pub(super) fn done(&mut self) {
        self.sent = None;
        if self.waiting.is_empty() {
            self.released.clear();
        }
    }

    /// It is surely not in the log: tries again after a pause.
    pub(super) fn again(&mut self, now: Time) {
        if let Some(sent) = self.sent.take() {
            let later = std::mem::replace(&mut self.waiting, sent.commands);
            self.waiting.extend(later);
            self.not_before = now + PAUSE;
        }
    }

    /// It is surely not in the log, because it is too much at once: tries with less. What is too much alone is given up, and everything
    /// else goes on.
    pub(super) fn again_with_less(&mut self, now: Time) {
        let commands = self.sent.iter().flat_map(|sent| &sent.commands);
        let size: usize = commands.map(portion::size).sum();
        let sent = self.sent.as_ref();
        if sent.is_some_and(|sent| portion::is_least(&sent.commands)) {
            (self.sent, self.less) = (None, None);
        } else {
            self.less = Some(size / 2);
            self.again(now);
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
