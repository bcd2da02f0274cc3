//! `ShardGroup`: a set of shards that entities are spread over.
//!
//! Name, count and hash are fixed when the group is made: another count or hash would put entities elsewhere.

use crate::{
    EntityId, GroupName, ShardCount, ShardHash, ShardId, ShardOutOfRange,
    shard_hash::shard_of_hash, shard_of,
};

/// A named set of shards and the rule that puts an entity into one of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardGroup {
    /// What kinds call it by.
    pub name: GroupName,
    /// How many shards it has.
    pub count: ShardCount,
    /// How ids are spread over them.
    pub hash: ShardHash,
}

impl ShardGroup {
    /// The shard that `id` belongs to, for whoever has its [`stable_hash`](crate::stable_hash) at hand.
    pub fn shard_of_hashed(&self, id: &EntityId, hashed: u64) -> Result<ShardId, ShardOutOfRange> {
        match self.hash {
            ShardHash::Stable => Ok(shard_of_hash(hashed, self.count)),
            ShardHash::Java | ShardHash::Md5 | ShardHash::Custom(_) => self.shard_of(id),
        }
    }

    /// The shard that `id` belongs to.
    pub fn shard_of(&self, id: &EntityId) -> Result<ShardId, ShardOutOfRange> {
        shard_of(id, self.count, &self.hash)
    }
}
