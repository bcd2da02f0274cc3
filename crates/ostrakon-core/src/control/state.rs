//! `ControlState`: everything that the control log decides.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::{
    Applied, Change, Command, DeathProof, Entry, Granting, GroupSpec, Handover, Member,
    MemberState, Moving, Ownership, Policy, Refusal, Registration,
};
use crate::{
    Assignment, GroupName, Incarnation, Index, NodeName, Rule, Rules, ShardId, ShardKey, ShardMap,
    Term, Version,
};

/// The most nodes a cluster can have.
const MOST_MEMBERS: usize = 10_000;
/// So many registrations of runs that are over are remembered, lest a late copy of one begins a run that nobody is.
const REMEMBERED: usize = 4096;

/// Members, groups, owners and rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlState {
    applied: Index,
    term: Term,
    grantor: Option<NodeName>,
    members: BTreeMap<Incarnation, Member>,
    over: VecDeque<u64>,
    groups: BTreeMap<GroupName, GroupState>,
    policy: Policy,
}

/// A group and the owners of its shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupState {
    /// How it was created.
    pub spec: GroupSpec,
    /// By [`ShardId::index`].
    pub shards: Vec<Ownership>,
}

impl ControlState {
    /// Applies an entry of the log. One that was applied before changes nothing.
    pub fn apply(&mut self, index: Index, entry: &Entry) -> Applied {
        self.apply_under(index, entry, Rules::default())
    }

    pub(crate) fn apply_under(&mut self, index: Index, entry: &Entry, rules: Rules) -> Applied {
        let mut applied = Applied::default();
        if index <= self.applied {
            return applied;
        }
        self.applied = index;
        if let Command::Takeover { grantor, run } = &entry.command {
            self.term = index.into();
            self.grantor = Some(grantor.clone());
            applied.changes.push(Change::TookOver {
                grantor: grantor.clone(),
                run: *run,
                term: self.term,
            });
        } else if entry.term == self.term || !rules.keep(Rule::TermsFence) {
            self.command(index, &entry.command, &mut applied);
        } else {
            applied.refusals.push(Refusal::Deposed {
                stale: entry.term,
                term: self.term,
            });
        }
        applied
    }

    fn command(&mut self, index: Index, command: &Command, applied: &mut Applied) {
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

    /// Why this registration would come to nothing, apart from groups that do not exist yet.
    pub(crate) fn refuses(&self, registration: &Registration) -> Option<Refusal> {
        if self.over.contains(&registration.nonce) {
            return Some(Refusal::RunIsOver);
        }
        let known = registration
            .groups
            .iter()
            .filter(|group| self.groups.contains_key(&group.name));
        let mut differing = known.filter_map(|group| self.same_group(group).err());
        differing.next()
    }

    /// A group that somebody believes in, as it really is.
    fn same_group(&self, wanted: &GroupSpec) -> Result<(), Refusal> {
        let group = wanted.name.clone();
        let Some(exists) = self.groups.get(&group) else {
            return Err(Refusal::NoSuchGroup { group });
        };
        if exists.spec == *wanted {
            return Ok(());
        }
        Err(Refusal::GroupDiffers {
            group,
            exists: exists.spec.to_string(),
            wanted: wanted.to_string(),
        })
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
            last: crate::Epoch::default(),
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

impl ControlState {
    /// The last entry that was applied.
    pub fn applied(&self) -> Index {
        self.applied
    }

    /// The present leadership.
    pub fn term(&self) -> Term {
        self.term
    }

    /// Who leads.
    pub fn grantor(&self) -> Option<&NodeName> {
        self.grantor.as_ref()
    }

    /// The rules.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The live runs of nodes, in the order of their registration.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (Incarnation, &Member)> {
        self.members
            .iter()
            .map(|(incarnation, member)| (*incarnation, member))
    }

    /// A live run of a node.
    pub fn member(&self, incarnation: Incarnation) -> Option<&Member> {
        self.members.get(&incarnation)
    }

    /// The live run that registered with this number.
    pub fn registered(&self, nonce: u64) -> Option<Incarnation> {
        let found = self
            .members
            .iter()
            .find(|(_, member)| member.registration.nonce == nonce);
        found.map(|(incarnation, _)| *incarnation)
    }

    /// Whether the run that registered with this number is over.
    pub fn is_over(&self, nonce: u64) -> bool {
        self.over.contains(&nonce)
    }

    /// The groups by name.
    pub fn groups(&self) -> impl Iterator<Item = &GroupState> {
        self.groups.values()
    }

    /// A group.
    pub fn group(&self, name: &GroupName) -> Option<&GroupState> {
        self.groups.get(name)
    }

    /// Whether a run owns no shard at all.
    pub fn holds_nothing(&self, incarnation: Incarnation) -> bool {
        let mut shards = self.groups.values().flat_map(|group| &group.shards);
        !shards.any(|ownership| ownership.owner().is_some_and(|(by, _)| by == incarnation))
    }

    /// Who has a shard.
    pub fn ownership(&self, shard: &ShardKey) -> Option<Ownership> {
        let group = self.groups.get(&shard.group)?;
        group.shards.get(shard.shard.index()).copied()
    }

    /// The map that routing goes by.
    pub fn map(&self) -> ShardMap {
        let groups = self.groups.values().map(|group| {
            let owners = group.shards.iter().map(|ownership| {
                let (by, epoch) = ownership.owner()?;
                let owner = self.members.get(&by)?.registration.name.clone();
                Some(Assignment { owner, epoch })
            });
            (group.spec.name.clone(), owners.collect())
        });
        ShardMap::of(Version::from(self.applied), groups)
    }
}

impl GroupState {
    /// Every shard with its owner.
    pub fn iter(&self) -> impl Iterator<Item = (ShardKey, Ownership)> {
        let keys = (0..).map(|index| ShardKey {
            group: self.spec.name.clone(),
            shard: ShardId::from_index(index),
        });
        keys.zip(self.shards.iter().copied())
    }

    fn lose(&mut self, incarnation: Incarnation, changes: &mut Vec<Change>) {
        let name = &self.spec.name;
        for (index, ownership) in (0..).zip(&mut self.shards) {
            match *ownership {
                Ownership::Owned { by, epoch } | Ownership::Releasing { by, epoch, .. }
                    if by == incarnation =>
                {
                    *ownership = Ownership::Unowned { last: epoch };
                    let shard = ShardKey {
                        group: name.clone(),
                        shard: ShardId::from_index(index),
                    };
                    changes.push(Change::Freed { shard, by, epoch });
                }
                Ownership::Releasing { by, epoch, to } if to == Some(incarnation) => {
                    *ownership = Ownership::Releasing {
                        by,
                        epoch,
                        to: None,
                    };
                }
                Ownership::Unowned { .. }
                | Ownership::Owned { .. }
                | Ownership::Releasing { .. } => {}
            }
        }
    }
}

/// The owner, if this ownership is the present one.
fn owner_at(
    ownership: &Ownership,
    shard: &ShardKey,
    named: crate::Epoch,
) -> Result<(Incarnation, crate::Epoch), Refusal> {
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

#[cfg(test)]
mod tests;
