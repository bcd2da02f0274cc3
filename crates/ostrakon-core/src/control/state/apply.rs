//! What each command changes, if it still may.
//!
//! Whoever proposed it decided on a state that may have been another: every command is judged here once more, and refused if it does
//! not fit. A command of several parts is judged part by part.

use super::ControlState;
use crate::{
    Applied, Change, Command, DeathProof, Epoch, Granting, GroupSpec, GroupState, Handover,
    Incarnation, Index, Member, MemberState, Moving, Ownership, Refusal, Registration, ShardKey,
};

/// The most nodes a cluster can have.
const MOST_MEMBERS: usize = 10_000;
/// So many registrations of runs that are over are remembered, lest a late copy of one begins a run that nobody is.
const REMEMBERED: usize = 4096;

impl ControlState {
    pub(super) fn command(&mut self, index: Index, command: &Command, applied: &mut Applied) {
        let result = match command {
            Command::Takeover { .. } => Ok(()),
            Command::Register(registration) => self.register(index, registration, applied),
            Command::Leave { incarnation } => self.leave(*incarnation, applied),
            Command::Expire { incarnation } => self.end(*incarnation, None, applied),
            Command::ConfirmDead { incarnation, proof } => {
                self.end(*incarnation, Some(proof.clone()), applied)
            }
            Command::BeginMove(moves) => each(moves, applied, |moving| self.begin_move(moving)),
            Command::Released(released) => each(released, applied, |shard| self.release(shard)),
            Command::Grant(grants) => each(grants, applied, |grant| self.grant(index, grant)),
            Command::SetPolicy(policy) => {
                self.policy = policy.clone();
                applied.changes.push(Change::PolicySet);
                Ok(())
            }
            Command::CreateGroup(spec) => self.create_group(spec, applied),
        };
        applied.refusals.extend(result.err());
    }

    fn register(
        &mut self,
        index: Index,
        registration: &Registration,
        applied: &mut Applied,
    ) -> Result<(), Refusal> {
        let nonce = registration.nonce;
        if let Some(incarnation) = self.registered(nonce) {
            return Err(Refusal::Registered { incarnation });
        }
        if self.over.contains(&nonce) {
            return Err(Refusal::RunIsOver);
        }
        if self.members.len() >= MOST_MEMBERS {
            return Err(Refusal::TooManyMembers { most: MOST_MEMBERS });
        }
        for wanted in &registration.groups {
            self.same_group(wanted)?;
        }
        let incarnation = index.into();
        let member = Member {
            registration: registration.clone(),
            state: MemberState::Active,
            failover: self.policy.failover,
        };
        self.members.insert(incarnation, member);
        applied
            .changes
            .push(Change::Registered { incarnation, nonce });
        Ok(())
    }

    fn leave(&mut self, incarnation: Incarnation, applied: &mut Applied) -> Result<(), Refusal> {
        let member = self
            .members
            .get_mut(&incarnation)
            .ok_or(Refusal::NotAMember { incarnation })?;
        if member.state == MemberState::Active {
            member.state = MemberState::Leaving;
            applied.changes.push(Change::Leaving { incarnation });
        }
        Ok(())
    }

    /// A run is over: what it owned is nobody's.
    fn end(
        &mut self,
        incarnation: Incarnation,
        proof: Option<DeathProof>,
        applied: &mut Applied,
    ) -> Result<(), Refusal> {
        if proof == Some(DeathProof::Left) && !self.holds_nothing(incarnation) {
            return Err(Refusal::StillOwns { incarnation });
        }
        let member = self
            .members
            .remove(&incarnation)
            .ok_or(Refusal::NotAMember { incarnation })?;
        self.over.push_back(member.registration.nonce);
        if self.over.len() > REMEMBERED {
            self.over.pop_front();
        }
        applied.changes.push(Change::Ended {
            incarnation,
            name: member.registration.name,
            proof,
        });
        for group in self.groups.values_mut() {
            group.lose(incarnation, &mut applied.changes);
        }
        Ok(())
    }

