//! `Node`: what drives a [`Region`], with the entities and the clients of one process.

use std::collections::BTreeMap;

use ostrakon_core::{Epoch, Incarnation, Region};

use crate::{agenda::Moment, event::Frame, gossiper::Gossiper, hosted::Hosted, lane::Lane};

pub(crate) struct Node {
    pub(crate) region: Region,
    pub(crate) began: Moment,
    /// Where nodes find each other.
    pub(crate) gossiper: Option<Gossiper>,
    /// By node: its present run, as it was last heard with a map.
    pub(crate) runs: BTreeMap<usize, Incarnation>,
    /// By shard.
    pub(crate) hosted: Vec<Option<Hosted>>,
    /// By shard: what its clients send.
    pub(crate) lanes: Vec<Lane>,
    /// By sender and shard: what others send.
    inbound: BTreeMap<(u64, usize), Inbound>,
    pub(crate) wakes_at: Moment,
    /// When it is looked whether its lease has run out.
    pub(crate) lapses_at: Moment,
    /// Whether it is in time, as was last seen.
    pub(crate) in_time: bool,
}

#[derive(Default)]
struct Inbound {
    stream: u64,
    next: u64,
    is_closed: bool,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    Accepted,
    Refused,
    /// It came before, or its connection is over.
    Stale,
}

impl Node {
    pub(crate) fn new(region: Region, began: Moment, shards: usize) -> Self {
        Self {
            region,
            began,
            gossiper: None,
            runs: BTreeMap::new(),
            hosted: std::iter::repeat_with(|| None).take(shards).collect(),
            lanes: std::iter::repeat_with(Lane::default).take(shards).collect(),
            inbound: BTreeMap::new(),
            wakes_at: 0,
            lapses_at: 0,
            in_time: false,
        }
    }

    /// What becomes of a frame. After one that was refused all others on its connection are, or they would overtake it.
    pub(crate) fn arrives(&mut self, frame: &Frame) -> Arrival {
        let serves = self.serves(frame.shard) == Some(frame.epoch);
        let key = (frame.from_process, frame.shard);
        let inbound = self.inbound.entry(key).or_default();
        if frame.stream > inbound.stream {
            *inbound = Inbound {
                stream: frame.stream,
                ..Inbound::default()
            };
        }
        if frame.stream < inbound.stream || frame.nth < inbound.next {
            return Arrival::Stale;
        }
        inbound.is_closed |= frame.nth > inbound.next || !serves;
        inbound.next = frame.nth + 1;
        match inbound.is_closed {
            true => Arrival::Refused,
            false => Arrival::Accepted,
        }
    }

    fn serves(&self, shard: usize) -> Option<Epoch> {
        let hosted = self.hosted[shard].as_ref()?;
        (!hosted.is_draining).then_some(hosted.epoch)
    }
}
