//! `Membership`: whether a node is in, and how its region gets in, stays and goes.
//!
//! It asks to be let in until it is told a run or refused, renews that run, and begins another when it is told that the run has ended.
//! Invariant: what was held in one run is fenced before the next begins.

use super::{Region, RegionAction, renewals, renewals::Renewals, send};
use crate::{Failover, Incarnation, Index, Rule, Time, ToCoordinator, ToRegion};

pub(super) enum Membership {
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
    pub(super) fn hear(&mut self, message: ToRegion, now: Time, actions: &mut Vec<RegionAction>) {
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

    /// Says what has to be said now and then.
    pub(super) fn speak(&mut self, now: Time, actions: &mut Vec<RegionAction>) {
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
                    // Somebody waits for it to go: what is lost is said again soon.
                    self.next_wakeup = self.next_wakeup.min(now + renewals::RETRY);
                }
                self.report(self.quiet_shards(), actions);
            }
        }
    }
}
