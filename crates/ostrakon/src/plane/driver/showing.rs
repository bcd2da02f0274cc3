//! What the driver shows: to routing the map, to everybody the members, to whoever waits that the node has joined, and to those who decide
//! what the node is doing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ostrakon_control::{FromNode, Seat};
use ostrakon_core::{Index, MemberState, RegionInput, ShardMap};

use super::{Driver, Standing};
use crate::{
    Member, MemberStatus,
    link::{Home, Hub},
};

/// How often those who decide are told what the node is doing.
const VITALS: Duration = Duration::from_secs(1);

impl Driver {
    /// Shows others what has changed.
    pub(super) fn refresh(&mut self, hub: &Arc<Hub>) {
        if self.mapped != self.state.applied() {
            self.mapped = self.state.applied();
            self.changed = true;
            self.step(hub, RegionInput::Map(self.state.map()));
            self.mirror(hub);
        }
        if self.changed {
            self.changed = false;
            self.shown = self.shown.next();
            hub.show(self.routes());
        }
        self.note_joining();
        for shard in hub.unowned_singletons() {
            self.wanted(hub, shard);
        }
    }

    fn routes(&self) -> ShardMap {
        match self.seat {
            Seat::Node => self.region.routes(self.shown),
            Seat::Client => {
                let map = self.state.map();
                map.map_owners(self.shown, |_, _, owner| owner.cloned())
            }
        }
    }

    /// The nodes that are registered, and where they are.
    pub(super) fn mirror(&self, hub: &Arc<Hub>) {
        // In the order in which they began: of two runs of one node the later counts.
        let runs = self.state.members();
        let latest: BTreeMap<_, _> = runs
            .map(|(run, member)| (&member.registration.name, (run, member)))
            .collect();
        let mut members = Vec::new();
        for (name, (run, member)) in latest {
            let home = Home {
                address: member.registration.address.clone(),
                run: Some(run),
            };
            hub.reach(name, home);
            let status = match member.state {
                _ if self.down.contains(name) => MemberStatus::Down,
                MemberState::Active => MemberStatus::Up,
                MemberState::Leaving => MemberStatus::Leaving,
            };
            let name = name.clone();
            members.push(Member { name, status });
        }
        hub.reach_only(&members);
        hub.topology.mirror(members);
    }

    /// Tells those who decide what the node is doing, if it is time to. It is for people: none of them decides by it.
    pub(super) fn show_vitals(&mut self) {
        let now = self.clock.now();
        if self.seat == Seat::Client || now < self.next_vitals {
            return;
        }
        self.next_vitals = now + VITALS;
        let mut vitals = self.pulses.vitals(now);
        let left = self.lease.until().map(|until| until.saturating_since(now));
        let left = left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        vitals.lease_left_ms = left;
        let vitals = FromNode::Vitals(Box::new(vitals));
        for decider in self.deciders.values() {
            decider.mention(&vitals);
        }
    }

    fn note_joining(&self) {
        let known = self.state.applied() > Index::default();
        let joined = match self.seat {
            Seat::Client => known,
            Seat::Node => {
                let run = self.region.incarnation();
                let registered = run.is_some_and(|run| self.state.applied().get() >= run.get());
                // Without a manager it gets no shards yet, but it knows who has them.
                registered
                    || (self.has_read && self.deciders.is_empty() && !self.troubles.is_empty())
            }
        };
        self.standing.send_if_modified(|standing| {
            let news = joined
                && matches!(
                    standing,
                    Standing::Waiting | Standing::Alone(_) | Standing::Refused(_)
                );
            if news {
                *standing = Standing::Joined;
            }
            news
        });
    }
}
