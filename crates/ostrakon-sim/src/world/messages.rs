//! Messages: what clients send to entities, and what they learn of it.

use super::{World, lanes::SWITCH};
use crate::{
    agenda::{MILLI, SECOND},
    event::{Disposition, Frame, Local},
    hosted::ENTITIES,
    invariant::Outcome,
    lane::{Sending, WINDOW},
    node::Arrival,
    oracle::Kind,
    site::Site,
};

impl World {
    pub(super) fn client_speaks(&mut self, site: usize) {
        let pause = self.dice.between(200 * MILLI, 4 * SECOND);
        self.note(pause, site, Local::Client);
        let shard = self.dice.index(self.setup.keys.len());
        for _ in 0..self.dice.between(1, 4) {
            let kind = [Kind::Ask, Kind::Tell][self.dice.index(2)];
            self.say(site, shard, kind);
        }
        self.pump(site, shard);
    }

    /// A message for some entity of a shard.
    pub(super) fn say(&mut self, site: usize, shard: usize, kind: Kind) -> Option<usize> {
        let entity = self.dice.index(ENTITIES);
        let least = if self.is_calm { 30 } else { 5 };
        let patience = self.dice.between(least * SECOND, 40 * SECOND);
        let process = self.sites[site].process;
        let lane = &mut self.nodes[site].as_mut()?.lanes[shard];
        lane.seq += 1;
        let message = self
            .oracle
            .sent(self.now, (process, shard, entity), lane.seq, kind);
        if lane.window.len() >= WINDOW {
            // Too much: the sender is told at once.
            self.oracle.ended(self.now, message, Outcome::NotHandled);
            return Some(message);
        }
        lane.window.push_back(Sending {
            message,
            entity,
            is_under_way: false,
        });
        let checked = self.oracle.bounded.lane(lane.window.len());
        self.oracle.judge(self.now, "buffers are bounded", checked);
        if kind == Kind::Ask {
            self.note(patience, site, Local::AskEnds { shard, message });
        }
        Some(message)
    }

    pub(super) fn frame_arrives(&mut self, site: usize, frame: Frame) {
        let Some(node) = &mut self.nodes[site] else {
            return;
        };
        match node.arrives(&frame) {
            Arrival::Stale => {}
            Arrival::Refused => self.answer(site, frame, Disposition::Nack),
            Arrival::Accepted => {
                let Some(hosted) = &mut node.hosted[frame.shard] else {
                    return;
                };
                hosted.entities[frame.entity].mailbox.push_back(frame);
                let checked = self
                    .oracle
                    .bounded
                    .mailboxes(hosted.queued(), self.setup.nodes);
                self.oracle.judge(self.now, "buffers are bounded", checked);
                self.handle_next(site, frame.shard, frame.epoch, frame.entity);
            }
        }
    }

    pub(super) fn answered(
        &mut self,
        site: usize,
        (shard, stream): (usize, u64),
        message: usize,
        disposition: Disposition,
    ) {
        let Some(node) = &mut self.nodes[site] else {
            return;
        };
        let lane = &mut node.lanes[shard];
        let Some(target) = lane
            .target
            .as_mut()
            .filter(|target| target.stream == stream)
        else {
            return;
        };
        match disposition {
            Disposition::Nack => {
                target.is_closed = true;
                let refused = lane
                    .window
                    .iter_mut()
                    .find(|sending| sending.message == message);
                if let Some(refused) = refused {
                    refused.is_under_way = false;
                }
                let pause = self.dice.between(50 * MILLI, 300 * MILLI);
                self.pump_later(site, shard, pause);
            }
            Disposition::Done | Disposition::Lost => {
                let known = lane.remove(message).is_some();
                let outcome = match disposition {
                    Disposition::Done => Outcome::Reply,
                    Disposition::Lost | Disposition::Nack => Outcome::Unknown,
                };
                if known {
                    self.oracle.ended(self.now, message, outcome);
                }
                self.pump(site, shard);
            }
        }
    }

    /// Of what was under way on it nobody knows, and it is not sent again.
    pub(super) fn stream_breaks(&mut self, site: usize, shard: usize, stream: u64) {
        let Some(node) = &mut self.nodes[site] else {
            return;
        };
        let lane = &mut node.lanes[shard];
        let Some(target) = lane.target.take_if(|target| target.stream == stream) else {
            return;
        };
        let place = &self.sites[target.site];
        let ran =
            |place: &Site| place.last_pause.1 + SWITCH + SECOND < self.now && !place.is_paused;
        let both_ran = ran(place) && ran(&self.sites[site]);
        let in_order = target.is_given_up
            && !target.is_broken
            && both_ran
            && place.is_alive
            && place.process == target.process;
        for sending in lane.take_under_way() {
            self.oracle
                .ended(self.now, sending.message, Outcome::Unknown);
            if in_order {
                let checked = self
                    .oracle
                    .planned_moves
                    .lost(sending.message, shard, target.epoch);
                self.oracle
                    .judge(self.now, "planned moves lose nothing", checked);
            }
        }
        let pause = self.dice.between(50 * MILLI, 300 * MILLI);
        self.pump_later(site, shard, pause);
    }

    /// Something on a connection does not arrive, whether anybody knows it yet or not.
    pub(super) fn stream_is_broken(&mut self, site: usize, shard: usize, stream: u64) {
        let node = self.nodes[site].as_mut();
        if let Some(target) = node.and_then(|node| node.lanes[shard].target.as_mut()) {
            target.is_broken |= target.stream == stream;
        }
    }

    pub(super) fn break_streams_to(&mut self, process: u64) {
        for site in 0..self.setup.nodes {
            for shard in 0..self.setup.keys.len() {
                let node = self.nodes[site].as_ref();
                let target = node.and_then(|node| node.lanes[shard].target);
                if let Some(target) = target.filter(|target| target.process == process) {
                    let pause = self.dice.between(20 * MILLI, 3 * SECOND);
                    let stream = target.stream;
                    self.note(pause, site, Local::StreamBreaks { shard, stream });
                }
            }
        }
    }

    /// The asker does not wait any longer.
    pub(super) fn ask_ends(&mut self, site: usize, shard: usize, message: usize) {
        let Some(node) = &mut self.nodes[site] else {
            return;
        };
        let Some(was_under_way) = node.lanes[shard].remove(message) else {
            return;
        };
        let outcome = match was_under_way {
            true => Outcome::Unknown,
            false => Outcome::NotHandled,
        };
        self.oracle.ended(self.now, message, outcome);
    }
}
