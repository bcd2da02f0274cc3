//! The quorum: what a voter can do with the log, which is nothing without a majority.

use ostrakon_core::ConfirmOutcome;

use super::World;
use crate::{
    log_request::{LogAnswer, LogRequest},
    mutant::Mutant,
    voters::{Pending, Support},
};

impl World {
    /// What a voter can do: only with a majority.
    pub(super) fn ask_peers(&mut self, voter: usize, request: LogRequest) -> Option<LogAnswer> {
        if !self.sites[voter].runs() {
            return None;
        }
        let reached = self.reached(voter);
        let leads = match &request {
            LogRequest::Append { leads, .. } | LogRequest::Confirm { leads, .. } => *leads,
            LogRequest::Read { .. } | LogRequest::Beat { .. } | LogRequest::Leases => {
                let enough = reached.len() >= self.voters.majority();
                return enough.then(|| self.carry_out(request));
            }
        };
        let believes = leads.filter(|term| self.voters.voters[voter].leads == Some(*term));
        let Some(term) = believes else {
            return Some(match request {
                LogRequest::Confirm { id, .. } => LogAnswer::Confirmed {
                    id,
                    outcome: ConfirmOutcome::Deposed,
                },
                LogRequest::Append { .. }
                | LogRequest::Read { .. }
                | LogRequest::Beat { .. }
                | LogRequest::Leases => LogAnswer::Unavailable,
            });
        };
        let is_confirm = matches!(request, LogRequest::Confirm { .. });
        if is_confirm && self.is(Mutant::LeaderWithoutQuorum) {
            let LogRequest::Confirm { id, .. } = request else {
                return None;
            };
            let outcome = ConfirmOutcome::Confirmed;
            return Some(LogAnswer::Confirmed { id, outcome });
        }
        match self.voters.support(term, &reached) {
            Support::Majority => {
                self.settle_pending(term);
                Some(self.carry_out(request))
            }
            Support::Deposed if is_confirm => {
                self.voters.voters[voter].leads = None;
                Some(self.carry_out(request))
            }
            Support::Deposed | Support::TooFew => {
                self.leave_pending(term, request);
                None
            }
        }
    }

    /// What a leader could not replicate before comes first.
    pub(super) fn settle_pending(&mut self, term: u64) {
        let pending = self.voters.pending.take_if(|pending| pending.term == term);
        if let Some(pending) = pending
            && pending.after == self.log.last()
        {
            for entry in pending.entries {
                self.commit(entry);
            }
        }
    }

    pub(super) fn leave_pending(&mut self, term: u64, request: LogRequest) {
        if let LogRequest::Append { after, entries, .. } = request
            && self.voters.pending.is_none()
            && self.dice.chance(500)
        {
            self.voters.pending = Some(Pending {
                term,
                after,
                entries,
            });
        }
    }
}
