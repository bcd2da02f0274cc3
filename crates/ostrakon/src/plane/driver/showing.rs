//! What the driver shows: to routing the map, to everybody the members, and to whoever waits that the node has joined.

use std::{collections::BTreeMap, sync::Arc};

use ostrakon_control::Seat;
use ostrakon_core::{Index, MemberState, RegionInput, ShardMap};

use super::{Driver, Standing};
use crate::{
    Member, MemberStatus,
    link::{Home, Hub},
};

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

    fn note_joining(&self) {
        let known = self.state.applied() > Index::default();
        let joined = match self.seat {
            Seat::Client => known,
            Seat::Node => {
                let run = self.region.incarnation();
                let registered = run.is_some_and(|run| self.state.applied().get() >= run.get());
                // Without a manager it gets no shards yet, but it knows who has them.
                registered || (self.has_read && self.mouths.is_empty() && !self.troubles.is_empty())
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
