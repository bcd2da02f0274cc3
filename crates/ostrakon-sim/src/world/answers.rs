//! Answers: what managers learn from the log, and what they make of silence.

use std::rc::Rc;

use ostrakon_core::{AppendOutcome, ConfirmOutcome, CoordinatorInput, Entry, Index, Term};

use super::World;
use crate::{
    log_request::{LogAnswer, LogRequest, Reader},
    mutant::Mutant,
};

impl World {
    pub(super) fn log_answers(&mut self, site: usize, number: u64, answer: LogAnswer) {
        let Some(manager) = self.setup.manager_at(site) else {
            return;
        };
        let Some(one) = &mut self.managers[manager] else {
            return;
        };
        let Some(request) = one.open.remove(&number) else {
            return;
        };
        match answer {
            LogAnswer::Appended {
                id,
                outcome,
                entries,
            } => {
                self.feed(manager, entries);
                self.tell_manager(manager, CoordinatorInput::AppendEnded { id, outcome });
            }
            LogAnswer::Confirmed { id, outcome } => {
                self.tell_manager(manager, CoordinatorInput::ConfirmEnded { id, outcome });
            }
            LogAnswer::Entries {
                entries,
                beat,
                reader,
            } => {
                self.feed(manager, entries);
                self.watch(manager, site, beat);
                if reader == Reader::Coordinator {
                    self.tell_manager(manager, CoordinatorInput::ReadEnded);
                }
            }
            LogAnswer::Beaten => {}
            LogAnswer::Renewed { id } => self.renewed_meanwhile(manager, id, request),
            LogAnswer::Leases(leases) => {
                for (incarnation, counted) in leases {
                    let counted = CoordinatorInput::Counted {
                        incarnation,
                        counted,
                    };
                    self.tell_manager(manager, counted);
                }
            }
            LogAnswer::Unavailable => self.failed(manager, request, AppendOutcome::Unavailable),
        }
    }

    /// Tells a coordinator what is in the log, if it does not know it.
    pub(super) fn feed(&mut self, manager: usize, entries: Vec<(Index, Rc<Entry>)>) {
        for (index, entry) in entries {
            let one = self.managers[manager].as_ref();
            let known = one.is_none_or(|one| index <= one.coordinator.state().applied());
            if !known {
                let entry = Entry::clone(&entry);
                self.tell_manager(manager, CoordinatorInput::Committed { index, entry });
            }
        }
    }

    pub(super) fn watch(&mut self, manager: usize, site: usize, beat: (Term, u64)) {
        let now = self.local(site);
        if let Some(one) = &mut self.managers[manager]
            && one.beat != beat
        {
            (one.beat, one.beat_since) = (beat, now);
        }
    }

    pub(super) fn log_is_late(&mut self, site: usize, number: u64) {
        let Some(manager) = self.setup.manager_at(site) else {
            return;
        };
        let open = self.managers[manager].as_mut();
        if let Some(request) = open.and_then(|one| one.open.remove(&number)) {
            self.failed(manager, request, AppendOutcome::Unknown);
        }
    }

    pub(super) fn failed(&mut self, manager: usize, request: LogRequest, outcome: AppendOutcome) {
        match request {
            LogRequest::Append { .. } if outcome == AppendOutcome::Unknown => {
                self.unknown(manager, request);
            }
            LogRequest::Append { id, .. } => {
                self.tell_manager(manager, CoordinatorInput::AppendEnded { id, outcome });
            }
            LogRequest::Confirm { id, .. } => {
                let outcome = ConfirmOutcome::Unavailable;
                self.tell_manager(manager, CoordinatorInput::ConfirmEnded { id, outcome });
            }
            // Whoever wanted to know still does.
            LogRequest::Read {
                reader: Reader::Coordinator,
                ..
            } => self.read_log(manager, Reader::Coordinator),
            LogRequest::Read {
                reader: Reader::Driver,
                ..
            }
            | LogRequest::Beat { .. }
            | LogRequest::Leases => {}
        }
    }

    /// Nobody knows what became of an append.
    pub(super) fn unknown(&mut self, manager: usize, request: LogRequest) {
        let LogRequest::Append {
            id,
            after,
            known,
            entries,
            unmoved,
            leads,
        } = request
        else {
            return;
        };
        if self.is(Mutant::UnknownIsDone) {
            let numbers = (after.get() + 1..).map(Index::new);
            self.feed(manager, numbers.zip(entries).collect());
            let outcome = AppendOutcome::Done;
            self.tell_manager(manager, CoordinatorInput::AppendEnded { id, outcome });
        } else if self.is(Mutant::UnknownIsRetried) {
            let after = self.log.last();
            self.ask_log(
                manager,
                LogRequest::Append {
                    id,
                    after,
                    known,
                    entries,
                    unmoved,
                    leads,
                },
            );
        } else {
            let outcome = AppendOutcome::Unknown;
            self.tell_manager(manager, CoordinatorInput::AppendEnded { id, outcome });
        }
    }
}
