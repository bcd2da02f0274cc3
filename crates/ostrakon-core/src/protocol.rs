//! What nodes and their coordinator say to each other about ownership.
//!
//! Every message may be lost, doubled, delayed or overtaken. What a node shall hold is always said in full, with the index of the
//! log at which it was true ([`Holdings`]), so a later message makes up for every earlier one and an earlier one is known as such.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Epoch, Failover, Handover, Incarnation, Index, Registration, ShardKey};

/// From a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToCoordinator {
    /// It wants to be a member.
    Register {
        /// What it says about itself.
        registration: Registration,
        /// How long what runs there at the end of a lease may run on.
        slack: Duration,
    },
    /// It is there, and wants to act on.
    Renew {
        /// Which run.
        incarnation: Incarnation,
        /// Counts the renewals of this run.
        seq: u64,
        /// The last renewal that it knows to have been answered.
        ok_seq: u64,
        /// The index of the holdings it knows.
        seen: Index,
    },
    /// It has given these shards up: nothing of them acts any more.
    Released {
        /// Which run.
        incarnation: Incarnation,
        /// The shards.
        shards: Vec<Handover>,
    },
    /// It wants to go.
    Leave {
        /// Which run.
        incarnation: Incarnation,
    },
    /// It holds nothing and goes.
    Gone {
        /// Which run.
        incarnation: Incarnation,
    },
    /// It cannot reach another node. That is suspicion, not proof.
    Unreachable {
        /// Which run of the other.
        incarnation: Incarnation,
    },
    /// Somebody wants a shard that has no owner.
    Wanted {
        /// Which shard.
        shard: ShardKey,
    },
}

/// To a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToRegion {
    /// It is a member.
    Registered {
        /// The number it registered with.
        nonce: u64,
        /// Which run it is.
        incarnation: Incarnation,
        /// What it lives by.
        failover: Failover,
    },
    /// It cannot be a member.
    Refused {
        /// The number it wanted to register with.
        nonce: u64,
        /// Why, and what to do.
        reason: String,
    },
    /// The run that registered with this number is over, and it never heard of it: it has to register with another.
    Spent {
        /// The number.
        nonce: u64,
    },
    /// It may act on, counted from when it sent this renewal.
    RenewOk {
        /// Which run.
        incarnation: Incarnation,
        /// Which renewal.
        seq: u64,
    },
    /// Its run is over: whatever it held may be somebody else's.
    Ended {
        /// Which run.
        incarnation: Incarnation,
    },
    /// What it shall hold.
    Holdings(Holdings),
}

/// All that a node shall hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holdings {
    /// Which run of the node.
    pub incarnation: Incarnation,
    /// The index of the log at which this was so.
    pub at: Index,
    /// The shards.
    pub shards: Vec<OwnedShard>,
}

/// A shard that a node owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedShard {
    /// Which shard.
    pub shard: ShardKey,
    /// Which ownership.
    pub epoch: Epoch,
    /// What it shall do with it.
    pub order: Order,
}

/// What an owner shall do with a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Serve it.
    Serve,
    /// Give it up.
    Release,
}
