//! `Limits`: what a node grants its connections, so that no peer and no mistake can take everything.

use std::time::Duration;

/// The bounds of a node's connections. The defaults suit a cluster in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub(crate) message: usize,
    pub(crate) waiting: usize,
    pub(crate) connections: usize,
    pub(crate) streams: usize,
    pub(crate) handshake: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) silence: Duration,
    pub(crate) first_pause: Duration,
    pub(crate) longest_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 4 * 1024 * 1024,
            waiting: 16 * 1024 * 1024,
            connections: 4096,
            streams: 1024,
            handshake: Duration::from_secs(5),
            heartbeat: Duration::from_millis(500),
            silence: Duration::from_secs(5),
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// The largest encoded message that travels between nodes. Default 4 MiB, at least 64 KiB.
    pub fn message(mut self, bytes: usize) -> Self {
        self.message = bytes.clamp(64 * 1024, 1024 * 1024 * 1024);
        self
    }

    /// How much may wait to be sent to one node before senders get `Congested`. Default 16 MiB. Answers get four times that.
    pub fn waiting(mut self, bytes: usize) -> Self {
        self.waiting = bytes.max(64 * 1024);
        self
    }

    /// How many connections this node accepts in all. Default 4,096.
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = most.max(1);
        self
    }

    /// How many streams one other node may have open here. Default 1,024.
    pub fn streams(mut self, most: usize) -> Self {
        self.streams = most.max(1);
        self
    }

    /// How long a new connection may take to say who it is. Default five seconds.
    pub fn handshake(mut self, time: Duration) -> Self {
        self.handshake = time;
        self
    }

    /// How often a heartbeat is sent, and after how much silence a node counts as gone. Default half a second and five seconds.
    ///
    /// The silence is at least two heartbeats.
    pub fn heartbeat(mut self, every: Duration, silence: Duration) -> Self {
        self.heartbeat = every.max(Duration::from_millis(10));
        self.silence = silence.max(self.heartbeat * 2);
        self
    }

    /// The pause before a failed connection is tried again: `first`, doubling up to `longest`, each with some jitter. Default 50 ms to 5 s.
    pub fn redial(mut self, first: Duration, longest: Duration) -> Self {
        self.first_pause = first.max(Duration::from_millis(1));
        self.longest_pause = longest.max(self.first_pause);
        self
    }

    /// How much may wait in answers and stream items.
    pub(crate) fn waiting_answers(&self) -> usize {
        self.waiting.saturating_mul(4)
    }

    /// A peer that lets even signs pile up does not read at all.
    pub(crate) fn waiting_signs(&self) -> usize {
        self.waiting_answers().saturating_add(1024 * 1024)
    }
}
