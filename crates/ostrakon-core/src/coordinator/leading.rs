//! What a coordinator does while it leads, whether anything happens or not.
//!
//! It can be told to hold back: then nothing gets an owner and nothing is moved, while everybody is answered and may act on. So no shard
//! comes to have a second owner, whoever the log has forgotten.

use super::{Coordinator, CoordinatorAction};
use crate::{Command, Time};

impl Coordinator {
    /// What a leader does whenever it looks.
    pub(super) fn lead(&mut self, now: Time, actions: &mut Vec<CoordinatorAction>) {
        for incarnation in self.leases.silent(now) {
            self.suspect(incarnation, now, actions);
        }
        for incarnation in self.probes.due(now) {
            actions.push(CoordinatorAction::Probe { incarnation });
        }
        self.leases.condemn(now);
        if self.proposals.is_idle() {
            self.propose_what_is_due(now);
            #[cfg(feature = "mutants")]
            self.lose_patience();
        }
        if !self.proposals.goes_on(now) {
            self.tell_holdings(actions);
        }
        if let Some(id) = self.authority.begin(now) {
            actions.push(CoordinatorAction::Confirm { id });
        }
    }

    fn propose_what_is_due(&mut self, now: Time) {
        let expired = match now >= self.expire_from {
            true => self.leases.condemned(),
            false => Vec::new(),
        };
        let planned = match self.holds_back {
            true => Vec::new(),
            false => self.rounds.plan(&self.state, &self.leases, now),
        };
        for incarnation in expired {
            self.propose(Command::Expire { incarnation });
        }
        for command in planned {
            self.propose(command);
        }
    }

    /// When shards are to be given out or moved next.
    pub(super) fn next_round(&self) -> Option<Time> {
        let may_plan = self.proposals.is_idle() && !self.holds_back;
        self.rounds.next().filter(|_| may_plan)
    }

    /// Nothing is granted from now on. What is on its way into the log cannot be called back.
    pub(super) fn hold_back(&mut self) {
        self.holds_back = true;
        let grants =
            |command: &Command| matches!(command, Command::Grant(_) | Command::BeginMove(_));
        self.proposals.withdraw(grants);
    }

    pub(super) fn go_on(&mut self) {
        if std::mem::take(&mut self.holds_back) {
            self.rounds.look_now();
        }
    }
}
