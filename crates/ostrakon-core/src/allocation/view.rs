//! `AllocationView`: what an allocator sees of one shard group.
//!
//! It is a picture, made for one plan and thrown away. It says who *counts* as having a shard, for the sake of balance;
//! who may act on a shard is another question, and not answered here.

use super::NodeVersion;
use crate::{Incarnation, ShardId};

/// What an allocator sees of one shard group.
#[derive(Clone, Copy, Debug)]
pub struct AllocationView<'a> {
    /// The live nodes, in the order in which they registered.
    pub nodes: &'a [NodeView],
    /// Who has each shard; the place in the slice is [`ShardId::index`].
    pub shards: &'a [Holding],
}

/// What an allocator knows of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Which run of which node. A later registration has a higher one.
    pub incarnation: Incarnation,
    /// What it runs.
    pub version: NodeVersion,
    /// Its part of the shards, compared with the weights of the others. 0 counts as 1.
    pub weight: u32,
    /// Whether it may get shards, and whether it may keep them.
    pub stance: Stance,
}

/// Whether a node may get shards, and whether it may keep them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// It keeps what it has and gets its share.
    Takes,
    /// It keeps what it has and gets nothing: it may be suspected, or have no role in this group.
    Keeps,
    /// It drains: everything it has is to go elsewhere.
    Leaves,
}

/// Who has a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Nobody.
    Unowned,
    /// This node. One that is not in the view cannot be asked to let go, so its shards stay where they are.
    Held(Incarnation),
    /// It is on its way to this node, and counts as being there; where it goes nowhere yet, it counts where it is. It
    /// is not planned again before it has arrived.
    Moving(Incarnation),
}

impl AllocationView<'_> {
    /// The shards that nobody has.
    pub fn unowned(&self) -> impl Iterator<Item = ShardId> {
        self.holdings()
            .filter_map(|(shard, holding)| (holding == Holding::Unowned).then_some(shard))
    }

    /// Every shard with its holder.
    pub(super) fn holdings(&self) -> impl Iterator<Item = (ShardId, Holding)> {
        (0..)
            .map(ShardId::from_index)
            .zip(self.shards.iter().copied())
    }
}
