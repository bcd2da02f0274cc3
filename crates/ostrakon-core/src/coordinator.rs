//! `Coordinator`: decides who owns what, while it leads.
//!
//! It lives in the leading manager or in the Raft leader, and does no I/O: it is told what happened and says what is to be done.
//! Whatever it decides it writes into the log first and acts on only when it reads it there; all it knows besides the log are times.
//! Several may run at once: the log decides which of them leads, and one that does not lead says nothing to anybody.

mod action;
mod authority;
mod hearing;
mod leading;
mod learning;
mod leases;
#[cfg(feature = "mutants")]
mod mutants;
mod portion;
mod probes;
mod proposals;
mod rounds;
mod telling;

use std::collections::{BTreeMap, BTreeSet};

pub use self::action::{
    AppendOutcome, ConfirmOutcome, CoordinatorAction, CoordinatorInput, Counted, Liveness, Peer,
};
pub use self::rounds::{PlannedMove, Rebalancing};
use self::{
    authority::Authority, leases::Leases, probes::Probes, proposals::Proposals, rounds::Rounds,
};
use crate::{Command, ControlState, Entry, Incarnation, Index, NodeName, Rule, Rules, Term, Time};

/// Decides who owns what.
pub struct Coordinator {
    me: NodeName,
    run: u64,
    rules: Rules,
    state: ControlState,
    role: Role,
    proposals: Proposals,
    authority: Authority,
    leases: Leases,
    rounds: Rounds,
    probes: Probes,
    /// Nodes that must be told what they hold.
    unaware: BTreeSet<Incarnation>,
    /// When what a node holds has changed last.
    changed_at: BTreeMap<Incarnation, Index>,
    /// Nobody is expired before this: one that should be has turned out to live, and it is not known which.
    expire_from: Time,
    /// Nothing is granted.
    holds_back: bool,
    last_step: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Following,
    /// Its takeover is on the way into the log.
    TakingOver,
    Leading(Term),
}

impl Coordinator {
    /// A coordinator that follows. `run` tells this process from earlier ones of the same name.
    pub fn new(me: NodeName, run: u64) -> Self {
        Self::with_rules(me, run, Rules::default())
    }

    /// The same under other rules, for simulations.
    pub fn with_rules(me: NodeName, run: u64, rules: Rules) -> Self {
        Self {
            me,
            run,
            rules,
            state: ControlState::default(),
            role: Role::Following,
            proposals: Proposals::default(),
            authority: Authority::default(),
            leases: Leases::new(rules),
            rounds: Rounds::default(),
            probes: Probes::default(),
            unaware: BTreeSet::new(),
            changed_at: BTreeMap::new(),
            expire_from: Time::ZERO,
            holds_back: false,
            last_step: Time::ZERO,
        }
    }

    /// What the log has made so far.
    pub fn state(&self) -> &ControlState {
        &self.state
    }

    /// The term in which it leads.
    pub fn leads(&self) -> Option<Term> {
        match self.role {
            Role::Leading(term) => Some(term),
            Role::Following | Role::TakingOver => None,
        }
    }

    /// Nodes that have not been heard for longer than they should be silent.
    pub fn silent(&self, now: Time) -> Vec<Incarnation> {
        match self.role {
            Role::Leading(_) => self.leases.silent(now),
            Role::Following | Role::TakingOver => Vec::new(),
        }
    }

    /// What a round of balancing would do if it began now and balancing is not frozen; nothing unless this one leads.
    pub fn plan_round(&self, now: Time) -> Vec<PlannedMove> {
        match self.role {
            Role::Leading(_) => self.rounds.next_round(&self.state, &self.leases, now),
            Role::Following | Role::TakingOver => Vec::new(),
        }
    }

