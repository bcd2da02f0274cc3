//! What a coordinator learns from the log: what is in it, and what became of what it wanted there.
//!
//! This is where it begins and ceases to lead. Invariant: only a takeover of its own that it reads in the log makes it lead, and any other
//! takeover there ends that.

use std::time::Duration;

use super::{AppendOutcome, ConfirmOutcome, Coordinator, CoordinatorAction, Role};
use crate::{Change, ControlState, Entry, Incarnation, Index, LeaseTiming, Snapshot, Term, Time};

/// How long to wait for word of who has counted its lease, if one has that should be expired.
const EXPIRE_PAUSE: Duration = Duration::from_secs(1);

impl Coordinator {
    /// An entry is in the log, whoever wrote it.
    pub(super) fn committed(&mut self, now: Time, index: Index, entry: &Entry) {
        let applied = self.state.apply_under(index, entry, self.rules);
        for change in applied.changes {
            self.changed(change, now);
        }
    }

    /// The log up to a point, of which the entries are no longer there. Whoever is so far behind does not lead.
    pub(super) fn restored(&mut self, snapshot: Snapshot) {
        if let Ok(state) = ControlState::restore(snapshot)
            && state.applied() > self.state.applied()
        {
            self.step_down();
            // Runs may have ended in between of which nobody will say so. Whoever leads enters those that are left.
            self.changed_at.clear();
            self.state = state;
        }
    }

    fn changed(&mut self, change: Change, now: Time) {
        match change {
            Change::TookOver { grantor, run, term } => {
                let mine = grantor == self.me && run == self.run && self.role != Role::Following;
                if mine {
                    self.begin_to_lead(term, now);
                } else {
                    self.step_down();
                }
            }
            Change::Registered { incarnation, .. } => {
                let lease = self.lease_of(incarnation);
                self.leases.begin(incarnation, lease, now);
                self.holds_other(incarnation);
                self.rounds.gather(now);
            }
            Change::Ended { incarnation, .. } => {
                self.leases.end(incarnation);
                self.probes.forget(incarnation);
                self.unaware.remove(&incarnation);
                self.changed_at.remove(&incarnation);
                self.rounds.look_now();
            }
            Change::MoveBegan { by, .. } => self.holds_other(by),
            Change::Freed { by, .. } => {
                self.holds_other(by);
                self.rounds.look_now();
            }
            Change::Granted { to, .. } => self.holds_other(to),
            Change::Leaving { .. } => self.rounds.look_now(),
            // Nobody can hold its shards before a node has registered that knows it.
            Change::GroupCreated { .. } => {}
            // Whoever changes the rules wants to see them at work.
            Change::PolicySet => self.rounds.begin(now),
        }
    }

    fn lease_of(&self, incarnation: Incarnation) -> Option<LeaseTiming> {
        let member = self.state.member(incarnation);
        member.and_then(|member| member.failover.lease())
    }

    fn holds_other(&mut self, incarnation: Incarnation) {
        if self.state.member(incarnation).is_some() {
            self.unaware.insert(incarnation);
            self.changed_at.insert(incarnation, self.state.applied());
        }
    }

    /// Its own takeover is in the log: from this moment everybody's wait begins anew.
    fn begin_to_lead(&mut self, term: Term, now: Time) {
        self.role = Role::Leading(term);
        self.authority.clear();
        self.probes.clear();
        self.rounds.begin(now);
        let runs = self.state.members();
        let leases = runs.map(|(incarnation, member)| (incarnation, member.failover.lease()));
        self.leases.take_over(leases, now);
        let everybody: Vec<_> = self
            .state
            .members()
            .map(|(incarnation, _)| incarnation)
            .collect();
        for incarnation in everybody {
            self.holds_other(incarnation);
        }
    }

    /// A takeover that is known not to be in the log has failed.
    pub(super) fn settle_takeover(&mut self) {
        if self.role == Role::TakingOver && self.proposals.is_idle() {
            self.role = Role::Following;
        }
    }

    pub(super) fn append_ended(
        &mut self,
        id: u64,
        outcome: AppendOutcome,
        now: Time,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        if !self.proposals.is_current(id) {
            return;
        }
        match outcome {
            AppendOutcome::Done => self.proposals.done(),
            AppendOutcome::Unavailable => self.proposals.again(now),
            AppendOutcome::TooLarge => {
                self.proposals.again_with_less(now);
                self.settle_takeover();
            }
            // Either what was decided was decided on an old state, or nobody knows which state there is.
            AppendOutcome::Conflict | AppendOutcome::Renewed | AppendOutcome::Unknown => {
                if outcome == AppendOutcome::Renewed {
                    self.expire_from = now + EXPIRE_PAUSE;
                }
                self.proposals.wait_for_read();
                actions.push(CoordinatorAction::Read);
            }
        }
    }

    pub(super) fn confirm_ended(
        &mut self,
        id: u64,
        outcome: ConfirmOutcome,
        now: Time,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        match outcome {
            ConfirmOutcome::Deposed => {
                self.step_down();
                actions.push(CoordinatorAction::Read);
            }
            ConfirmOutcome::Unavailable => {
                self.authority.failed(id);
                self.leases.start_anew(now);
            }
            ConfirmOutcome::Confirmed => {
                for (incarnation, seq) in self.authority.confirmed(id) {
                    self.answer(incarnation, seq, now, actions);
                }
            }
        }
    }
}
