//! `ShardMap`: who owns which shard, at one [`Version`].
//!
//! A map is never changed in place: a new version replaces it whole, so whoever reads one reads one state. It is what routing
//! goes by, and it may be behind: the owner itself always has the last word.

use std::collections::BTreeMap;

use crate::{Epoch, GroupName, NodeName, ShardGroup, ShardId, Version};

/// Who owns a shard, and which ownership that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The owner.
    pub owner: NodeName,
    /// Which ownership: a later one has a higher epoch.
    pub epoch: Epoch,
}

/// The owners of all shards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardMap {
    version: Version,
    groups: BTreeMap<GroupName, Vec<Option<Assignment>>>,
}

impl ShardMap {
    /// A map of these groups in which nobody owns anything.
    pub fn unowned<'g>(version: Version, groups: impl IntoIterator<Item = &'g ShardGroup>) -> Self {
        let groups = groups.into_iter().map(|group| {
            let shards = group.count.iter().map(|_| None).collect();
            (group.name.clone(), shards)
        });
        Self {
            version,
            groups: groups.collect(),
        }
    }

    /// A map with these owners.
    pub(crate) fn of(
        version: Version,
        groups: impl Iterator<Item = (GroupName, Vec<Option<Assignment>>)>,
    ) -> Self {
        Self {
            version,
            groups: groups.collect(),
        }
    }

    /// The same map one version later, with one shard's owner changed. A shard that does not exist changes nothing.
    #[must_use = "the map itself does not change"]
    pub fn with(&self, group: &GroupName, shard: ShardId, assignment: Option<Assignment>) -> Self {
        let mut next = self.clone();
        next.version = self.version.next();
        let shards = next.groups.get_mut(group);
        if let Some(place) = shards.and_then(|shards| shards.get_mut(shard.index())) {
            *place = assignment;
        }
        next
    }

    /// The same shards at this version, each with the owner that `owner` names.
    pub fn map_owners(
        &self,
        version: Version,
        mut owner: impl FnMut(&GroupName, ShardId, Option<&Assignment>) -> Option<Assignment>,
    ) -> Self {
        let groups = self.groups.iter().map(|(group, shards)| {
            let numbers = (0..).map(ShardId::from_index);
            let owners = numbers.zip(shards);
            let owners = owners.map(|(shard, old)| owner(group, shard, old.as_ref()));
            (group.clone(), owners.collect())
        });
        Self {
            groups: groups.collect(),
            version,
        }
    }

    /// Which state of the map this is.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Who owns a shard; `None` if nobody does, or if there is no such shard.
    pub fn owner(&self, group: &GroupName, shard: ShardId) -> Option<&Assignment> {
        self.groups.get(group)?.get(shard.index())?.as_ref()
    }

    /// Every shard with its owner, group by group.
    pub fn iter(&self) -> impl Iterator<Item = (&GroupName, ShardId, Option<&Assignment>)> {
        self.groups.iter().flat_map(|(group, shards)| {
            let owners = shards.iter().map(Option::as_ref);
            let numbers = (0..).map(ShardId::from_index);
            numbers
                .zip(owners)
                .map(move |(shard, owner)| (group, shard, owner))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ShardCount, ShardHash};

    fn group(count: u32) -> ShardGroup {
        ShardGroup {
            name: GroupName::default(),
            count: ShardCount::new(count).unwrap(),
            hash: ShardHash::Stable,
        }
    }

    fn to(node: &str, epoch: u64) -> Option<Assignment> {
        Some(Assignment {
            owner: NodeName::new(node).unwrap(),
            epoch: Epoch::new(epoch),
        })
    }

    #[test]
    fn a_change_is_a_new_version_and_leaves_the_old_map_alone() {
        let (name, shard) = (GroupName::default(), ShardId::new(2).unwrap());
        let old = ShardMap::unowned(Version::new(7), [&group(3)]);
        let new = old.with(&name, shard, to("a", 4));
        assert_eq!(old.owner(&name, shard), None);
        assert_eq!(new.owner(&name, shard), to("a", 4).as_ref());
        assert_eq!(
            (old.version(), new.version()),
            (Version::new(7), Version::new(8))
        );
    }

    #[test]
    fn a_shard_or_group_that_does_not_exist_has_no_owner() {
        let map = ShardMap::unowned(Version::new(1), [&group(3)]);
        let (inside, beyond) = (ShardId::new(1).unwrap(), ShardId::new(4).unwrap());
        let map = map.with(&GroupName::default(), beyond, to("a", 1));
        assert_eq!(map.owner(&GroupName::default(), beyond), None);
        assert_eq!(map.owner(&GroupName::new("other").unwrap(), inside), None);
        assert_eq!(map.iter().count(), 3);
    }
}