    /// How far those had counted their leases in the storage, when it was last looked at, whom these entries expire. The entries must be
    /// appended only if it is still so.
    pub fn unmoved<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e Entry>,
    ) -> Vec<(Incarnation, Counted)> {
        self.leases.unmoved(entries)
    }

    /// Takes in what has happened; returns what is to be done.
    pub fn step(&mut self, now: Time, input: CoordinatorInput) -> Vec<CoordinatorAction> {
        let mut actions = Vec::new();
        self.notice_own_pause(now);
        match input {
            CoordinatorInput::Wake => {}
            CoordinatorInput::Lead => self.take_over(),
            CoordinatorInput::StandDown => self.step_down(),
            CoordinatorInput::Committed { index, entry } => self.committed(now, index, &entry),
            CoordinatorInput::Restored(snapshot) => self.restored(*snapshot),
            CoordinatorInput::AppendEnded { id, outcome } => {
                self.append_ended(id, outcome, now, &mut actions);
            }
            CoordinatorInput::ReadEnded => {
                self.proposals.read_ended();
                self.rounds.look_now();
                self.settle_takeover();
            }
            CoordinatorInput::ConfirmEnded { id, outcome } => {
                self.confirm_ended(id, outcome, now, &mut actions);
            }
            CoordinatorInput::Counted {
                incarnation,
                counted,
            } => self.counted(incarnation, counted, now),
            CoordinatorInput::Heard(message) => self.hear(message, now, &mut actions),
            CoordinatorInput::Health {
                incarnation,
                answer,
            } => self.health(incarnation, answer),
            CoordinatorInput::Propose(command) => self.propose(command),
            CoordinatorInput::Rebalance => self.rounds.begin(now),
            CoordinatorInput::HoldBack => self.hold_back(),
            CoordinatorInput::GoOn => self.go_on(),
        }
        if self.leads().is_some() {
            self.lead(now, &mut actions);
        }
        self.append(&mut actions, now);
        actions
    }

    /// When to step again at the latest; `None`: only when something happens.
    pub fn next_wakeup(&self) -> Option<Time> {
        let retry = self.proposals.retry_at();
        if self.leads().is_none() {
            return retry;
        }
        let regularly = self.last_step + self.leases.regular_pause();
        let times = [
            Some(regularly),
            retry,
            self.authority.next_start(),
            self.next_round(),
            self.leases.next_expiry(),
            self.probes.next(),
        ];
        times.into_iter().flatten().min()
    }

    /// If this process did not run, the silence of others proves nothing.
    fn notice_own_pause(&mut self, now: Time) {
        let gap = now.saturating_since(self.last_step);
        if gap > self.leases.regular_pause() * 2 && self.rules.keep(Rule::OwnPauseIsNotTheirs) {
            self.leases.start_anew(now);
        }
        self.last_step = now;
    }

    fn take_over(&mut self) {
        if self.role == Role::Following {
            self.role = Role::TakingOver;
            self.proposals.clear();
            let takeover = Command::Takeover {
                grantor: self.me.clone(),
                run: self.run,
            };
            self.proposals.push(takeover);
        }
    }

    fn step_down(&mut self) {
        self.role = Role::Following;
        self.proposals.clear();
        self.authority.clear();
        self.unaware.clear();
    }

    fn propose(&mut self, command: Command) {
        if self.leads().is_some() {
            self.proposals.push(command);
        }
    }

    /// Hands the log what waits, one batch at a time.
    fn append(&mut self, actions: &mut Vec<CoordinatorAction>, now: Time) {
        let term = match self.role {
            Role::Following => return,
            Role::TakingOver => self.state.term(),
            Role::Leading(term) => term,
        };
        let Some((id, commands)) = self.proposals.take(now) else {
            return;
        };
        let entry = |command| Entry { term, command };
        let entries: Vec<Entry> = commands.into_iter().map(entry).collect();
        let after = self.state.applied();
        #[cfg(feature = "mutants")]
        self.announce(after, &entries, actions);
        actions.push(CoordinatorAction::Append { id, after, entries });
    }
}

#[cfg(test)]
mod tests;
