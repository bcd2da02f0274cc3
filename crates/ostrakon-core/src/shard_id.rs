//! `ShardId`: the number of one shard, counted from 1.
//!
//! It does not know how many shards there are: one that arrives from outside is checked with
//! [`ShardCount::contains`](crate::ShardCount::contains). Zero is no shard, so `Option<ShardId>` is
//! as small as `ShardId`, and a decoded zero is an error.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The number of one shard, in `1..=n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ShardId(NonZeroU32);

impl ShardId {
    /// The shard with this number, or `None` for zero.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number, counted from 1.
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// The place in a table of shards, counted from 0.
    pub const fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }

    /// The reverse of [`index`](Self::index), for an index below some
    /// [`ShardCount`](crate::ShardCount): far from where the addition would saturate.
    pub(crate) const fn from_index(index: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index))
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_count_from_one_and_tables_from_zero() {
        assert_eq!(ShardId::new(0), None);
        let seven = ShardId::new(7).unwrap();
        assert_eq!((seven.get(), seven.index()), (7, 6));
        assert_eq!(ShardId::from_index(6), seven);
        assert_eq!(seven.to_string(), "7");
    }

    #[test]
    fn a_decoded_zero_is_an_error() {
        assert_eq!(
            serde_json::from_str::<ShardId>("7").unwrap(),
            ShardId::new(7).unwrap()
        );
        assert!(serde_json::from_str::<ShardId>("0").is_err());
    }

    #[test]
    fn an_optional_shard_takes_four_bytes() {
        assert_eq!(size_of::<Option<ShardId>>(), 4);
    }
}
