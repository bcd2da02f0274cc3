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
mod renewals;

use std::{collections::BTreeMap, time::Duration};

pub use self::action::{RegionAction, RegionInput, Route};
use self::{
    held::{Held, Phase},
    renewals::Renewals,
};
use crate::{
    Epoch, Failover, Handover, Holdings, Incarnation, Index, NodeName, Order, OwnedShard,
    Registration, Rule, Rules, ShardKey, ShardMap, Time, ToCoordinator, ToRegion,
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

enum Membership {
    /// It asks to be let in.
    Outside,
    Member {
        incarnation: Incarnation,
        failover: Failover,
        renewals: Renewals,
    },
    /// It has left for good.
    Left,
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

    /// The node.
    pub fn name(&self) -> &NodeName {
        &self.registration.name
    }

    fn hear(&mut self, message: ToRegion, now: Time, actions: &mut Vec<RegionAction>) {
        match message {
            ToRegion::Registered {
                nonce,
                incarnation,
                failover,
            } => self.registered(nonce, incarnation, failover, now),
            ToRegion::Refused { nonce, reason } => {
                let outside = matches!(self.membership, Membership::Outside);
                if outside && nonce == self.registration.nonce {
                    actions.push(RegionAction::Refused { reason });
                }
            }
            ToRegion::Spent { nonce } => {
                let outside = matches!(self.membership, Membership::Outside);
                if outside && nonce == self.registration.nonce {
                    self.registration.nonce = nonce.wrapping_add(1);
                    self.next_wakeup = now;
                }
            }
            ToRegion::RenewOk { incarnation, seq } => self.renewed(incarnation, seq, now),
            ToRegion::Ended { incarnation } => {
                if self.incarnation() == Some(incarnation) {
                    self.run_is_over(now, actions);
                }
            }
            ToRegion::Holdings(holdings) => self.reconcile(&holdings, actions),
        }
    }

    fn registered(&mut self, nonce: u64, incarnation: Incarnation, failover: Failover, now: Time) {
        let outside = matches!(self.membership, Membership::Outside);
        let agreed = failover
            .lease()
            .is_none_or(|timing| self.slack <= timing.times().slack);
        if outside && nonce == self.registration.nonce && agreed {
            self.membership = Membership::Member {
                incarnation,
                failover,
                renewals: Renewals::default(),
            };
            self.seen = Index::default();
            self.next_wakeup = now;
        }
    }

    fn renewed(&mut self, answered: Incarnation, seq: u64, now: Time) {
        let from_sending = self.rules.keep(Rule::LeaseCountsFromSending);
        if let Membership::Member {
            incarnation,
            failover,
            renewals,
        } = &mut self.membership
            && *incarnation == answered
        {
            let heard = (!from_sending).then_some(now);
            renewals.answered(seq, failover.lease(), heard);
        }
    }

    /// Whatever this run held may be somebody else's. A new run begins, unless the node wants to go.
    fn run_is_over(&mut self, now: Time, actions: &mut Vec<RegionAction>) {
        for (shard, held) in std::mem::take(&mut self.held) {
            let epoch = held.epoch;
            actions.push(RegionAction::Fence { shard, epoch });
        }
        if self.leaving {
            self.membership = Membership::Left;
            actions.push(RegionAction::Left);
            return;
        }
        self.membership = Membership::Outside;
        self.registration.nonce = self.registration.nonce.wrapping_add(1);
        self.next_wakeup = now;
    }

    /// Makes what is held what shall be held.
    fn reconcile(&mut self, holdings: &Holdings, actions: &mut Vec<RegionAction>) {
        let mine = self.incarnation() == Some(holdings.incarnation);
        let newer = holdings.at > self.seen;
        if (!mine && self.rules.keep(Rule::HoldingsNameTheRun))
            || (!newer && self.rules.keep(Rule::HoldingsInOrder))
        {
            return;
        }
        self.seen = holdings.at;
        let mut released = Vec::new();
        let mut before = std::mem::take(&mut self.held);
        for owned in &holdings.shards {
            let held = before.remove(&owned.shard);
            self.reconcile_one(owned, held, &mut released, actions);
        }
        // What is not ours any more: a later log says so.
        for (shard, held) in before {
            if held.phase != Phase::Quiet {
                let epoch = held.epoch;
                actions.push(RegionAction::Fence { shard, epoch });
            }
        }
        self.report(released, actions);
    }

    fn reconcile_one(
        &mut self,
        owned: &OwnedShard,
        held: Option<Held>,
        released: &mut Vec<Handover>,
        actions: &mut Vec<RegionAction>,
    ) {
        let OwnedShard {
            shard,
            epoch,
            order,
        } = owned;
        let (shard, epoch) = (shard.clone(), *epoch);
        let floor = self.floors.get(&shard);
        let given_up =
            floor.is_some_and(|floor| epoch <= *floor) && self.rules.keep(Rule::FloorIsKept);
        let held = match held {
            Some(held) if held.epoch == epoch => held,
            held => {
                if let Some(old) = held.filter(|old| old.phase != Phase::Quiet) {
                    let (shard, epoch) = (shard.clone(), old.epoch);
                    actions.push(RegionAction::Fence { shard, epoch });
                }
                if given_up || *order == Order::Release {
                    self.raise_floor(&shard, epoch);
                    let phase = Phase::Quiet;
                    self.held.insert(shard.clone(), Held { epoch, phase });
                    released.push(Handover { shard, epoch });
                    return;
                }
                let shard = shard.clone();
                actions.push(RegionAction::Open { shard, epoch });
                Held::serving(epoch)
            }
        };
        let phase = match (held.phase, order) {
            (Phase::Serving, Order::Release) => {
                let shard = shard.clone();
                actions.push(RegionAction::Drain {
                    shard: shard.clone(),
                    epoch,
                });
                if !self.rules.keep(Rule::QuietBeforeReleased) {
                    released.push(Handover { shard, epoch });
                }
                Phase::Draining
            }
            (Phase::Quiet, _) => {
                // The word that it was given up has been lost.
                let shard = shard.clone();
                released.push(Handover { shard, epoch });
                Phase::Quiet
            }
            (phase, _) => phase,
        };
        self.held.insert(shard, Held { epoch, phase });
    }

    /// Nothing of a shard acts any more.
    fn quiet(&mut self, shard: &ShardKey, epoch: Epoch, actions: &mut Vec<RegionAction>) {
        let Some(held) = self.held.get_mut(shard) else {
            return;
        };
        if held.epoch != epoch || held.phase != Phase::Draining {
            return;
        }
        held.phase = Phase::Quiet;
        self.raise_floor(shard, epoch);
        let shard = shard.clone();
        self.report(vec![Handover { shard, epoch }], actions);
    }

    fn raise_floor(&mut self, shard: &ShardKey, epoch: Epoch) {
        let floor = self.floors.entry(shard.clone()).or_default();
        *floor = epoch.max(*floor);
    }

    fn report(&self, shards: Vec<Handover>, actions: &mut Vec<RegionAction>) {
        if let Some(incarnation) = self.incarnation()
            && !shards.is_empty()
        {
            actions.push(send(ToCoordinator::Released {
                incarnation,
                shards,
            }));
        }
    }

    fn take_map(&mut self, map: ShardMap) {
        if map.version() > self.map.version() {
            self.map = map;
        }
    }

    /// Says what has to be said now and then.
    fn speak(&mut self, now: Time, actions: &mut Vec<RegionAction>) {
        let seen = self.seen;
        match &mut self.membership {
            Membership::Left => {}
            Membership::Outside if self.leaving => {
                self.membership = Membership::Left;
                actions.push(RegionAction::Left);
            }
            Membership::Outside => {
                actions.push(send(ToCoordinator::Register {
                    registration: self.registration.clone(),
                    slack: self.slack,
                }));
                self.next_wakeup = now + renewals::RETRY;
            }
            Membership::Member {
                incarnation,
                failover,
                renewals,
            } => {
                let incarnation = *incarnation;
                actions.push(send(renewals.renew(now, incarnation, seen)));
                self.next_wakeup = now + renewals.pause(now, failover.lease());
                if self.leaving && self.held.is_empty() && seen > Index::default() {
                    actions.push(send(ToCoordinator::Gone { incarnation }));
                }
                if self.leaving {
                    actions.push(send(ToCoordinator::Leave { incarnation }));
                }
                self.report(self.quiet_shards(), actions);
            }
        }
    }

    /// What was given up here, and is still ours as far as is known: the word of it may have been lost.
    fn quiet_shards(&self) -> Vec<Handover> {
        let quiet = self
            .held
            .iter()
            .filter(|(_, held)| held.phase == Phase::Quiet);
        let handover = |(shard, held): (&ShardKey, &Held)| Handover {
            shard: shard.clone(),
            epoch: held.epoch,
        };
        quiet.map(handover).collect()
    }
}

fn send(message: ToCoordinator) -> RegionAction {
    RegionAction::Send(message)
}

#[cfg(test)]
mod tests;
