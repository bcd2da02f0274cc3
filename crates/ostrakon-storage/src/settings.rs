//! `StorageSettings`: what holds for every kind of storage.

use std::time::Duration;

/// How to deal with a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageSettings {
    /// Every call ends by then, one way or the other.
    pub deadline: Duration,
    /// Whoever waits for a change looks for itself after this time, in case that the news was lost.
    pub poll: Duration,
    /// Take a server although it may lose what it has acknowledged. Ownership is then no longer exclusive: a lost entry gives its index,
    /// and so the epoch of a shard, away twice.
    pub accept_loss: bool,
}

/// 3 s for a call; a look every second.
impl Default for StorageSettings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(3),
            poll: Duration::from_secs(1),
            accept_loss: false,
        }
    }
}
