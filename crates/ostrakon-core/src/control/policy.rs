//! `Policy`: the rules that a cluster lives by, kept in its log so that every coordinator follows the same.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{LeaseTiming, Rate, Rebalancing};

/// The rules of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What must be known before a silent node's shards are given to others. It holds for nodes that register from then on.
    pub failover: Failover,
    /// When shards get owners.
    pub placement: Placement,
    /// How often shards are moved for the sake of balance.
    pub rebalance_every: Duration,
    /// How much of a group a node may receive in one round of balancing.
    pub rebalance_rate: Rate,
    /// How many shards a node may be giving up at once.
    pub most_moving: u16,
    /// Whether shards are moved for the sake of balance at all.
    #[serde(default, skip_serializing_if = "Rebalancing::is_on")]
    pub rebalancing: Rebalancing,
}

/// What must be known before a silent node's shards are given to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failover {
    /// That it is dead. Nodes go on without the coordinator for as long as they like.
    Proof,
    /// That it is dead, or that its lease has run out: nodes stop acting when they cannot renew.
    Lease(LeaseTiming),
}

/// When shards get owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// As soon as there is a node for them.
    AtOnce,
    /// When somebody first asks for them.
    AtFirstAccess,
}

impl Failover {
    /// The times of the leases, if there are any.
    pub fn lease(&self) -> Option<LeaseTiming> {
        match self {
            Self::Proof => None,
            Self::Lease(timing) => Some(*timing),
        }
    }
}

/// Leases of the default length; all shards placed at once; every 20 s at most 2 % of a group to each node.
impl Default for Policy {
    fn default() -> Self {
        Self {
            failover: Failover::Lease(LeaseTiming::default()),
            placement: Placement::AtOnce,
            rebalance_every: Duration::from_secs(20),
            rebalance_rate: Rate::default(),
            most_moving: 8,
            rebalancing: Rebalancing::On,
        }
    }
}
