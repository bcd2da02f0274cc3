//! `Region`: what one node may do with which shards.
//!
//! ```text
//!              Holdings: Serve                Holdings: Release           nothing of it acts any more
//!   (nothing) ────────────────▶ Serving(e) ────────────────────▶ Draining(e) ──────────────▶ Quiet(e) ─▶ (nothing)
//!                                  └───── not in newer Holdings, or the run has ended: fenced ─────┘
//! ```
//!
//! It hosts nothing itself: it says what to open, drain and fence, and is told when a shard is quiet. A shard may act only while
//! the region holds it *and* the lease lasts ([`Region::acts`]); the lease counts from when a renewal was *sent*. Invariants: a shard is
//! reported as released only after it was quiet, and an ownership once given up is never taken up again.

mod action;
mod held;
mod membership;
mod reconcile;
mod renewals;

use std::{collections::BTreeMap, time::Duration};

pub use self::action::{RegionAction, RegionInput, Route};
use self::{
    held::{Held, Phase},
    membership::Membership,
};
use crate::{
    Assignment, Epoch, Incarnation, Index, NodeName, Registration, Rules, ShardKey, ShardMap, Time,
    ToCoordinator, Version,
};

/// The part of a node that knows what it owns.
pub struct Region {
    registration: Registration,
    /// How long what runs at the end of a lease may run on.
    slack: Duration,
    rules: Rules,
    membership: Membership,
    /// The log up to which this run knows what it shall hold.
    seen: Index,
    held: BTreeMap<ShardKey, Held>,
    /// The last ownership of each shard that was given up here.
    floors: BTreeMap<ShardKey, Epoch>,
    map: ShardMap,
    leaving: bool,
    next_wakeup: Time,
}

impl Region {
    /// A region of a node that is no member yet. What runs there at the end of a lease runs on for `slack` at most.
    pub fn new(registration: Registration, slack: Duration) -> Self {
        Self::with_rules(registration, slack, Rules::default())
    }

    /// The same under other rules, for simulations.
    pub fn with_rules(registration: Registration, slack: Duration, rules: Rules) -> Self {
        Self {
            registration,
            slack,
            rules,
            membership: Membership::Outside,
            seen: Index::default(),
            held: BTreeMap::new(),
            floors: BTreeMap::new(),
            map: ShardMap::default(),
            leaving: false,
            next_wakeup: Time::ZERO,
        }
    }

    /// Takes in what has happened; returns what is to be done.
    pub fn step(&mut self, now: Time, input: RegionInput) -> Vec<RegionAction> {
        let mut actions = Vec::new();
        match input {
            RegionInput::Wake => {}
            RegionInput::Heard(message) => self.hear(message, now, &mut actions),
            RegionInput::Quiet { shard, epoch } => self.quiet(&shard, epoch, &mut actions),
            RegionInput::Map(map) => self.take_map(map),
            RegionInput::Leave => {
                self.leaving = true;
                self.next_wakeup = now;
            }
            RegionInput::Unreachable { incarnation } => {
                actions.push(send(ToCoordinator::Unreachable { incarnation }));
            }
            RegionInput::Wanted { shard } => actions.push(send(ToCoordinator::Wanted { shard })),
        }
        if now >= self.next_wakeup {
            self.speak(now, &mut actions);
        }
        actions
    }

    /// When to step again at the latest.
    pub fn next_wakeup(&self) -> Option<Time> {
        match self.membership {
            Membership::Left => None,
            Membership::Outside | Membership::Member { .. } => Some(self.next_wakeup),
        }
    }

    /// Which run this is.
    pub fn incarnation(&self) -> Option<Incarnation> {
        match self.membership {
            Membership::Member { incarnation, .. } => Some(incarnation),
            Membership::Outside | Membership::Left => None,
        }
    }

    /// Until when this run may act, as far as is known; `None` for ever.
    pub fn acts_until(&self) -> Option<Time> {
        match &self.membership {
            Membership::Member {
                failover, renewals, ..
            } => failover.lease().map(|_| renewals.deadline()),
            Membership::Outside | Membership::Left => Some(Time::ZERO),
        }
    }

    /// The ownership under which entities of a shard may act at this moment.
    pub fn acts(&self, shard: &ShardKey, now: Time) -> Option<Epoch> {
        let in_time = self.acts_until().is_none_or(|deadline| now < deadline);
        let held = self.held.get(shard).filter(|_| in_time)?;
        match held.phase {
            Phase::Serving | Phase::Draining => Some(held.epoch),
            Phase::Quiet => None,
        }
    }

    /// Where messages for a shard go.
    pub fn route(&self, shard: &ShardKey) -> Route<'_> {
        if let Some(held) = self.held.get(shard)
            && held.phase == Phase::Serving
        {
            return Route::Here(held.epoch);
        }
        match self.map.owner(&shard.group, shard.shard) {
            Some(owner) if owner.owner != self.registration.name => Route::There(owner),
            Some(_) | None => Route::Nowhere,
        }
    }

    /// Where messages go, shard by shard: own shards as they are held, the others as the map has them.
    pub fn routes(&self, version: Version) -> ShardMap {
        self.map.map_owners(version, |group, shard, _| {
            let group = group.clone();
            let shard = ShardKey { group, shard };
            match self.route(&shard) {
                Route::Here(epoch) => Some(Assignment {
                    owner: self.registration.name.clone(),
                    epoch,
                }),
                Route::There(assignment) => Some(assignment.clone()),
                Route::Nowhere => None,
            }
        })
    }

    /// The node.
    pub fn name(&self) -> &NodeName {
        &self.registration.name
    }

    fn take_map(&mut self, map: ShardMap) {
        if map.version() > self.map.version() {
            self.map = map;
        }
    }
}

fn send(message: ToCoordinator) -> RegionAction {
    RegionAction::Send(message)
}

#[cfg(test)]
mod tests;
