//! Reconciliation: making what a region holds what it shall hold, whichever coordinator says so.
//!
//! Invariants: of two [`Holdings`] the one of the later log counts; an ownership that was given up is not taken up again; and a shard is
//! reported as given up for as long as it is listed, because the word of it may have been lost.

use super::{
    Region, RegionAction,
    held::{Held, Phase},
    send,
};
use crate::{Epoch, Handover, Holdings, Order, OwnedShard, Rule, ShardKey, Time, ToCoordinator};

impl Region {
    /// Makes what is held what shall be held.
    pub(super) fn reconcile(&mut self, holdings: &Holdings, actions: &mut Vec<RegionAction>) {
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
        if self.leaving && self.held.is_empty() {
            // Whoever waits for it to go need not wait any longer.
            self.next_wakeup = Time::ZERO;
        }
    }

    fn reconcile_one(
        &mut self,
        owned: &OwnedShard,
        held: Option<Held>,
        released: &mut Vec<Handover>,
        actions: &mut Vec<RegionAction>,
    ) {
        let (shard, epoch) = (owned.shard.clone(), owned.epoch);
        let held = match held {
            Some(held) if held.epoch == epoch => held,
            other => {
                let old = other.filter(|old| old.phase != Phase::Quiet);
                actions.extend(old.map(|old| RegionAction::Fence {
                    shard: shard.clone(),
                    epoch: old.epoch,
                }));
                self.take_up(owned, actions)
            }
        };
        let handover = Handover {
            shard: shard.clone(),
            epoch,
        };
        let phase = match (held.phase, owned.order) {
            (Phase::Serving, Order::Release) => {
                let shard = shard.clone();
                actions.push(RegionAction::Drain { shard, epoch });
                if !self.rules.keep(Rule::QuietBeforeReleased) {
                    released.push(handover);
                }
                Phase::Draining
            }
            (Phase::Quiet, _) => {
                // Nothing was begun, or the word that it was given up has been lost.
                released.push(handover);
                Phase::Quiet
            }
            (phase, _) => phase,
        };
        self.held.insert(shard, Held { epoch, phase });
    }

    /// An ownership that is new here is not begun if it was given up here before, or shall be.
    fn take_up(&mut self, owned: &OwnedShard, actions: &mut Vec<RegionAction>) -> Held {
        let OwnedShard {
            shard,
            epoch,
            order,
        } = owned;
        let floor = self.floors.get(shard);
        let given_up =
            floor.is_some_and(|floor| epoch <= floor) && self.rules.keep(Rule::FloorIsKept);
        if given_up || *order == Order::Release {
            self.raise_floor(shard, *epoch);
            return Held::quiet(*epoch);
        }
        let (shard, epoch) = (shard.clone(), *epoch);
        actions.push(RegionAction::Open { shard, epoch });
        Held::serving(epoch)
    }

    /// Nothing of a shard acts any more.
    pub(super) fn quiet(
        &mut self,
        shard: &ShardKey,
        epoch: Epoch,
        actions: &mut Vec<RegionAction>,
    ) {
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

    pub(super) fn report(&self, shards: Vec<Handover>, actions: &mut Vec<RegionAction>) {
        if let Some(incarnation) = self.incarnation()
            && !shards.is_empty()
        {
            actions.push(send(ToCoordinator::Released {
                incarnation,
                shards,
            }));
        }
    }

    /// What was given up here, and is still ours as far as is known: the word of it may have been lost.
    pub(super) fn quiet_shards(&self) -> Vec<Handover> {
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
