//! `Load`: what one node has and what it should have, while a round is planned.
//!
//! The shares of all nodes add up to the shards there are to share, so as long as a shard is left over, some node is
//! below its share. That is why no rule here can pile shards on one node, whatever the versions say.

use std::cmp::Reverse;

use super::versions::Versions;
use super::{AllocationView, Holding, Stance};
use crate::{Incarnation, ShardId};

/// What one node has and what it should have.
pub(super) struct Load {
    pub(super) incarnation: Incarnation,
    pub(super) stance: Stance,
    /// The place of its version among the versions: shards go to 0 first.
    pub(super) rank: usize,
    weight: u64,
    /// The shards that count as its own, the moves of this round included.
    pub(super) has: u32,
    /// How many it should have in the end.
    pub(super) share: u32,
    /// How many of those are on their way to it, or given to it in this round.
    pub(super) gets: u32,
    /// The shards that it can be asked to give up.
    pub(super) held: Vec<ShardId>,
}

impl Load {
    /// What the nodes have, in the order in which they registered. Each should have its share of all that is not
    /// kept by others, `unowned` shards included.
    pub(super) fn of_nodes(view: &AllocationView<'_>, unowned: usize) -> Vec<Self> {
        let versions = Versions::of(view.nodes);
        let mut loads = Vec::from_iter(view.nodes.iter().map(|node| Self {
            incarnation: node.incarnation,
            stance: node.stance,
            rank: versions.rank(node),
            weight: u64::from(node.weight.max(1)),
            has: 0,
            share: 0,
            gets: 0,
            held: Vec::new(),
        }));
        loads.sort_unstable_by_key(|load| load.incarnation);
        count(&mut loads, view);
        deal(&mut loads, unowned as u64);
        loads
    }

    pub(super) fn takes(&self) -> bool {
        self.stance == Stance::Takes
    }

    /// Whether it is below its share.
    pub(super) fn wants(&self) -> bool {
        self.takes() && self.has < self.share
    }

    /// Shards for its weight, to be compared with that of others.
    pub(super) fn fullness(&self) -> u64 {
        (u64::from(self.has) << 32) / self.weight
    }
}

fn count(loads: &mut [Load], view: &AllocationView<'_>) {
    for (shard, holding) in view.holdings() {
        let (Holding::Held(node) | Holding::Moving(node)) = holding else {
            continue;
        };
        let Ok(place) = loads.binary_search_by_key(&node, |load| load.incarnation) else {
            continue;
        };
        let load = &mut loads[place];
        load.has += 1;
        match holding {
            Holding::Held(_) => load.held.push(shard),
            Holding::Moving(_) | Holding::Unowned => load.gets += 1,
        }
    }
}

/// Gives every node that takes its share by weight, in whole shards.
///
/// What rounding leaves over goes to those who have more than the rounded share already, because nothing has to move
/// for it, and then to the version that gets shards first.
fn deal(loads: &mut [Load], unowned: u64) {
    let sharing = loads.iter().filter(|load| load.stance != Stance::Keeps);
    let shards = unowned + sharing.map(|load| u64::from(load.has)).sum::<u64>();
    let takers = loads.iter().filter(|load| load.takes());
    let weights = takers.map(|load| load.weight).sum::<u64>();
    let mut left = shards;
    let mut rounded = Vec::new();
    for (index, load) in loads
        .iter_mut()
        .enumerate()
        .filter(|(_, load)| load.takes())
    {
        let (share, rest) = (
            shards * load.weight / weights,
            shards * load.weight % weights,
        );
        load.share = u32::try_from(share).unwrap_or(u32::MAX);
        left -= share;
        if rest > 0 {
            let order = (load.has <= load.share, load.rank, Reverse(rest));
            rounded.push((order, index));
        }
    }
    rounded.sort_unstable();
    for (_, index) in rounded.into_iter().take(left as usize) {
        loads[index].share += 1;
    }
}
