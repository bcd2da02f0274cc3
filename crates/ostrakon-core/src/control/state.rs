//! `ControlState`: everything that the control log decides.

mod apply;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::{
    Applied, Change, Command, Entry, GroupSpec, GroupState, Member, Ownership, Policy, Refusal,
    Registration,
};
use crate::{
    Assignment, GroupName, Incarnation, Index, NodeName, Rule, Rules, ShardKey, ShardMap, Term,
    Version,
};

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

#[cfg(test)]
mod tests;
