//! Succession: how a coordinator comes to lead when nobody else seems to.
//!
//! Managers watch a register in the storage; peers elect one of them. Neither makes sure that there is only one: the log does.

use ostrakon_core::CoordinatorInput;

use super::World;
use crate::log_request::{LogRequest, Reader};

impl World {
    /// The leader counts in the register; the others look whether it does.
    pub(super) fn succeed(&mut self, manager: usize, site: usize) {
        let now = self.local(site);
        let Some(one) = &mut self.managers[manager] else {
            return;
        };
        if let Some(term) = one.coordinator.leads() {
            self.ask_log(manager, LogRequest::Beat { term });
            self.look_at_leases(manager);
        } else if one.should_lead(now) {
            self.tell_manager(manager, CoordinatorInput::Lead);
        }
        // A leader reads too: what it appended may be in the log later than it was looked for there.
        self.read_log(manager, Reader::Driver);
    }

    /// A leader among peers makes itself heard; the others elect one if they hear none.
    pub(super) fn elect(&mut self, voter: usize, site: usize) {
        let reached = self.reached(voter);
        let now = self.local(site);
        if let Some(term) = self.voters.voters[voter].leads {
            self.lead_peers(voter, term, &reached);
        } else {
            let patience = self.managers[voter].as_ref().map(|one| one.patience);
            let silence = now.saturating_since(self.voters.voters[voter].contact);
            if patience.is_some_and(|patience| silence > patience) {
                self.voters.voters[voter].contact = now;
                self.stand_for_election(voter, &reached);
            }
        }
        let one = self.managers[voter].as_ref();
        let leads = one.is_some_and(|one| one.coordinator.leads().is_some());
        match self.voters.voters[voter].leads {
            Some(_) if !leads => self.tell_manager(voter, CoordinatorInput::Lead),
            // Sometimes it finds out by itself, when it is refused.
            None if leads && self.dice.chance(500) => {
                self.tell_manager(voter, CoordinatorInput::StandDown);
            }
            Some(_) | None => {}
        }
        self.read_log(voter, Reader::Driver);
    }

    pub(super) fn lead_peers(&mut self, voter: usize, term: u64, reached: &[usize]) {
        for other in reached {
            let now = self.local(*other);
            let other = &mut self.voters.voters[*other];
            if other.seen > term {
                let seen = other.seen;
                let deposed = &mut self.voters.voters[voter];
                (deposed.seen, deposed.leads) = (seen, None);
                return;
            }
            (other.seen, other.contact) = (term, now);
        }
    }

    /// Sometimes just a majority of those it reaches votes: the old leader need not notice.
    pub(super) fn stand_for_election(&mut self, voter: usize, reached: &[usize]) {
        let mut votes = reached.to_vec();
        let majority = self.voters.majority();
        while votes.len() > majority && self.dice.chance(500) {
            let away = self.dice.index(votes.len());
            if votes[away] != voter {
                votes.remove(away);
            }
        }
        if !self.voters.elect(voter, &votes) {
            return;
        }
        let carried = self.voters.pending.take();
        if let Some(pending) = carried
            && pending.after == self.log.last()
            && self.dice.chance(500)
        {
            for entry in pending.entries {
                self.commit(entry);
            }
        }
    }

    /// The voters that a voter reaches, itself included.
    pub(super) fn reached(&self, voter: usize) -> Vec<usize> {
        let reaches =
            |other: &usize| self.sites[*other].runs() && self.network.joins(voter, *other);
        (0..self.voters.voters.len()).filter(reaches).collect()
    }

    pub(super) fn leads_peers(&self, manager: usize) -> Option<u64> {
        let voter = self.voters.voters.get(manager)?;
        voter.leads
    }

    /// The manager that leads, as far as it knows.
    pub(super) fn leading(&self) -> Vec<usize> {
        let leads = |manager: &usize| {
            let one = self.managers[*manager].as_ref();
            one.is_some_and(|one| one.coordinator.leads().is_some())
        };
        (0..self.managers.len()).filter(leads).collect()
    }
}
