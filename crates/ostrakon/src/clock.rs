//! The node's clock: the one place where the runtime reads time.
//!
//! It is tokio's clock, so that tests can stop and advance it, and yields the core's [`Time`].

use ostrakon_core::Time;
use tokio::time::Instant;

#[derive(Clone, Copy)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    pub(crate) fn now(self) -> Time {
        Time::ZERO + self.origin.elapsed()
    }

    pub(crate) fn instant(self, time: Time) -> Instant {
        self.origin + time.saturating_since(Time::ZERO)
    }
}
