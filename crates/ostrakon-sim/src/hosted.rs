//! `Hosted`: the entities of one shard in one process.
//!
//! An entity handles one message after the other. A handler takes a while; one that *blocks* does not notice the end of the lease
//! and runs on, for as long as the slack allows.

use std::collections::VecDeque;

use ostrakon_core::Epoch;

use crate::{agenda::Moment, event::Frame};

pub(crate) struct Hosted {
    pub(crate) epoch: Epoch,
    /// Nothing more is let in.
    pub(crate) is_draining: bool,
    pub(crate) entities: [Entity; ENTITIES],
}

/// So many entities live in each shard.
pub(crate) const ENTITIES: usize = 2;

#[derive(Default)]
pub(crate) struct Entity {
    pub(crate) mailbox: VecDeque<Frame>,
    pub(crate) running: Option<Running>,
}

pub(crate) struct Running {
    pub(crate) frame: Frame,
    pub(crate) ends_at: Moment,
    pub(crate) blocks: bool,
    /// It has ended, but its answer could not leave because the lease was over.
    pub(crate) waits: bool,
}

impl Hosted {
    pub(crate) fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            is_draining: false,
            entities: Default::default(),
        }
    }

    pub(crate) fn running(&self) -> usize {
        let entities = self.entities.iter();
        entities.filter(|entity| entity.running.is_some()).count()
    }

    pub(crate) fn queued(&self) -> usize {
        self.entities
            .iter()
            .map(|entity| entity.mailbox.len())
            .sum()
    }

    /// Until when something runs that does not notice the end of the lease.
    pub(crate) fn blocks_until(&self) -> Option<Moment> {
        let running = self
            .entities
            .iter()
            .filter_map(|entity| entity.running.as_ref());
        let blocking = running.filter(|running| running.blocks && !running.waits);
        blocking.map(|running| running.ends_at).max()
    }
}
