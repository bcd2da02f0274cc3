//! `Balanced`: every node has its share of the shards, and every shard has an owner as soon as there is one for it.
//!
//! It is the assignment algorithm of Shardcake with the decisions that its page leaves open. It knows nothing of time:
//! when a round is due, and how many moves are under way at once, is up to whoever asks for the plan.

use serde::{Deserialize, Serialize};

use super::round::Round;
use super::{AllocationView, Allocator, Plan, Rate};

/// Every node has its share of the shards, and every shard an owner as soon as there is one for it.
///
/// # The four steps
///
/// These are on the architecture page of Shardcake:
///
/// 1. The average is the number of shards by the number of nodes.
/// 2. A node above the average has *extra* shards, picked at random; none has any as long as nodes have different
///    versions, for then an update is under way and shards would move twice.
/// 3. Shards without an owner come first, then extra shards, those of the fullest node in front, then those of the node
///    that registered first.
/// 4. Each goes to the node that has the fewest, of the newest version only; to none if that is its own node, or if
///    that node has only one less.
///
/// The page does not say, but its code does, that in one round a node gets extra shards only up to
/// [`rebalance_rate`](Self::rebalance_rate) of all shards, and none if it has lost one.
///
/// # What is ours
///
/// - **The average is a whole number for each node**, its share: the average rounded down or up, such that all shares
///   add up and the nodes above the average are those rounded up. Differences of one follow from that, and so does
///   that no more shards move than must. *Every* shard goes to a node below its share.
/// - **Weights**: a node of weight 2 has twice the share of a node of weight 1, and the fewest shards for its weight
///   count as the fewest. When all are equal, that is the rule above.
/// - **Nodes that leave** are emptied after shards without owner and before extra ones, and the rate does not hold that
///   back: such a node has a deadline, and what it still has by then is lost less gently. That no node is overrun is a
///   matter of how many moves are under way at once, not of the plan. All that a node gets counts towards its rate.
/// - **Several versions**: when all nodes of the newest have their share, the next version gets shards; and a version
///   of which a node leaves comes last. In an update with replacements that start first nothing changes by that: every
///   shard moves once. But in a rollback the newest version is the one that goes, and to give it everything would pile
///   all shards on its last node; and a lone new node, or an old one that restarts time and again, never has more than
///   its share.
/// - **Nodes that only keep** what they have are left out, with their shards, of the average and of the versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balanced {
    /// How much of the group a node may get in one round for the sake of balance.
    pub rebalance_rate: Rate,
    /// Decides which shards of a node are picked. Nothing else depends on it.
    pub seed: u64,
}

impl Allocator for Balanced {
    fn plan(&self, view: &AllocationView<'_>) -> Plan {
        let unowned = Vec::from_iter(view.unowned());
        let mut round = Round::new(view, unowned.len());
        round.place(&unowned);
        round.empty_leaving();
        round.level(self.rebalance_rate.of(view.shards.len()), self.seed);
        round.into_plan()
    }
}
