//! `Lane`: what one process sends to one shard, in order.
//!
//! Messages go out on one connection at a time, to one ownership of the shard. When the owner refuses one, or another owner is known,
//! nothing more is sent until it is known what became of all that is under way; then those that were refused and those that were never
//! sent go to the new owner in their original order. Of what was under way when a connection broke nobody knows, and it is not sent again.

use std::collections::VecDeque;

use ostrakon_core::Epoch;

use crate::agenda::Moment;

/// So many messages may wait or be under way.
pub(crate) const WINDOW: usize = 64;

#[derive(Default)]
pub(crate) struct Lane {
    pub(crate) target: Option<Target>,
    pub(crate) window: VecDeque<Sending>,
    /// When it is to be looked at again.
    pub(crate) pumps_at: Moment,
    /// Counts the messages.
    pub(crate) seq: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) site: usize,
    pub(crate) process: u64,
    pub(crate) epoch: Epoch,
    pub(crate) stream: u64,
    /// The next frame.
    pub(crate) nth: u64,
    /// When the last frame arrives: none overtakes another.
    pub(crate) arrives: Moment,
    /// Something was refused: nothing more is sent here.
    pub(crate) is_closed: bool,
    /// It is being given up: somebody else is the owner.
    pub(crate) is_given_up: bool,
    /// Something on it did not arrive, whether anybody knows it or not.
    pub(crate) is_broken: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) message: usize,
    pub(crate) entity: usize,
    pub(crate) is_under_way: bool,
}

impl Lane {
    pub(crate) fn waits(&self) -> bool {
        self.window.iter().any(|sending| !sending.is_under_way)
    }

    pub(crate) fn is_settled(&self) -> bool {
        !self.window.iter().any(|sending| sending.is_under_way)
    }

    /// Forgets a message; whether it was under way, if it was here at all.
    pub(crate) fn remove(&mut self, message: usize) -> Option<bool> {
        let mut places = self.window.iter();
        let place = places.position(|sending| sending.message == message)?;
        self.window
            .remove(place)
            .map(|sending| sending.is_under_way)
    }

    /// Takes out all that is under way.
    pub(crate) fn take_under_way(&mut self) -> VecDeque<Sending> {
        let (gone, kept) = self
            .window
            .drain(..)
            .partition(|sending| sending.is_under_way);
        self.window = kept;
        gone
    }
}
