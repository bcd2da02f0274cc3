//! `Gossiper`: what drives a [`Topology`] in one process.

use std::collections::BTreeSet;

use ostrakon_core::{Address, Topology};

use crate::agenda::Moment;

pub(crate) struct Gossiper {
    pub(crate) topology: Topology,
    pub(crate) address: Address,
    pub(crate) wakes_at: Moment,
    /// The nodes that it took for down when its members last changed.
    pub(crate) down: BTreeSet<usize>,
    /// Its process is about to end.
    pub(crate) is_leaving: bool,
}

impl Gossiper {
    pub(crate) fn new(topology: Topology, address: Address) -> Self {
        Self {
            topology,
            address,
            wakes_at: 0,
            down: BTreeSet::new(),
            is_leaving: false,
        }
    }
}
