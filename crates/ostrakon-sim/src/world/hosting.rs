//! Hosting: entities that handle messages, are drained, and end.

use ostrakon_core::{Epoch, RegionInput};

use super::World;
use crate::{
    agenda::{MILLI, SECOND},
    event::{Disposition, Event, Frame, Local},
    hosted::{ENTITIES, Hosted, Running},
    mutant::Mutant,
};

impl World {
    pub(super) fn open(&mut self, site: usize, shard: usize, epoch: Epoch) {
        if let Some(node) = &mut self.nodes[site] {
            node.hosted[shard] = Some(Hosted::new(epoch));
        }
    }

    fn hosted(&mut self, site: usize, shard: usize, epoch: Epoch) -> Option<&mut Hosted> {
        let hosted = self.nodes[site].as_mut()?.hosted[shard].as_mut();
        hosted.filter(|hosted| hosted.epoch == epoch)
    }

    /// Nothing more is let in, what waits is refused in order, and what runs may finish.
    pub(super) fn drain(&mut self, site: usize, shard: usize, epoch: Epoch) {
        let endless = self.is(Mutant::EndlessTermination);
        let Some(hosted) = self.hosted(site, shard, epoch) else {
            return;
        };
        hosted.is_draining = true;
        let mut refused = Vec::new();
        if !endless {
            for entity in &mut hosted.entities {
                refused.extend(entity.mailbox.drain(..));
            }
        }
        for frame in refused {
            self.answer(site, frame, Disposition::Nack);
        }
        self.quiet_if_idle(site, shard, epoch);
    }

    fn quiet_if_idle(&mut self, site: usize, shard: usize, epoch: Epoch) {
        let endless = self.is(Mutant::EndlessTermination);
        let hosted = self.hosted(site, shard, epoch);
        let idle =
            hosted.is_some_and(|hosted| hosted.is_draining && (hosted.running() == 0 || endless));
        if idle {
            if let Some(node) = self.nodes[site].as_mut().filter(|_| !endless) {
                node.hosted[shard] = None;
            }
            let shard = self.setup.keys[shard].clone();
            // Actions of a region are carried out one after the other: the rest of them comes first.
            self.note(0, site, Local::Quiet(Box::new((shard, epoch))));
        }
    }

    pub(super) fn is_quiet(&mut self, site: usize, shard: ostrakon_core::ShardKey, epoch: Epoch) {
        self.tell_node(site, RegionInput::Quiet { shard, epoch });
    }

    /// Everything of the shard ends at once: what was begun is lost, the rest is refused.
    pub(super) fn fence(&mut self, site: usize, shard: usize, epoch: Epoch) {
        if self.hosted(site, shard, epoch).is_none() {
            return;
        }
        let hosted = self.nodes[site]
            .as_mut()
            .and_then(|node| node.hosted[shard].take());
        for entity in hosted.into_iter().flat_map(|hosted| hosted.entities) {
            if let Some(running) = entity.running {
                self.answer(site, running.frame, Disposition::Lost);
            }
            for frame in entity.mailbox {
                self.answer(site, frame, Disposition::Nack);
            }
        }
    }

    /// Whether entities of a shard may act on a node at this moment.
    fn may_act(&self, site: usize, shard: usize, epoch: Epoch) -> bool {
        let key = &self.setup.keys[shard];
        let local = self.local(site);
        let node = self.nodes[site].as_ref();
        node.is_some_and(|node| node.region.acts(key, local) == Some(epoch))
    }

    /// Lets an entity begin with its next message, if it may.
    pub(super) fn handle_next(&mut self, site: usize, shard: usize, epoch: Epoch, entity: usize) {
        let unchecked = self.is(Mutant::CheckOutsideTheLock) || self.is(Mutant::EndlessTermination);
        if !self.may_act(site, shard, epoch) && !unchecked {
            return;
        }
        let (takes, blocks) = self.effort();
        let ends_at = self.now + takes;
        let Some(hosted) = self.hosted(site, shard, epoch) else {
            return;
        };
        let entity = &mut hosted.entities[entity];
        if entity.running.is_some() {
            return;
        }
        let Some(frame) = entity.mailbox.pop_front() else {
            return;
        };
        entity.running = Some(Running {
            frame,
            ends_at,
            blocks,
            waits: false,
        });
        let message = frame.message;
        let (local, process) = (self.local(site), self.sites[site].process);
        self.oracle
            .handled(self.now, message, (process, epoch), local);
        self.note(
            takes,
            site,
            Local::HandlerEnds {
                shard,
                epoch,
                message,
            },
        );
    }

    /// How long a handler takes, and whether it blocks.
    fn effort(&mut self) -> (u64, bool) {
        let is_long = !self.is_calm && self.dice.chance(40);
        let takes = match is_long {
            true => self.dice.between(SECOND, 20 * SECOND),
            false => self.dice.between(MILLI / 10, 200 * MILLI),
        };
        (takes, self.dice.chance(500))
    }

    pub(super) fn handler_ends(&mut self, site: usize, shard: usize, epoch: Epoch, message: usize) {
        let may_act = self.may_act(site, shard, epoch);
        let Some(hosted) = self.hosted(site, shard, epoch) else {
            return;
        };
        let ended = |running: &Running| running.frame.message == message;
        let mut entities = hosted.entities.iter_mut().enumerate();
        let found = entities.find(|(_, entity)| entity.running.as_ref().is_some_and(ended));
        let Some((number, entity)) = found else {
            return;
        };
        if !may_act {
            // The answer cannot leave, and nothing else begins, until the lease is renewed.
            if let Some(running) = &mut entity.running {
                running.waits = true;
            }
            return;
        }
        let frame = entity.running.take().map(|running| running.frame);
        if let Some(frame) = frame {
            self.answer(site, frame, Disposition::Done);
        }
        self.handle_next(site, shard, epoch, number);
        self.quiet_if_idle(site, shard, epoch);
    }

    /// The lease is renewed: everything goes on where it was.
    pub(super) fn host_resumes(&mut self, site: usize) {
        for shard in 0..self.setup.keys.len() {
            let node = self.nodes[site].as_ref();
            let Some(hosted) = node.and_then(|node| node.hosted[shard].as_ref()) else {
                continue;
            };
            let epoch = hosted.epoch;
            let running = hosted
                .entities
                .iter()
                .filter_map(|entity| entity.running.as_ref());
            let waiting = running.filter(|running| running.waits);
            let waiting: Vec<usize> = waiting.map(|running| running.frame.message).collect();
            for message in waiting {
                self.handler_ends(site, shard, epoch, message);
            }
            for entity in 0..ENTITIES {
                self.handle_next(site, shard, epoch, entity);
            }
        }
    }

    /// Tells a sender what became of its message, if the connection still is.
    pub(super) fn answer(&mut self, site: usize, frame: Frame, disposition: Disposition) {
        let Frame {
            from,
            from_process,
            shard,
            stream,
            message,
            ..
        } = frame;
        let (delay, what) = if self.network.joins(site, from) {
            let answer = Local::Answer {
                shard,
                stream,
                message,
                disposition,
            };
            (self.network.stream_delay(&mut self.dice), answer)
        } else {
            self.stream_is_broken(from, shard, stream);
            let delay = self.dice.between(200 * MILLI, 3 * SECOND);
            (delay, Local::StreamBreaks { shard, stream })
        };
        let at = self.now + delay;
        self.agenda.note(
            at,
            Event::At {
                site: from,
                process: Some(from_process),
                what,
            },
        );
    }
}
