//! `Vitals`: what a node is doing, for people to look at.
//!
//! Nothing is decided by it and nothing of it is kept: it says how things were a moment ago, and the next one takes its place. Rates are
//! whole numbers of messages in a thousand seconds, so that there is no number in it that is none.

use ostrakon_core::{EntityId, EntityKind, ShardKey};
use serde::{Deserialize, Serialize};

/// What a node is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vitals {
    /// How many messages its entities handle in a thousand seconds.
    pub messages_per_1000s: u64,
    /// How long half of them take at most, in nanoseconds; `None` if too few were timed.
    pub p50_ns: Option<u64>,
    /// The same for 99 of 100.
    pub p99_ns: Option<u64>,
    /// How many entities are in memory.
    pub entities: u64,
    /// How many messages wait in their mailboxes.
    pub queued: u64,
    /// For how long it may act if nobody answers it any more; `None` if it does not live by a lease.
    pub lease_left_ms: Option<u64>,
    /// The shards with the most messages, the hottest first.
    pub hot_shards: Vec<HotShard>,
    /// The entities with the most messages, as far as samples tell, the hottest first.
    pub hot_entities: Vec<HotEntity>,
}

/// A shard that has much to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotShard {
    /// Which.
    pub shard: ShardKey,
    /// How many messages its entities handle in a thousand seconds.
    pub messages_per_1000s: u64,
}

/// An entity that has much to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotEntity {
    /// Of which kind.
    pub kind: EntityKind,
    /// Which of its kind.
    pub id: EntityId,
    /// How many messages it handles in a thousand seconds.
    pub messages_per_1000s: u64,
}

impl Vitals {
    /// So many shards and so many entities are named at most.
    pub const MOST_HOT: usize = 10;

    /// Whether it names no more than it may.
    pub fn is_bounded(&self) -> bool {
        self.hot_shards.len() <= Self::MOST_HOT && self.hot_entities.len() <= Self::MOST_HOT
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_core::{GroupName, ShardId};

    use super::*;
    use crate::{Framed, FromNode};

    /// As much as may be named, with ids and kinds of this length.
    fn full(kind: usize, id: usize) -> Vitals {
        let shard = |number| HotShard {
            shard: ShardKey {
                group: GroupName::default(),
                shard: ShardId::new(number).unwrap(),
            },
            messages_per_1000s: 1_234_567,
        };
        let entity = || HotEntity {
            kind: EntityKind::new("k".repeat(kind)).unwrap(),
            id: EntityId::new("i".repeat(id)).unwrap(),
            messages_per_1000s: 1_234_567,
        };
        let most = u32::try_from(Vitals::MOST_HOT).unwrap();
        Vitals {
            hot_shards: (1..=most).map(shard).collect(),
            hot_entities: (1..=most).map(|_| entity()).collect(),
            ..Vitals::default()
        }
    }

    fn size(vitals: Vitals) -> usize {
        let words = FromNode::Vitals(Box::new(vitals));
        Framed::new(&words).unwrap().size()
    }

    #[test]
    fn it_is_small_whatever_is_named() {
        assert!(size(Vitals::default()) < 200);
        assert!(size(full(10, 20)) < 2000);
        assert!(size(full(EntityKind::MAX_LEN, EntityId::MAX_LEN)) < 16 << 10);
    }

    #[test]
    fn more_than_may_be_named_is_noticed() {
        let mut vitals = full(1, 1);
        assert!(vitals.is_bounded());
        vitals.hot_entities.push(vitals.hot_entities[0].clone());
        assert!(!vitals.is_bounded());
        vitals.hot_entities.pop();
        vitals.hot_shards.push(vitals.hot_shards[0].clone());
        assert!(!vitals.is_bounded());
    }

    #[test]
    fn it_is_newer_than_the_first_version() {
        assert_eq!(FromNode::Pong.since(), 1);
        let words = FromNode::Vitals(Box::default());
        assert_eq!(words.since(), 2);
    }
}