    fn begin_move(&mut self, moving: &Moving) -> Result<Option<Change>, Refusal> {
        let to = moving.to.filter(|to| self.members.contains_key(to));
        let ownership = self.ownership_mut(&moving.shard)?;
        let (by, epoch) = owner_at(ownership, &moving.shard, moving.epoch)?;
        let begun = Ownership::Releasing { by, epoch, to };
        if *ownership == begun {
            return Ok(None);
        }
        *ownership = begun;
        Ok(Some(Change::MoveBegan {
            shard: moving.shard.clone(),
            by,
            epoch,
            to,
        }))
    }

    fn release(&mut self, released: &Handover) -> Result<Option<Change>, Refusal> {
        let ownership = self.ownership_mut(&released.shard)?;
        let (by, epoch) = owner_at(ownership, &released.shard, released.epoch)?;
        *ownership = Ownership::Unowned { last: epoch };
        Ok(Some(Change::Freed {
            shard: released.shard.clone(),
            by,
            epoch,
        }))
    }

    fn grant(&mut self, index: Index, grant: &Granting) -> Result<Option<Change>, Refusal> {
        let Granting { shard, to } = grant;
        let group = self.group_of(shard)?;
        let member = self
            .members
            .get(to)
            .ok_or(Refusal::NotAMember { incarnation: *to })?;
        if member.state == MemberState::Leaving || !member.can_hold(&group.spec) {
            return Err(Refusal::DoesNotTake {
                incarnation: *to,
                group: shard.group.clone(),
            });
        }
        let ownership = self.ownership_mut(shard)?;
        if let Some((_, epoch)) = ownership.owner() {
            let shard = shard.clone();
            return Err(Refusal::Owned { shard, epoch });
        }
        let (by, epoch) = (*to, index.into());
        *ownership = Ownership::Owned { by, epoch };
        Ok(Some(Change::Granted {
            shard: shard.clone(),
            to: by,
            epoch,
        }))
    }

    fn create_group(&mut self, spec: &GroupSpec, applied: &mut Applied) -> Result<(), Refusal> {
        if self.groups.contains_key(&spec.name) {
            return self.same_group(spec);
        }
        let nobody = Ownership::Unowned {
            last: Epoch::default(),
        };
        let state = GroupState {
            spec: spec.clone(),
            shards: vec![nobody; spec.count.get() as usize],
        };
        let group = spec.name.clone();
        self.groups.insert(group.clone(), state);
        applied.changes.push(Change::GroupCreated { group });
        Ok(())
    }

    fn group_of(&self, shard: &ShardKey) -> Result<&GroupState, Refusal> {
        let group = self.groups.get(&shard.group);
        group.ok_or_else(|| Refusal::NoSuchGroup {
            group: shard.group.clone(),
        })
    }

    fn ownership_mut(&mut self, shard: &ShardKey) -> Result<&mut Ownership, Refusal> {
        let group = self.groups.get_mut(&shard.group);
        let found = group.and_then(|group| group.shards.get_mut(shard.shard.index()));
        found.ok_or_else(|| Refusal::NoSuchShard {
            shard: shard.clone(),
        })
    }
}

/// The owner, if this ownership is the present one.
fn owner_at(
    ownership: &Ownership,
    shard: &ShardKey,
    named: Epoch,
) -> Result<(Incarnation, Epoch), Refusal> {
    let owner = ownership.owner().filter(|(_, epoch)| *epoch == named);
    owner.ok_or_else(|| Refusal::OtherEpoch {
        shard: shard.clone(),
        present: ownership.epoch(),
        named,
    })
}

/// Applies the parts of a command one by one: what is wrong with one is no matter for the others.
fn each<T>(
    parts: &[T],
    applied: &mut Applied,
    mut apply: impl FnMut(&T) -> Result<Option<Change>, Refusal>,
) -> Result<(), Refusal> {
    for part in parts {
        match apply(part) {
            Ok(change) => applied.changes.extend(change),
            Err(refusal) => applied.refusals.push(refusal),
        }
    }
    Ok(())
}
