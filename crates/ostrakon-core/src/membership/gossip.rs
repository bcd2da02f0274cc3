//! How a topology gossips: it asks, answers, learns, and forgets. The steps are drawn in `message.rs`.
//!
//! A removed member cannot be brought back by old gossip. Its tombstone outranks every record of that generation or an earlier
//! one for as long as it is remembered; and when it is forgotten, every node that still takes part has either heard of the
//! removal or found out by itself, since whoever it cannot reach it removes as well, and long before (`forget_after` is at
//! least four times `remove_after`). A node that slept through all this drops what it knew when it wakes, and asks anew.

use super::message::{split_clocks, split_records};
use super::segment::Segment;
use super::{
    Address, Body, Generation, Topology, TopologyAction, TopologyMember, TopologyRejection,
    TopologyStatus,
};
use crate::{NodeName, Ordering4, VectorClock};

impl Topology {
    /// One round: asks a few live members, a silent one that may be back, and now and then a seed it has lost sight of.
    pub(super) fn gossip(&mut self) {
        self.rounds += 1;
        self.refresh_ring();
        let me = &self.me.name;
        let ring = self.watches.ring();
        let mut asked: Vec<NodeName> = self
            .choice
            .pick(ring, self.config.fanout, |(_, name)| name != me)
            .into_iter()
            .map(|(_, name)| name.clone())
            .collect();
        let down: Vec<_> = self
            .since
            .iter()
            .filter(|(_, (status, _))| *status == TopologyStatus::Down)
            .map(|(name, _)| name.clone())
            .collect();
        asked.extend(self.choice.pick(&down, 1, |_| true).into_iter().cloned());
        let digest = self.view.digest();
        for name in asked {
            self.tell(&name, Body::Digest(digest));
        }
        if self.rounds.is_multiple_of(SEED_ROUNDS) {
            self.probe_a_seed(digest);
            self.view.prune_clocks();
        }
        self.bury();
    }

    /// Finds the other half of a cluster that was cut in two for so long that both have forgotten each other, and the other
    /// of two clusters that formed apart.
    fn probe_a_seed(&mut self, digest: u64) {
        let live: Vec<_> = self
            .view
            .iter()
            .filter(|member| member.is_live())
            .map(|member| &member.address)
            .collect();
        let lost = self
            .choice
            .pick(&self.config.seeds, 1, |seed| !live.contains(&seed));
        for seed in lost.into_iter().cloned().collect::<Vec<_>>() {
            self.send(seed, Body::Digest(digest));
        }
    }

    pub(super) fn on_digest(&mut self, from: Address, theirs: u64) {
        if theirs != self.view.digest() {
            let digests = self.view.digests();
            self.send(from, Body::Segments(digests));
        }
    }

    pub(super) fn on_segments(&mut self, from: &Address, mut theirs: Vec<(u8, u64)>) {
        let mine = self.view.digests();
        let missing_there = mine
            .iter()
            .filter(|(index, _)| theirs.iter().all(|(other, _)| other != index));
        let missing_there: Vec<_> = missing_there.map(|(index, _)| (*index, 0)).collect();
        theirs.extend(missing_there);
        theirs.retain(|segment| !mine.contains(segment));
        let clocks = theirs
            .into_iter()
            .filter_map(|(index, _)| Some((index, self.view.segment(index)?.clock.clone())));
        for clocks in split_clocks(clocks.collect(), self.config.max_message) {
            self.send(from.clone(), Body::Clocks(clocks));
        }
    }

    /// Whoever knows more of a segment speaks. Clocks that are equal although the records differ were pruned, so then both do.
    pub(super) fn on_clocks(&mut self, from: &Address, theirs: Vec<(u8, VectorClock)>) {
        let (mut give, mut want) = (Vec::new(), Vec::new());
        for (index, clock) in theirs {
            let order = self.view.compare(index, &clock);
            if order != Ordering4::Before {
                give.push(index);
            }
            if order != Ordering4::After {
                want.push(index);
            }
        }
        self.give(from, &give, want);
    }

    pub(super) fn on_records(&mut self, from: &Address, segments: Vec<(u8, Segment)>, want: &[u8]) {
        for (index, segment) in segments {
            let unknown = segment
                .members()
                .iter()
                .filter(|record| self.view.get(&record.name).is_none());
            if self.view.len() + unknown.count() > self.config.max_members {
                self.reject(from.clone(), TopologyRejection::TooManyMembers);
                continue;
            }
            for record in segment.members() {
                self.learn(record);
            }
            self.view.merge_clock(index, &segment.clock);
        }
        self.give(from, want, Vec::new());
    }

