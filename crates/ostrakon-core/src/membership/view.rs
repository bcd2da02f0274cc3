//! `View`: all that one node knows of the members of its cluster.
//!
//! It holds records and merges them; it decides nothing and speaks to nobody. Every change of a record passes through
//! [`View::merge`] (somebody else's word) or [`View::write`] (this node's own, counted in the vector clock).

use std::collections::BTreeMap;

use super::segment::{SEGMENTS, Segment};
use super::{TopologyMember, TopologyStatus};
use crate::{Author, NodeName, Ordering4, VectorClock};

/// The members, by segment.
#[derive(Clone, Debug)]
pub(super) struct View {
    segments: Vec<Segment>,
    /// Of each segment, as long as it has not changed.
    digests: Vec<Option<u64>>,
    len: usize,
}

impl View {
    pub(super) fn new() -> Self {
        Self {
            segments: vec![Segment::default(); usize::from(SEGMENTS)],
            digests: vec![Some(0); usize::from(SEGMENTS)],
            len: 0,
        }
    }

    /// How many records there are, those of removed members included.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, name: &NodeName) -> Option<&TopologyMember> {
        self.segments[usize::from(Segment::of(name))].get(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TopologyMember> {
        self.segments.iter().flat_map(Segment::members)
    }

    pub(super) fn segment(&self, index: u8) -> Option<&Segment> {
        self.segments.get(usize::from(index))
    }

    /// Takes over somebody else's word, and says whether it taught anything.
    ///
    /// That an unknown node is gone teaches nothing: it was forgotten here already.
    pub(super) fn merge(&mut self, record: &TopologyMember) -> bool {
        let known = self.get(&record.name).is_some();
        if !known && record.status == TopologyStatus::Removed {
            return false;
        }
        let at = usize::from(Segment::of(&record.name));
        let changed = self.segments[at].merge(record);
        if changed {
            self.digests[at] = None;
            self.len += usize::from(!known);
        }
        changed
    }

    /// Writes this node's own word, and counts it: the only thing that bumps a vector clock.
    pub(super) fn write(&mut self, record: &TopologyMember, author: &Author) -> bool {
        let changed = self.merge(record);
        if changed {
            let at = usize::from(Segment::of(&record.name));
            self.segments[at].clock.bump(author);
        }
        changed
    }

    /// Has seen what a segment with this clock has seen.
    pub(super) fn merge_clock(&mut self, index: u8, clock: &VectorClock) {
        if let Some(segment) = self.segments.get_mut(usize::from(index)) {
            segment.clock.merge(clock);
        }
    }

    pub(super) fn compare(&self, index: u8, clock: &VectorClock) -> Ordering4 {
        let segment = self.segment(index);
        segment.map_or(Ordering4::Equal, |mine| mine.clock.compare(clock))
    }

    pub(super) fn forget(&mut self, name: &NodeName) {
        if self.get(name).is_some() {
            let at = usize::from(Segment::of(name));
            self.segments[at].forget(name);
            self.digests[at] = None;
            self.len -= 1;
        }
    }

    /// Drops from all clocks the runs that are not, or no longer, those of a member.
    pub(super) fn prune_clocks(&mut self) {
        let runs: BTreeMap<_, _> = self
            .iter()
            .map(|member| (member.name.clone(), member.generation.run))
            .collect();
        for segment in &mut self.segments {
            segment
                .clock
                .prune(|author| runs.get(&author.name) == Some(&author.run));
        }
    }

    /// Equal for equal views.
    pub(super) fn digest(&mut self) -> u64 {
        self.each_digest()
            .fold(0, |sum, (_, digest)| u64::wrapping_add(sum, digest))
    }

    /// Of the segments that are not empty.
    pub(super) fn digests(&mut self) -> Vec<(u8, u64)> {
        self.each_digest()
            .filter(|(_, digest)| *digest != 0)
            .collect()
    }

    fn each_digest(&mut self) -> impl Iterator<Item = (u8, u64)> {
        let each = (0..SEGMENTS).zip(&self.segments).zip(&mut self.digests);
        each.map(|((index, segment), digest)| {
            (index, *digest.get_or_insert_with(|| segment.digest()))
        })
    }
}
