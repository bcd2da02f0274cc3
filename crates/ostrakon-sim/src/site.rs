//! `Site`: a place where a process runs, is stopped for a while, ends, and begins anew.

use crate::{agenda::Moment, clock::Clock, event::Local};

pub(crate) struct Site {
    pub(crate) clock: Clock,
    /// Which process is or was the last here. No other process anywhere has this number.
    pub(crate) process: u64,
    pub(crate) is_alive: bool,
    pub(crate) is_paused: bool,
    /// What has come while it was paused.
    pub(crate) backlog: Vec<Local>,
    /// When it was last paused, from and to.
    pub(crate) last_pause: (Moment, Moment),
}

impl Site {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            process: 0,
            is_alive: false,
            is_paused: false,
            backlog: Vec::new(),
            last_pause: (0, 0),
        }
    }

    /// Whether it does anything at this moment.
    pub(crate) fn runs(&self) -> bool {
        self.is_alive && !self.is_paused
    }
}
