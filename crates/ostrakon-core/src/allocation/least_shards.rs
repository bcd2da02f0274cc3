//! `LeastShards`: a shard gets an owner when somebody first asks for it.
//!
//! Its plans leave shards without owner alone, those of a lost node included: [`place`](LeastShards::place) finds a node
//! for one of them when it is needed. All other moves are those of [`Balanced`].

use serde::{Deserialize, Serialize};

use super::round::Round;
use super::{AllocationView, Allocator, Balanced, Holding, Plan};
use crate::{Incarnation, ShardId};

/// A shard gets an owner when somebody first asks for it: the node that has the fewest of its group.
///
/// Shards that have an owner are balanced among the nodes, and moved away from those that leave, as [`Balanced`] does
/// it. Shards without one do not count towards the average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeastShards {
    /// How shards are moved that have an owner.
    pub balanced: Balanced,
}

impl LeastShards {
    /// Who should have `shard`, which nobody has. `None` if somebody has it, if there is no such shard, or if no node
    /// takes any.
    pub fn place(&self, view: &AllocationView<'_>, shard: ShardId) -> Option<Incarnation> {
        let holding = view.shards.get(shard.index())?;
        if *holding != Holding::Unowned {
            return None;
        }
        let mut round = Round::new(view, 1);
        round.place(&[shard]);
        round.into_plan().moves.first().map(|planned| planned.to)
    }
}

impl Allocator for LeastShards {
    fn plan(&self, view: &AllocationView<'_>) -> Plan {
        let Balanced {
            rebalance_rate,
            seed,
        } = self.balanced;
        let mut round = Round::new(view, 0);
        round.empty_leaving();
        round.level(rebalance_rate.of(view.shards.len()), seed);
        round.into_plan()
    }
}
