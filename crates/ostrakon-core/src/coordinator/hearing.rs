//! What a coordinator makes of what nodes say, and of what is said about their health.
//!
//! It proposes what follows from it and changes nothing itself. Everything said may be late, doubled or out of date: whoever speaks
//! names its run, and a shard its epoch, and what does not fit the log counts for nothing. Only a leader listens.

use std::time::Duration;

use super::{Coordinator, CoordinatorAction, Counted, Liveness, Peer, portion};
use crate::{
    Command, DeathProof, Failover, Granting, Handover, Incarnation, Index, MemberState, Ownership,
    Registration, Rule, ShardKey, Time, ToCoordinator, ToRegion,
};

/// So much may a node say about itself, in bytes.
const MOST_TO_REGISTER: usize = 256 << 10;

impl Coordinator {
    pub(super) fn hear(
        &mut self,
        message: ToCoordinator,
        now: Time,
        actions: &mut Vec<CoordinatorAction>,
    ) {
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
                    .is_some_and(|member| member.state == MemberState::Active);
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
        slack: Duration,
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

    pub(super) fn counted(&mut self, incarnation: Incarnation, counted: Counted, now: Time) {
        if self.leads().is_some() && self.leases.counted(incarnation, counted, now) {
            let expires = |command: &Command| *command == Command::Expire { incarnation };
            self.proposals.withdraw(expires);
        }
    }

    /// Whether a node could be a member; else what it has to be told.
    fn admits(&self, registration: &Registration, slack: Duration) -> Result<(), String> {
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
        if portion::registration_size(registration) > MOST_TO_REGISTER {
            return Err(format!(
                "what it says about itself takes more than {} KiB: it must have fewer groups or roles, or say less about its place",
                MOST_TO_REGISTER >> 10
            ));
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
            if !next.is_empty() && !self.holds_back {
                self.propose(Command::Grant(next));
            }
        }
    }

    fn takes(&self, to: Incarnation, shard: &ShardKey) -> bool {
        let Some((member, group)) = self.state.member(to).zip(self.state.group(&shard.group))
        else {
            return false;
        };
        member.state == MemberState::Active
            && member.can_hold(&group.spec)
            && !self.leases.is_condemned(to)
    }

    /// A node says goodbye. It must own nothing, and nothing may be on its way to it: an end that the log does not take would still take
    /// the lease that the node has in the storage, and a run without one could never be expired.
    fn gone(&mut self, incarnation: Incarnation, actions: &mut Vec<CoordinatorAction>) {
        if self.state.member(incarnation).is_none() {
            self.tell_end(incarnation, actions);
        } else if self.state.holds_nothing(incarnation) && !self.proposals.grant_to(incarnation) {
            let proof = DeathProof::Left;
            self.propose(Command::ConfirmDead { incarnation, proof });
        }
    }

    /// Asks whether a node is alive.
    pub(super) fn suspect(
        &mut self,
        incarnation: Incarnation,
        now: Time,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        if self.state.member(incarnation).is_some() && self.probes.doubt(incarnation, now) {
            actions.push(CoordinatorAction::Probe { incarnation });
        }
    }

    pub(super) fn health(&mut self, incarnation: Incarnation, answer: Liveness) {
        match answer {
            Liveness::Dead(proof) if self.state.member(incarnation).is_some() => {
                self.propose(Command::ConfirmDead { incarnation, proof });
            }
            Liveness::Dead(_) | Liveness::Alive | Liveness::Unknown => {}
        }
    }
}
