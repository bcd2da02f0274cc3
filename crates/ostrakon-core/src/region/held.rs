//! `Held`: a shard that a region has, and what becomes of it.

use crate::Epoch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) epoch: Epoch,
    pub(super) phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Serving,
    /// Nothing new is let in; what runs finishes.
    Draining,
    /// Given up; the coordinator may not have heard of it.
    Quiet,
}

impl Held {
    pub(super) fn serving(epoch: Epoch) -> Self {
        Self {
            epoch,
            phase: Phase::Serving,
        }
    }

    pub(super) fn quiet(epoch: Epoch) -> Self {
        Self {
            epoch,
            phase: Phase::Quiet,
        }
    }
}
