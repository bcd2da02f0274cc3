//! `Look`: one look at one group, and what is to be done about it.

use std::collections::BTreeSet;

use super::{super::leases::Leases, PlannedMove, room::Room};
use crate::{
    AllocationView, Allocator, Balanced, ControlState, GroupState, Holding, Incarnation,
    LeastShards, MemberState, Move, MoveReason, NodeView, Ownership, Placement, ShardKey, Stance,
    Time,
};

/// What it is time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Shards without an owner, and those of nodes that leave.
    Urgent,
    /// Balance too.
    All,
}

/// What a look at the groups has found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) moves: Vec<PlannedMove>,
    /// A shard without an owner has nowhere to go.
    pub(super) unplaced: bool,
}

/// One look at one group.
pub(super) struct Look<'s> {
    state: &'s ControlState,
    group: &'s GroupState,
    nodes: Vec<NodeView>,
    scope: Scope,
}

impl<'s> Look<'s> {
    pub(super) fn at(
        state: &'s ControlState,
        group: &'s GroupState,
        leases: &Leases,
        now: Time,
        scope: Scope,
    ) -> Self {
        Self {
            state,
            group,
            nodes: nodes(state, leases, group, now),
            scope,
        }
    }

    /// Adds what is to be done in this group to what has been found in others.
    pub(super) fn plan(&self, wanted: &BTreeSet<ShardKey>, room: &mut Room, found: &mut Found) {
        let shards: Vec<Holding> = self.group.shards.iter().map(holding).collect();
        let view = AllocationView {
            nodes: &self.nodes,
            shards: &shards,
        };
        let policy = self.state.policy();
        let balanced = Balanced {
            rebalance_rate: policy.rebalance_rate,
            seed: self.state.applied().get(),
        };
        let moves = match policy.placement {
            Placement::AtOnce => balanced.plan(&view).moves,
            Placement::AtFirstAccess => LeastShards { balanced }.plan(&view).moves,
        };
        let placed = moves
            .iter()
            .filter(|planned| planned.from.is_none())
            .count();
        match policy.placement {
            Placement::AtOnce => found.unplaced |= view.unowned().count() > placed,
            Placement::AtFirstAccess => self.place_wanted(&view, balanced, wanted, found),
        }
        for planned in moves {
            self.carry_out(&planned, room, found);
        }
        self.let_go(room, found);
    }

    fn place_wanted(
        &self,
        view: &AllocationView<'_>,
        balanced: Balanced,
        wanted: &BTreeSet<ShardKey>,
        found: &mut Found,
    ) {
        let mut shards = view.shards.to_vec();
        for key in wanted
            .iter()
            .filter(|key| key.group == self.group.spec.name)
        {
            let view = AllocationView {
                nodes: view.nodes,
                shards: &shards,
            };
            let Some(to) = (LeastShards { balanced }).place(&view, key.shard) else {
                continue;
            };
            shards[key.shard.index()] = Holding::Held(to);
            found.moves.push(PlannedMove {
                shard: key.clone(),
                from: None,
                to: Some(to),
                reason: MoveReason::Unowned,
            });
        }
    }

    fn carry_out(&self, planned: &Move, room: &mut Room, found: &mut Found) {
        let shard = ShardKey {
            group: self.group.spec.name.clone(),
            shard: planned.shard,
        };
        let now = match planned.reason {
            MoveReason::Unowned | MoveReason::Draining => true,
            MoveReason::Balance { .. } => self.scope == Scope::All,
        };
        if now && planned.from.is_none_or(|from| room.take(from)) {
            found.moves.push(PlannedMove {
                shard,
                from: planned.from,
                to: Some(planned.to),
                reason: planned.reason,
            });
        }
    }

    /// A node that leaves and has nobody to hand over to gives its shards up all the same: nothing is lost by stopping in order.
    fn let_go(&self, room: &mut Room, found: &mut Found) {
        let takes = |node: &NodeView| node.stance == Stance::Takes;
        if self.nodes.iter().any(takes) {
            return;
        }
        for (shard, ownership) in self.group.iter() {
            if let Ownership::Owned { by, .. } = ownership
                && is_leaving(self.state, by)
                && room.take(by)
            {
                found.moves.push(PlannedMove {
                    shard,
                    from: Some(by),
                    to: None,
                    reason: MoveReason::Draining,
                });
            }
        }
    }
}

fn holding(ownership: &Ownership) -> Holding {
    match *ownership {
        Ownership::Unowned { .. } => Holding::Unowned,
        Ownership::Owned { by, .. } => Holding::Held(by),
        Ownership::Releasing { by, to, .. } => Holding::Moving(to.unwrap_or(by)),
    }
}

fn is_leaving(state: &ControlState, incarnation: Incarnation) -> bool {
    let member = state.member(incarnation);
    member.is_some_and(|member| member.state == MemberState::Leaving)
}

fn nodes(state: &ControlState, leases: &Leases, group: &GroupState, now: Time) -> Vec<NodeView> {
    let views = state.members().map(|(incarnation, member)| {
        let responsive = leases.is_responsive(incarnation, now);
        let stance = match member.state {
            _ if !responsive => Stance::Keeps,
            MemberState::Leaving => Stance::Leaves,
            MemberState::Active if member.can_hold(&group.spec) => Stance::Takes,
            MemberState::Active => Stance::Keeps,
        };
        NodeView {
            incarnation,
            version: member.registration.version.clone(),
            weight: member.registration.weight,
            stance,
        }
    });
    views.collect()
}
