//! `PlannedRound`: what the next round of balancing would do.

use ostrakon_core::{ControlState, Incarnation, MoveReason, PlannedMove, Rebalancing};
use serde::{Deserialize, Serialize};

use crate::shard::name_of;

/// What a round of balancing would do if it began now. Nothing of it has been done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRound {
    /// Whether shards are moved for the sake of balance at all. While they are not, this is what unfreezing would do.
    pub rebalancing: Rebalancing,
    /// The moves, in their order.
    pub moves: Vec<Planned>,
}

/// A shard that would get another owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Its group.
    pub group: String,
    /// Its number there.
    pub shard: u32,
    /// Who has it now.
    pub from: Option<String>,
    /// Who would have it; `None` if that is decided later.
    pub to: Option<String>,
    /// Why: `unowned`, `draining` or `balance`.
    pub reason: String,
    /// Why, in words.
    pub because: String,
}

impl PlannedRound {
    pub(crate) fn of(state: &ControlState, plan: &[PlannedMove]) -> Self {
        Self {
            rebalancing: state.policy().rebalancing,
            moves: plan
                .iter()
                .map(|planned| Planned::of(state, planned))
                .collect(),
        }
    }
}

impl Planned {
    fn of(state: &ControlState, planned: &PlannedMove) -> Self {
        let name = |run: Incarnation| name_of(state, run);
        let reason = match planned.reason {
            MoveReason::Unowned => "unowned",
            MoveReason::Draining => "draining",
            MoveReason::Balance { .. } => "balance",
        };
        Self {
            group: planned.shard.group.to_string(),
            shard: planned.shard.shard.get(),
            from: planned.from.map(name),
            to: planned.to.map(name),
            reason: reason.to_owned(),
            because: planned.reason.to_string(),
        }
    }
}
