//! `Rounds`: when shards are given out and moved, and which.
//!
//! Shards without an owner and those of nodes that leave are seen to at once; balance is a matter for the regular round. A node that
//! has not been heard lately gets nothing and loses nothing.

mod planned_move;
mod rebalancing;
mod room;

use std::{collections::BTreeSet, time::Duration};

use self::room::Room;
pub use self::{planned_move::PlannedMove, rebalancing::Rebalancing};
use super::leases::Leases;
use crate::{
    AllocationView, Allocator, Balanced, Command, ControlState, GroupState, Holding, Incarnation,
    LeastShards, MemberState, Move, MoveReason, NodeView, Ownership, Placement, ShardKey, Stance,
    Time,
};

/// How soon to look again when a shard without an owner could not be placed.
const RETRY: Duration = Duration::from_secs(1);
/// When nodes begin, others are likely to follow: shards without an owner wait so long for the next one, lest the first gets all.
const GATHER: Duration = Duration::from_millis(300);
/// But no longer than this.
const GATHER_MOST: Duration = Duration::from_secs(3);
/// So many shards that somebody wants are remembered; whoever wants another asks again.
const MOST_WANTED: usize = 4096;

#[derive(Default)]
pub(super) struct Rounds {
    look_at: Option<Time>,
    next_round: Option<Time>,
    /// Since when nodes have been beginning.
    gathering: Option<Time>,
    wanted: BTreeSet<ShardKey>,
}

/// What it is time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Shards without an owner, and those of nodes that leave.
    Urgent,
    /// Balance too.
    All,
}

/// What a look at the groups has found.
#[derive(Default)]
struct Found {
    moves: Vec<PlannedMove>,
    /// A shard without an owner has nowhere to go.
    unplaced: bool,
}

impl Rounds {
    pub(super) fn begin(&mut self, now: Time) {
        self.look_at = Some(now);
        self.next_round = Some(now);
        self.wanted.clear();
    }

    pub(super) fn look_now(&mut self) {
        self.look_at = Some(Time::ZERO);
    }

    /// A node has begun.
    pub(super) fn gather(&mut self, now: Time) {
        let since = *self.gathering.get_or_insert(now);
        if self.look_at.is_none_or(|time| time > now) {
            self.look_at = Some((now + GATHER).min(since + GATHER_MOST));
        }
    }

    pub(super) fn wanted(&mut self, shard: ShardKey) {
        if self.wanted.len() < MOST_WANTED {
            self.wanted.insert(shard);
            self.look_now();
        }
    }

    pub(super) fn next(&self) -> Option<Time> {
        [self.look_at, self.next_round].into_iter().flatten().min()
    }

    /// What to write into the log now.
    pub(super) fn plan(
        &mut self,
        state: &ControlState,
        leases: &Leases,
        now: Time,
    ) -> Vec<Command> {
        let is_due = |time: Option<Time>| time.is_some_and(|time| now >= time);
        let round = is_due(self.next_round);
        if !round && !is_due(self.look_at) {
            return Vec::new();
        }
        if round {
            self.next_round = Some(now + state.policy().rebalance_every);
        }
        let scope = if round { Scope::All } else { Scope::Urgent };
        let found = self.look(state, leases, now, scope);
        self.wanted.clear();
        self.gathering = None;
        self.look_at = found.unplaced.then_some(now + RETRY);
        let grants: Vec<_> = found.moves.iter().filter_map(PlannedMove::granting).collect();
        let moves = found.moves.iter().filter_map(|planned| planned.moving(state));
        let moves: Vec<_> = moves.collect();
        let grants = (!grants.is_empty()).then_some(Command::Grant(grants));
        let moves = (!moves.is_empty()).then_some(Command::BeginMove(moves));
        grants.into_iter().chain(moves).collect()
    }

    /// What a round would do if it began now.
    pub(super) fn next_round(
        &self,
        state: &ControlState,
        leases: &Leases,
        now: Time,
    ) -> Vec<PlannedMove> {
        self.look(state, leases, now, Scope::All).moves
    }

    fn look(&self, state: &ControlState, leases: &Leases, now: Time, scope: Scope) -> Found {
        let scope = match state.policy().rebalancing {
            Rebalancing::On => scope,
            Rebalancing::Frozen => Scope::Urgent,
        };
        let mut room = Room::of(state);
        let mut found = Found::default();
        for group in state.groups() {
            let look = Look {
                state,
                group,
                nodes: nodes(state, leases, group, now),
                scope,
            };
            look.plan(&self.wanted, &mut room, &mut found);
        }
        found
    }
}

/// One look at one group.
struct Look<'s> {
    state: &'s ControlState,
    group: &'s GroupState,
    nodes: Vec<NodeView>,
    scope: Scope,
}

impl Look<'_> {
    fn plan(&self, wanted: &BTreeSet<ShardKey>, room: &mut Room, found: &mut Found) {
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

#[cfg(test)]
mod tests;
