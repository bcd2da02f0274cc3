//! What a region is told, and what it wants done.

use crate::{Assignment, Epoch, Incarnation, ShardKey, ShardMap, ToCoordinator, ToRegion};

/// What has happened.
#[derive(Clone, Debug)]
pub enum RegionInput {
    /// Time has passed.
    Wake,
    /// A coordinator has said something.
    Heard(ToRegion),
    /// Nothing of a shard that was to be drained acts any more, and what it had to store is stored.
    Quiet {
        /// Which shard.
        shard: ShardKey,
        /// Which ownership.
        epoch: Epoch,
    },
    /// There is a map; it may be an old one.
    Map(ShardMap),
    /// The node wants to go.
    Leave,
    /// Another node cannot be reached.
    Unreachable {
        /// Which run of it.
        incarnation: Incarnation,
    },
    /// There is a message for a shard that nobody owns.
    Wanted {
        /// Which shard.
        shard: ShardKey,
    },
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegionAction {
    /// To be sent to the coordinator, or to all that could be it.
    Send(ToCoordinator),
    /// Entities of this shard live here now.
    Open {
        /// Which shard.
        shard: ShardKey,
        /// Which ownership.
        epoch: Epoch,
    },
    /// Entities of this shard finish what they do and stop; then [`RegionInput::Quiet`] is due.
    Drain {
        /// Which shard.
        shard: ShardKey,
        /// Which ownership.
        epoch: Epoch,
    },
    /// Entities of this shard end at once: somebody else may be the owner.
    Fence {
        /// Which shard.
        shard: ShardKey,
        /// Which ownership.
        epoch: Epoch,
    },
    /// The node cannot be a member. It goes on asking.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// The node has left: it may stop.
    Left,
}

/// Where messages for a shard go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'r> {
    /// To this node.
    Here(Epoch),
    /// To another node, as far as is known.
    There(&'r Assignment),
    /// Nowhere yet.
    Nowhere,
}
