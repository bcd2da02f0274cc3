//! `Round`: one plan in the making.
//!
//! A receiver is always the node that has the least among those below their share, of the version that gets shards
//! first. Nodes above their share only give and nodes below it only get, so no shard moves twice, and none moves that
//! would have to move back. A heap keeps the receivers in order: a move costs the logarithm of the number of nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use super::load::Load;
use super::pick::pick;
use super::{AllocationView, Move, MoveReason, Plan, Stance};
use crate::ShardId;

/// One plan in the making.
pub(super) struct Round {
    /// In the order of registration; an index into it stands for a node.
    loads: Vec<Load>,
    /// The nodes below their share, the next receiver on top.
    receivers: BinaryHeap<Reverse<(usize, u64, usize)>>,
    moves: Vec<Move>,
}

impl Round {
    /// Nothing is planned yet. As many shards as `unowned` says will be placed.
    pub(super) fn new(view: &AllocationView<'_>, unowned: usize) -> Self {
        let mut round = Self {
            loads: Load::of_nodes(view, unowned),
            receivers: BinaryHeap::new(),
            moves: Vec::new(),
        };
        for index in 0..round.loads.len() {
            round.line_up(index);
        }
        round
    }

    /// Finds nodes for shards that nobody has.
    pub(super) fn place(&mut self, unowned: &[ShardId]) {
        for &shard in unowned {
            let Some(to) = self.receiver(NO_LIMIT) else {
                return;
            };
            self.give(shard, None, to, MoveReason::Unowned);
        }
    }

    /// Finds nodes for all that the leaving ones have.
    pub(super) fn empty_leaving(&mut self) {
        for from in self.fullest(|load| load.stance == Stance::Leaves) {
            for shard in mem::take(&mut self.loads[from].held) {
                let Some(to) = self.receiver(NO_LIMIT) else {
                    return;
                };
                self.give(shard, Some(from), to, MoveReason::Draining);
            }
        }
    }

    /// Moves what nodes have above their share, unless there are several versions. No node gets more than `limit`,
    /// all that it gets otherwise included.
    pub(super) fn level(&mut self, limit: u32, seed: u64) {
        if self.loads.iter().any(|load| load.takes() && load.rank > 0) {
            return;
        }
        for from in self.fullest(|load| load.takes() && load.has > load.share) {
            let load = &mut self.loads[from];
            let extra = (load.has - load.share) as usize;
            for shard in pick(seed, load.incarnation, mem::take(&mut load.held), extra) {
                let Some(to) = self.receiver(limit) else {
                    return;
                };
                self.give(shard, Some(from), to, self.balance(from, to));
            }
        }
    }

    /// What was planned.
    pub(super) fn into_plan(self) -> Plan {
        Plan { moves: self.moves }
    }

    /// The nodes that `matter`, fullest first, then in the order of registration.
    fn fullest(&self, matter: fn(&Load) -> bool) -> Vec<usize> {
        let indices = 0..self.loads.len();
        let mut nodes = Vec::from_iter(indices.filter(|index| matter(&self.loads[*index])));
        nodes.sort_by_key(|index| Reverse(self.loads[*index].fullness()));
        nodes
    }

    /// The next receiver, which leaves the line. One that has got up to the limit is not coming back: limits never
    /// rise within a round.
    fn receiver(&mut self, limit: u32) -> Option<usize> {
        while let Some(Reverse((_, _, index))) = self.receivers.pop() {
            if self.loads[index].gets < limit {
                return Some(index);
            }
        }
        None
    }

    fn give(&mut self, shard: ShardId, from: Option<usize>, to: usize, reason: MoveReason) {
        self.moves.push(Move {
            shard,
            from: from.map(|from| self.loads[from].incarnation),
            to: self.loads[to].incarnation,
            reason,
        });
        if let Some(from) = from {
            self.loads[from].has -= 1;
        }
        self.loads[to].has += 1;
        self.loads[to].gets += 1;
        self.line_up(to);
    }

    fn line_up(&mut self, index: usize) {
        let load = &self.loads[index];
        if load.wants() {
            let turn = (load.rank, load.fullness(), index);
            self.receivers.push(Reverse(turn));
        }
    }

    fn balance(&self, from: usize, to: usize) -> MoveReason {
        let (from, to) = (&self.loads[from], &self.loads[to]);
        MoveReason::Balance {
            from_has: from.has,
            from_share: from.share,
            to_has: to.has,
            to_share: to.share,
        }
    }
}

const NO_LIMIT: u32 = u32::MAX;
