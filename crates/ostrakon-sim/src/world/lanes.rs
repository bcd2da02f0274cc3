//! Lanes: when and where messages go out.

use ostrakon_core::{Epoch, RegionInput, Route};

use super::World;
use crate::{
    agenda::{MILLI, SECOND},
    event::{Event, Frame, Local},
    lane::Target,
    setup::node_of,
};

/// How long a lane waits to hear what became of its messages when there is another owner.
pub(super) const SWITCH: u64 = 5 * SECOND;

impl World {
    /// Sends what waits in a lane, as far as it may be sent now.
    pub(super) fn pump(&mut self, site: usize, shard: usize) {
        let Some(node) = &self.nodes[site] else {
            return;
        };
        let lane = &node.lanes[shard];
        let route = match node.region.route(&self.setup.keys[shard]) {
            Route::Here(epoch) => Some((site, epoch)),
            Route::There(owner) => Some((node_of(&owner.owner), owner.epoch)),
            Route::Nowhere => None,
        };
        if let Some(target) = lane.target {
            let is_elsewhere = route.is_some_and(|(_, epoch)| epoch > target.epoch);
            if !target.is_closed && !target.is_given_up && !is_elsewhere {
                self.transmit(site, shard);
                return;
            }
            if !lane.is_settled() {
                if is_elsewhere {
                    self.give_up_later(site, shard);
                }
                return;
            }
        }
        if lane.waits() {
            self.connect(site, shard, route);
        }
    }

    /// Somebody else is the owner: what is under way has a while to be answered.
    pub(super) fn give_up_later(&mut self, site: usize, shard: usize) {
        let node = self.nodes[site].as_mut();
        let Some(target) = node.and_then(|node| node.lanes[shard].target.as_mut()) else {
            return;
        };
        if !target.is_given_up {
            target.is_given_up = true;
            let stream = target.stream;
            self.note(SWITCH, site, Local::StreamBreaks { shard, stream });
        }
    }

    pub(super) fn connect(&mut self, site: usize, shard: usize, route: Option<(usize, Epoch)>) {
        let Some((to, epoch)) = route else {
            let key = self.setup.keys[shard].clone();
            self.tell_node(site, RegionInput::Wanted { shard: key });
            self.pump_later(site, shard, SECOND);
            return;
        };
        if !self.sites[to].is_alive || !self.network.joins(site, to) {
            let run = self.nodes[to]
                .as_ref()
                .and_then(|node| node.region.incarnation());
            if let Some(incarnation) = run.filter(|_| self.dice.chance(200)) {
                self.tell_node(site, RegionInput::Unreachable { incarnation });
            }
            self.pump_later(site, shard, SECOND);
            return;
        }
        self.streams += 1;
        let target = Target {
            site: to,
            process: self.sites[to].process,
            epoch,
            stream: self.streams,
            nth: 0,
            arrives: self.now,
            is_closed: false,
            is_given_up: false,
            is_broken: false,
        };
        if let Some(node) = &mut self.nodes[site] {
            node.lanes[shard].target = Some(target);
        }
        self.transmit(site, shard);
    }

    pub(super) fn pump_later(&mut self, site: usize, shard: usize, pause: u64) {
        let at = self.now + pause;
        if let Some(node) = &mut self.nodes[site]
            && node.lanes[shard].pumps_at <= self.now
        {
            node.lanes[shard].pumps_at = at;
            self.note(pause, site, Local::Pump { shard });
        }
    }

    /// Puts all that waits on the connection.
    pub(super) fn transmit(&mut self, site: usize, shard: usize) {
        let from_process = self.sites[site].process;
        let mut frames = Vec::new();
        let mut breaks = false;
        let Some(node) = &mut self.nodes[site] else {
            return;
        };
        let lane = &mut node.lanes[shard];
        let Some(target) = &mut lane.target else {
            return;
        };
        let waiting = lane
            .window
            .iter_mut()
            .filter(|sending| !sending.is_under_way);
        for sending in waiting {
            sending.is_under_way = true;
            let delay = self.network.stream_delay(&mut self.dice);
            target.arrives = (self.now + delay).max(target.arrives + 1);
            let frame = Frame {
                message: sending.message,
                from: site,
                from_process,
                shard,
                entity: sending.entity,
                epoch: target.epoch,
                stream: target.stream,
                nth: target.nth,
            };
            target.nth += 1;
            breaks |= !self.network.joins(site, target.site);
            frames.push((target.arrives, frame));
        }
        target.is_broken |= breaks;
        let target = *target;
        for (at, frame) in frames.into_iter().filter(|_| !breaks) {
            let copies = 1 + usize::from(self.dice.chance(20));
            for _ in 0..copies {
                self.agenda.note(
                    at,
                    Event::At {
                        site: target.site,
                        process: Some(target.process),
                        what: Local::Frame(frame),
                    },
                );
            }
        }
        let is_gone =
            self.sites[target.site].process != target.process || !self.sites[target.site].is_alive;
        if breaks || is_gone {
            let pause = self.dice.between(200 * MILLI, 3 * SECOND);
            let stream = target.stream;
            self.note(pause, site, Local::StreamBreaks { shard, stream });
        }
    }
}
