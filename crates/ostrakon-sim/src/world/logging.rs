//! Logging: what managers ask of the log, and what becomes of it on the way there and back.
//!
//! A request that gets no answer in time may or may not have been carried out, and may still be.

use std::rc::Rc;

use ostrakon_core::{AppendOutcome, Command, ConfirmOutcome, Entry};

use super::World;
use crate::{
    agenda::{MILLI, SECOND},
    event::{Event, Local},
    log_request::{LogAnswer, LogRequest, Reader},
    mutant::Mutant,
    setup::Plane,
};

/// How long a manager waits for the log.
const PATIENCE: u64 = 2 * SECOND;

impl World {
    /// An entry is in the log for good.
    pub(super) fn commit(&mut self, entry: Rc<Entry>) {
        let index = self.log.push(Rc::clone(&entry));
        self.storage.committed(index, &entry.command);
        self.trace
            .write(self.now, || format!("    {index} {:?}", entry.command));
        let setup = &self.setup;
        self.oracle
            .committed(self.now, index, &entry, |key| setup.number(key));
    }

    pub(super) fn read_log(&mut self, manager: usize, reader: Reader) {
        let Some(one) = &self.managers[manager] else {
            return;
        };
        let from = one.coordinator.state().applied();
        self.ask_log(manager, LogRequest::Read { from, reader });
    }

    pub(super) fn ask_log(&mut self, manager: usize, request: LogRequest) {
        let site = self.setup.manager_site(manager);
        let Some(one) = &mut self.managers[manager] else {
            return;
        };
        one.next_request += 1;
        let number = one.next_request;
        one.open.insert(number, request.clone());
        self.note(PATIENCE, site, Local::LogIsLate { number });
        let delay = match self.setup.plane {
            Plane::Managed => {
                let storage = self.setup.storage_site();
                if self.storage.is_down && self.dice.chance(500) {
                    let answer = LogAnswer::Unavailable;
                    self.note(50 * MILLI, site, Local::LogAnswers { number, answer });
                    return;
                }
                if self.network.is_cut(site, storage) {
                    return;
                }
                self.storage.delay(&mut self.dice)
            }
            Plane::Peer => self.dice.between(MILLI, 60 * MILLI),
        };
        self.agenda.note(
            self.now + delay,
            Event::Log {
                manager,
                number,
                request,
            },
        );
    }

    pub(super) fn reaches_log(&mut self, manager: usize, number: u64, request: LogRequest) {
        let answer = match self.setup.plane {
            Plane::Managed if self.storage.is_down => None,
            Plane::Managed => Some(self.carry_out(request)),
            Plane::Peer => self.ask_peers(manager, request),
        };
        let site = self.setup.manager_site(manager);
        let (is_lost, delay) = match self.setup.plane {
            Plane::Managed => {
                let storage = self.setup.storage_site();
                let cut = self.network.is_cut(storage, site);
                (
                    cut || self.dice.chance(self.storage.loses),
                    self.storage.delay(&mut self.dice),
                )
            }
            Plane::Peer => (false, self.dice.between(MILLI, 60 * MILLI)),
        };
        if let Some(answer) = answer.filter(|_| !is_lost) {
            self.note(delay, site, Local::LogAnswers { number, answer });
        }
    }

    /// What a log does that can be relied on.
    pub(super) fn carry_out(&mut self, request: LogRequest) -> LogAnswer {
        match request {
            LogRequest::Append {
                id,
                after,
                known,
                entries,
                unmoved,
                ..
            } => {
                let takes_all = self.is(Mutant::LogTakesAll) || self.is(Mutant::LogWithoutIndexes);
                if after != self.log.last() && !takes_all {
                    let (outcome, entries) = (AppendOutcome::Conflict, Vec::new());
                    return LogAnswer::Appended {
                        id,
                        outcome,
                        entries,
                    };
                }
                if entries.iter().map(|entry| shards(entry)).sum::<usize>() > self.setup.log_takes {
                    let (outcome, entries) = (AppendOutcome::TooLarge, Vec::new());
                    return LogAnswer::Appended {
                        id,
                        outcome,
                        entries,
                    };
                }
                if !self.storage.are_unmoved(&unmoved) {
                    return LogAnswer::Renewed { id };
                }
                for entry in entries {
                    self.commit(entry);
                }
                LogAnswer::Appended {
                    id,
                    outcome: AppendOutcome::Done,
                    entries: self.log.behind(known),
                }
            }
            LogRequest::Confirm { id, term, .. } => {
                let outcome = match term == Some(self.log.term()) {
                    true => ConfirmOutcome::Confirmed,
                    false => ConfirmOutcome::Deposed,
                };
                LogAnswer::Confirmed { id, outcome }
            }
            LogRequest::Read { from, reader } => LogAnswer::Entries {
                entries: self.log.behind(from),
                beat: self.storage.beat,
                reader,
            },
            LogRequest::Beat { term } => {
                if term == self.log.term() {
                    let (_, count) = self.storage.beat;
                    self.storage.beat = (term, count + 1);
                }
                LogAnswer::Beaten
            }
            LogRequest::Leases => LogAnswer::Leases(self.storage.leases()),
        }
    }
}

/// How many shards an entry is about, or one if it is about something else.
fn shards(entry: &Entry) -> usize {
    match &entry.command {
        Command::BeginMove(moves) => moves.len(),
        Command::Released(released) => released.len(),
        Command::Grant(grants) => grants.len(),
        Command::Takeover { .. }
        | Command::Register(_)
        | Command::Leave { .. }
        | Command::Expire { .. }
        | Command::ConfirmDead { .. }
        | Command::SetPolicy(_)
        | Command::CreateGroup(_) => 1,
    }
}
