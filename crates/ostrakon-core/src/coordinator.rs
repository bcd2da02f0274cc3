//! `Coordinator`: decides who owns what, while it leads.
//!
//! It lives in the leading manager or in the Raft leader, and does no I/O: it is told what happened and says what is to be done.
//! Whatever it decides it writes into the log first and acts on only when it reads it there; all it knows besides the log are times.
//! Several may run at once: the log decides which of them leads, and one that does not lead says nothing to anybody.

mod action;
mod authority;
mod leases;
#[cfg(feature = "mutants")]
mod mutants;
mod proposals;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};

pub use self::action::{
    AppendOutcome, ConfirmOutcome, CoordinatorAction, CoordinatorInput, Liveness, Peer,
};
use self::{authority::Authority, leases::Leases, proposals::Proposals, rounds::Rounds};
use crate::{
    Change, Command, ControlState, DeathProof, Entry, Failover, Granting, Handover, Holdings,
    Incarnation, Index, LeaseTiming, NodeName, Order, OwnedShard, Ownership, Registration, Rule,
    Rules, ShardKey, Term, Time, ToCoordinator, ToRegion,
};

/// How often the same question about a node's health is asked.
const PROBE_PAUSE: std::time::Duration = std::time::Duration::from_secs(2);

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
    /// When the health of a node was last asked for.
    probed: BTreeMap<Incarnation, Time>,
    /// Nodes that must be told what they hold.
    unaware: BTreeSet<Incarnation>,
    /// When what a node holds has changed last.
    changed_at: BTreeMap<Incarnation, Index>,
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
            probed: BTreeMap::new(),
            unaware: BTreeSet::new(),
            changed_at: BTreeMap::new(),
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

    /// Takes in what has happened; returns what is to be done.
    pub fn step(&mut self, now: Time, input: CoordinatorInput) -> Vec<CoordinatorAction> {
        let mut actions = Vec::new();
        self.notice_own_pause(now);
        match input {
            CoordinatorInput::Wake => {}
            CoordinatorInput::Lead => self.take_over(),
            CoordinatorInput::Committed { index, entry } => self.committed(now, index, &entry),
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
            CoordinatorInput::Heard(message) => self.hear(message, now, &mut actions),
            CoordinatorInput::Health {
                incarnation,
                answer,
            } => self.health(incarnation, answer),
            CoordinatorInput::Propose(command) => self.propose(command),
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
            self.rounds.next().filter(|_| self.proposals.is_idle()),
            self.leases.next_expiry(),
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

    /// An entry is in the log, whoever wrote it.
    fn committed(&mut self, now: Time, index: Index, entry: &Entry) {
        let applied = self.state.apply_under(index, entry, self.rules);
        for change in applied.changes {
            self.changed(change, now);
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
                self.probed.remove(&incarnation);
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
        self.probed.clear();
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
    fn settle_takeover(&mut self) {
        if self.role == Role::TakingOver && self.proposals.is_idle() {
            self.role = Role::Following;
        }
    }

    fn append_ended(
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
            // Either what was decided was decided on an old state, or nobody knows which state there is.
            AppendOutcome::Conflict | AppendOutcome::Unknown => {
                self.proposals.wait_for_read();
                actions.push(CoordinatorAction::Read);
            }
        }
    }

    fn confirm_ended(
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

    /// Answers a renewal, if the node is still one of ours.
    fn answer(
        &mut self,
        incarnation: Incarnation,
        seq: u64,
        now: Time,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        if self.state.member(incarnation).is_some() && self.leases.may_answer(incarnation, now) {
            self.send(incarnation, ToRegion::RenewOk { incarnation, seq }, actions);
        }
    }

    fn hear(&mut self, message: ToCoordinator, now: Time, actions: &mut Vec<CoordinatorAction>) {
        if self.leads().is_none() {
            return;
        }
        match message {
            ToCoordinator::Register {
                registration,
                slack,
            } => self.register(registration, slack, actions),
            ToCoordinator::Renew {
                incarnation,
                seq,
                ok_seq,
                seen,
            } => self.renew((incarnation, seq, ok_seq, seen), now, actions),
            ToCoordinator::Released {
                incarnation,
                shards,
            } => self.released(incarnation, shards),
            ToCoordinator::Leave { incarnation } => {
                let active = self
                    .state
                    .member(incarnation)
                    .is_some_and(|member| member.state == crate::MemberState::Active);
                if active {
                    self.propose(Command::Leave { incarnation });
                }
            }
            ToCoordinator::Gone { incarnation } => self.gone(incarnation, actions),
            ToCoordinator::Unreachable { incarnation } => self.suspect(incarnation, now, actions),
            ToCoordinator::Wanted { shard } => self.rounds.wanted(shard),
        }
    }

    fn register(
        &mut self,
        registration: Registration,
        slack: std::time::Duration,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        let nonce = registration.nonce;
        let peer = Peer::of(&registration);
        if let Some(incarnation) = self.state.registered(nonce) {
            self.unaware.insert(incarnation);
            return;
        }
        if self.state.is_over(nonce) {
            let message = ToRegion::Spent { nonce };
            actions.push(CoordinatorAction::Send { to: peer, message });
            return;
        }
        if let Err(reason) = self.admits(&registration, slack) {
            let message = ToRegion::Refused { nonce, reason };
            actions.push(CoordinatorAction::Send { to: peer, message });
            return;
        }
        for group in &registration.groups {
            if self.state.group(&group.name).is_none() {
                self.propose(Command::CreateGroup(group.clone()));
            }
        }
        self.propose(Command::Register(registration));
    }

    /// Whether a node could be a member; else what it has to be told.
    fn admits(
        &self,
        registration: &Registration,
        slack: std::time::Duration,
    ) -> Result<(), String> {
        if let Failover::Lease(timing) = self.state.policy().failover
            && slack > timing.times().slack
        {
            let most = timing.times().slack;
            return Err(format!(
                "its code may run on for {slack:?} after its lease has ended, and others wait for {most:?} only: lower its slack"
            ));
        }
        if registration.weight == 0 {
            return Err("its weight is 0: nodes that hold no shards do not register".to_owned());
        }
        let refusal = self.state.refuses(registration);
        refusal.map_or(Ok(()), |refusal| Err(refusal.to_string()))
    }

    fn renew(
        &mut self,
        (incarnation, seq, ok_seq, seen): (Incarnation, u64, u64, Index),
        now: Time,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        if self.state.member(incarnation).is_none() {
            self.tell_end(incarnation, actions);
            return;
        }
        if !self.leases.heard(incarnation, ok_seq, now) {
            return;
        }
        if self.rules.keep(Rule::AuthorityBeforeAnswer) {
            self.authority.ask((incarnation, seq));
        } else {
            self.answer(incarnation, seq, now, actions);
        }
        if self
            .changed_at
            .get(&incarnation)
            .is_some_and(|changed| seen < *changed)
        {
            self.unaware.insert(incarnation);
        }
    }

    /// A run that was a member and is none any more is over; of one that is not in our log yet nothing is known.
    fn tell_end(&self, incarnation: Incarnation, actions: &mut Vec<CoordinatorAction>) {
        if incarnation.get() <= self.state.applied().get() {
            actions.push(CoordinatorAction::SendToRun {
                incarnation,
                message: ToRegion::Ended { incarnation },
            });
        }
    }

    fn released(&mut self, incarnation: Incarnation, shards: Vec<Handover>) {
        let mut freed = Vec::new();
        let mut next = Vec::new();
        for handover in shards {
            let ownership = self.state.ownership(&handover.shard);
            let Some((by, epoch)) = ownership.and_then(|ownership| ownership.owner()) else {
                continue;
            };
            if by != incarnation || epoch != handover.epoch {
                continue;
            }
            if let Some(Ownership::Releasing { to: Some(to), .. }) = ownership
                && self.takes(to, &handover.shard)
            {
                let shard = handover.shard.clone();
                next.push(Granting { shard, to });
            }
            freed.push(handover);
        }
        if !freed.is_empty() && self.proposals.is_new(&freed) {
            self.propose(Command::Released(freed));
            if !next.is_empty() {
                self.propose(Command::Grant(next));
            }
        }
    }

    fn takes(&self, to: Incarnation, shard: &ShardKey) -> bool {
        let Some((member, group)) = self.state.member(to).zip(self.state.group(&shard.group))
        else {
            return false;
        };
        member.state == crate::MemberState::Active
            && member.can_hold(&group.spec)
            && !self.leases.is_condemned(to)
    }

    /// A node says goodbye. It must own nothing.
    fn gone(&mut self, incarnation: Incarnation, actions: &mut Vec<CoordinatorAction>) {
        if self.state.member(incarnation).is_none() {
            self.tell_end(incarnation, actions);
        } else if self.state.holds_nothing(incarnation) {
            let proof = DeathProof::Left;
            self.propose(Command::ConfirmDead { incarnation, proof });
        }
    }

    /// Asks whether a node is alive.
    fn suspect(
        &mut self,
        incarnation: Incarnation,
        now: Time,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        let recently = |asked: &Time| now.saturating_since(*asked) < PROBE_PAUSE;
        if self.state.member(incarnation).is_none()
            || self.probed.get(&incarnation).is_some_and(recently)
        {
            return;
        }
        self.probed.insert(incarnation, now);
        actions.push(CoordinatorAction::Probe { incarnation });
    }

    fn health(&mut self, incarnation: Incarnation, answer: Liveness) {
        match answer {
            Liveness::Dead(proof) if self.state.member(incarnation).is_some() => {
                self.propose(Command::ConfirmDead { incarnation, proof });
            }
            Liveness::Dead(_) | Liveness::Alive | Liveness::Unknown => {}
        }
    }

    /// What a leader does whenever it looks.
    fn lead(&mut self, now: Time, actions: &mut Vec<CoordinatorAction>) {
        for incarnation in self.leases.silent(now) {
            self.suspect(incarnation, now, actions);
        }
        self.leases.condemn(now);
        if self.proposals.is_idle() {
            for incarnation in self.leases.condemned() {
                self.propose(Command::Expire { incarnation });
            }
            for command in self.rounds.plan(&self.state, &self.leases, now) {
                self.propose(command);
            }
            #[cfg(feature = "mutants")]
            self.lose_patience();
        }
        self.tell_holdings(actions);
        if let Some(id) = self.authority.begin(now) {
            actions.push(CoordinatorAction::Confirm { id });
        }
    }

    /// Tells those who do not know what they hold.
    fn tell_holdings(&mut self, actions: &mut Vec<CoordinatorAction>) {
        let unaware = std::mem::take(&mut self.unaware);
        for holdings in self.holdings(&unaware) {
            let incarnation = holdings.incarnation;
            let Some(member) = self.state.member(incarnation) else {
                continue;
            };
            let registered = ToRegion::Registered {
                nonce: member.registration.nonce,
                incarnation,
                failover: member.failover,
            };
            self.send(incarnation, registered, actions);
            self.send(incarnation, ToRegion::Holdings(holdings), actions);
        }
    }

    /// What these runs hold: one pass over all shards, however many runs there are.
    fn holdings(&self, runs: &BTreeSet<Incarnation>) -> Vec<Holdings> {
        if runs.is_empty() {
            return Vec::new();
        }
        let mut held: BTreeMap<Incarnation, Vec<OwnedShard>> =
            runs.iter().map(|run| (*run, Vec::new())).collect();
        for group in self.state.groups() {
            for (shard, ownership) in group.iter() {
                let order = match ownership {
                    Ownership::Releasing { .. } => Order::Release,
                    Ownership::Owned { .. } | Ownership::Unowned { .. } => Order::Serve,
                };
                if let Some((by, epoch)) = ownership.owner()
                    && let Some(shards) = held.get_mut(&by)
                {
                    shards.push(OwnedShard {
                        shard,
                        epoch,
                        order,
                    });
                }
            }
        }
        let at = self.state.applied();
        held.into_iter()
            .map(|(incarnation, shards)| Holdings {
                incarnation,
                at,
                shards,
            })
            .collect()
    }

    fn send(
        &self,
        incarnation: Incarnation,
        message: ToRegion,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        if let Some(member) = self.state.member(incarnation) {
            let to = Peer::of(&member.registration);
            actions.push(CoordinatorAction::Send { to, message });
        }
    }
}

#[cfg(test)]
mod tests;