    fn give(&mut self, to: &Address, indexes: &[u8], want: Vec<u8>) {
        let segments = indexes
            .iter()
            .filter_map(|index| Some((*index, self.view.segment(*index)?.clone())));
        let mut messages = split_records(segments, self.config.max_message);
        if messages.is_empty() && !want.is_empty() {
            messages.push(Vec::new());
        }
        let mut want = Some(want);
        for segments in messages {
            let want = want.take().unwrap_or_default();
            self.send(to.clone(), Body::Records { segments, want });
        }
    }

    /// Tells a few members about one record at once, where waiting for gossip would cost a round.
    pub(super) fn spread(&mut self, record: &TopologyMember, to: &[NodeName]) {
        let piece = Segment::of_records(VectorClock::default(), vec![record.clone()]);
        let segments = vec![(Segment::of(&record.name), piece)];
        for name in to {
            let body = Body::Records {
                segments: segments.clone(),
                want: Vec::new(),
            };
            self.tell(name, body);
        }
    }

    /// The same, to as many random live members as one round of gossip asks.
    pub(super) fn spread_my_record(&mut self) {
        self.refresh_ring();
        let (me, ring) = (self.me.clone(), self.watches.ring());
        let peers = self
            .choice
            .pick(ring, self.config.fanout, |(_, name)| *name != me.name);
        let peers: Vec<_> = peers.into_iter().map(|(_, name)| name.clone()).collect();
        self.spread(&me, &peers);
    }

    /// Takes over what somebody else says of a node.
    pub(super) fn learn(&mut self, record: &TopologyMember) {
        if record.name == self.me.name {
            self.hear_of_myself(record);
            return;
        }
        let before = self.view.get(&record.name);
        let accused = before
            .filter(|known| known.is_accused_by(&self.me.name))
            .map(|known| known.generation);
        if self.take_over(record) {
            self.note_change(&record.name, accused);
        }
    }

    /// Writes down what this node itself has found out about another.
    pub(super) fn write(&mut self, record: &TopologyMember) {
        if self.view.write(record, &self.author()) {
            self.note_change(&record.name, None);
        }
    }

    fn note_change(&mut self, name: &NodeName, accused: Option<Generation>) {
        self.changed = true;
        self.ring_is_stale = true;
        let Some(record) = self.view.get(name).cloned() else {
            return;
        };
        if record.is_live() {
            self.since.remove(name);
        } else if self
            .since
            .get(name)
            .is_none_or(|(status, _)| *status != record.status)
        {
            self.since.insert(name.clone(), (record.status, self.now));
        }
        if accused.is_some_and(|accused| {
            accused.run == record.generation.run && accused < record.generation
        }) {
            self.watches.was_wrong(name);
        }
        self.convict(record);
    }

    /// Somebody's word about this node itself. What is wrong with it, it answers with a higher generation; a later run of the
    /// same name at the same address can only be an earlier run whose number was too high.
    fn hear_of_myself(&mut self, record: &TopologyMember) {
        if record.generation < self.me.generation || self.me.status == TopologyStatus::Removed {
            return;
        }
        if record.generation.run > self.me.generation.run {
            if record.address != self.me.address {
                return self.end(TopologyAction::Replaced {
                    by: record.address.clone(),
                });
            }
            self.me.generation = record.generation.next_run();
        } else if record.generation > self.me.generation
            || record.status > self.me.status
            || !record.accusers.is_empty()
        {
            self.me.generation = record.generation.next_revision();
        } else {
            return;
        }
        self.speak();
        self.spread_my_record();
    }

    /// Removes those that have long been down, and forgets those that have long been removed. The first live member removes,
    /// so that not everyone bumps a clock for it; should that one be wrong about being the first, the others do it later.
    fn bury(&mut self) {
        let first = self.watches.ring().iter().map(|(_, name)| name).min() == Some(&self.me.name);
        let patience = self.config.remove_after * if first { 1 } else { 2 };
        let due: Vec<_> = self
            .since
            .iter()
            .filter(|(_, (status, since))| {
                let limit = if *status == TopologyStatus::Down {
                    patience
                } else {
                    self.config.forget_after
                };
                self.now.saturating_since(*since) >= limit
            })
            .map(|(name, (status, _))| (name.clone(), *status))
            .collect();
        for (name, status) in due {
            if status == TopologyStatus::Removed {
                self.view.forget(&name);
                self.since.remove(&name);
            } else if let Some(mut record) = self.view.get(&name).cloned() {
                record.status = TopologyStatus::Removed;
                self.write(&record);
            }
        }
    }
}

/// Every how manieth round a lost seed is asked.
const SEED_ROUNDS: u64 = 10;
