//! `Rounds`: when shards are given out and moved, and which.
//!
//! Shards without an owner and those of nodes that leave are seen to at once; balance is a matter for the regular round. A node that
//! has not been heard lately gets nothing and loses nothing.

mod look;
mod planned_move;
mod rebalancing;
mod room;

use std::{collections::BTreeSet, time::Duration};

use self::{
    look::{Found, Look, Scope},
    room::Room,
};
pub use self::{planned_move::PlannedMove, rebalancing::Rebalancing};
use super::leases::Leases;
use crate::{Command, ControlState, ShardKey, Time};

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
        let scope = match state.policy().rebalancing {
            Rebalancing::On if round => Scope::All,
            Rebalancing::On | Rebalancing::Frozen => Scope::Urgent,
        };
        let found = self.look(state, leases, now, scope);
        self.wanted.clear();
        self.gathering = None;
        self.look_at = found.unplaced.then_some(now + RETRY);
        let grants: Vec<_> = found
            .moves
            .iter()
            .filter_map(PlannedMove::granting)
            .collect();
        let moves = found
            .moves
            .iter()
            .filter_map(|planned| planned.moving(state));
        let moves: Vec<_> = moves.collect();
        let grants = (!grants.is_empty()).then_some(Command::Grant(grants));
        let moves = (!moves.is_empty()).then_some(Command::BeginMove(moves));
        grants.into_iter().chain(moves).collect()
    }

    /// What a round would do if it began now. That balancing is frozen does not matter: it shows what unfreezing would do.
    pub(super) fn next_round(
        &self,
        state: &ControlState,
        leases: &Leases,
        now: Time,
    ) -> Vec<PlannedMove> {
        self.look(state, leases, now, Scope::All).moves
    }

    fn look(&self, state: &ControlState, leases: &Leases, now: Time, scope: Scope) -> Found {
        let mut room = Room::of(state);
        let mut found = Found::default();
        for group in state.groups() {
            let look = Look::at(state, group, leases, now, scope);
            look.plan(&self.wanted, &mut room, &mut found);
        }
        found
    }
}

#[cfg(test)]
mod tests;
