//! `ShardCount`: how many shards a group has.
//!
//! It is chosen when the group is created and never changes, because it decides where every id
//! belongs. The upper bound keeps a mistyped number from filling the memory of every node.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::ShardId;

/// How many shards a group has: 1 to [`MAX`](Self::MAX), 300 by default.
///
/// About ten shards for each node one ever expects to run is a good choice: enough to balance, few
/// enough to move one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct ShardCount(NonZeroU32);

impl ShardCount {
    /// The largest number of shards a group can have.
    pub const MAX: u32 = 1_000_000;

    /// Checks that `count` is in `1..=MAX`.
    pub const fn new(count: u32) -> Result<Self, InvalidShardCount> {
        match NonZeroU32::new(count) {
            Some(checked) if count <= Self::MAX => Ok(Self(checked)),
            _ => Err(InvalidShardCount { count }),
        }
    }

    /// The number of shards.
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// Whether `shard` is one of these.
    pub const fn contains(self, shard: ShardId) -> bool {
        shard.get() <= self.0.get()
    }

    /// All shards, from 1 up.
    pub fn iter(self) -> impl ExactSizeIterator<Item = ShardId> {
        (0..self.get()).map(ShardId::from_index)
    }
}

impl Default for ShardCount {
    fn default() -> Self {
        const { Self(NonZeroU32::new(300).expect("300 is not zero")) }
    }
}

impl fmt::Display for ShardCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<u32> for ShardCount {
    type Error = InvalidShardCount;

    fn try_from(count: u32) -> Result<Self, Self::Error> {
        Self::new(count)
    }
}

impl From<ShardCount> for u32 {
    fn from(count: ShardCount) -> Self {
        count.get()
    }
}

/// A number of shards that no group can have. Nothing was created; choose another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a group cannot have {count} shards: choose 1 to {max}", max = ShardCount::MAX)]
pub struct InvalidShardCount {
    /// The refused number.
    pub count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_to_a_million_shards_are_accepted() {
        assert_eq!(ShardCount::new(1).unwrap().get(), 1);
        assert_eq!(ShardCount::new(1_000_000).unwrap().get(), 1_000_000);
        assert_eq!(ShardCount::new(0), Err(InvalidShardCount { count: 0 }));
        assert_eq!(
            ShardCount::new(1_000_001).unwrap_err().to_string(),
            "a group cannot have 1000001 shards: choose 1 to 1000000"
        );
    }

    #[test]
    fn the_default_is_300() {
        assert_eq!(ShardCount::default(), ShardCount::new(300).unwrap());
    }

    #[test]
    fn iterating_yields_every_shard_once_and_in_order() {
        let shards = ShardCount::new(3).unwrap().iter();
        assert_eq!(shards.len(), 3);
        assert_eq!(shards.map(ShardId::get).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn the_last_shard_is_contained_and_the_next_is_not() {
        let three = ShardCount::new(3).unwrap();
        assert!(three.contains(ShardId::new(3).unwrap()));
        assert!(!three.contains(ShardId::new(4).unwrap()));
    }

    #[test]
    fn a_decoded_count_is_checked() {
        assert_eq!(
            serde_json::to_string(&ShardCount::default()).unwrap(),
            "300"
        );
        assert_eq!(
            serde_json::from_str::<ShardCount>("300").unwrap(),
            ShardCount::default()
        );
        assert!(serde_json::from_str::<ShardCount>("1000001").is_err());
    }
}
