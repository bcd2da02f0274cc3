//! What a coordinator tells nodes: what they hold, and that it has heard them.
//!
//! It tells what the log says and nothing else, all of it at once and as of an index, so that what is lost or late is made good by
//! whatever is told next.

use std::collections::{BTreeMap, BTreeSet};

use super::{Coordinator, CoordinatorAction, Peer};
use crate::{Holdings, Incarnation, Order, OwnedShard, Ownership, Time, ToRegion};

impl Coordinator {
    /// Answers a renewal, if the node is still one of ours.
    pub(super) fn answer(
        &mut self,
        incarnation: Incarnation,
        seq: u64,
        now: Time,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        if self.state.member(incarnation).is_some() && self.leases.may_answer(incarnation, now) {
            self.send(incarnation, ToRegion::RenewOk { incarnation, seq }, actions);
        }
    }

    /// Tells those who do not know what they hold.
    pub(super) fn tell_holdings(&mut self, actions: &mut Vec<CoordinatorAction>) {
        let unaware = std::mem::take(&mut self.unaware);
        for holdings in self.holdings(&unaware) {
            let incarnation = holdings.incarnation;
            let Some(member) = self.state.member(incarnation) else {
                continue;
            };
            let registered = ToRegion::Registered {
                nonce: member.registration.nonce,
                incarnation,
                failover: member.failover,
            };
            self.send(incarnation, registered, actions);
            self.send(incarnation, ToRegion::Holdings(holdings), actions);
        }
    }

    /// What these runs hold: one pass over all shards, however many runs there are.
    pub(super) fn holdings(&self, runs: &BTreeSet<Incarnation>) -> Vec<Holdings> {
        if runs.is_empty() {
            return Vec::new();
        }
        let mut held: BTreeMap<Incarnation, Vec<OwnedShard>> =
            runs.iter().map(|run| (*run, Vec::new())).collect();
        for group in self.state.groups() {
            for (shard, ownership) in group.iter() {
                let order = match ownership {
                    Ownership::Releasing { .. } => Order::Release,
                    Ownership::Owned { .. } | Ownership::Unowned { .. } => Order::Serve,
                };
                if let Some((by, epoch)) = ownership.owner()
                    && let Some(shards) = held.get_mut(&by)
                {
                    shards.push(OwnedShard {
                        shard,
                        epoch,
                        order,
                    });
                }
            }
        }
        let at = self.state.applied();
        held.into_iter()
            .map(|(incarnation, shards)| Holdings {
                incarnation,
                at,
                shards,
            })
            .collect()
    }

    pub(super) fn send(
        &self,
        incarnation: Incarnation,
        message: ToRegion,
        actions: &mut Vec<CoordinatorAction>,
    ) {
        if let Some(member) = self.state.member(incarnation) {
            let to = Peer::of(&member.registration);
            actions.push(CoordinatorAction::Send { to, message });
        }
    }
}
