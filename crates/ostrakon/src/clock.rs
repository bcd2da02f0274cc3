//! The node's clock: the one place where the runtime reads time, and waits for it.
//!
//! It is tokio's clock, so that tests can stop and advance it, and yields the core's [`Time`].

use std::time::Duration;

use ostrakon_core::Time;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep};

use crate::timekeeper::timekeeper;

#[derive(Clone, Copy)]
pub(crate) struct Clock {
    origin: Instant,
    timers: Timers,
}

/// Who wakes those that wait for a time.
#[derive(Clone, Copy)]
enum Timers {
    /// The runtime that they run on.
    Here,
    /// The [timekeeper].
    Apart,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            origin: Instant::now(),
            timers: Timers::Here,
        }
    }

    /// The same clock for a node with links, on whose threads no timer shall be in the way of messages.
    pub(crate) fn with_timers_apart(self) -> Self {
        let timers = Timers::Apart;
        Self { timers, ..self }
    }

    pub(crate) fn now(self) -> Time {
        Time::ZERO + self.origin.elapsed()
    }

    pub(crate) fn instant(self, time: Time) -> Instant {
        self.origin + time.saturating_since(Time::ZERO)
    }

    /// Waits for a time that is far away, as a rule.
    pub(crate) fn sleep_until(self, time: Time) -> Sleep {
        let _apart = self.enter();
        tokio::time::sleep_until(self.instant(time))
    }

    /// Ticks now and after every `period`; what is missed is not made up for.
    pub(crate) fn every(self, period: Duration) -> Interval {
        let _apart = self.enter();
        let mut ticks = tokio::time::interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    }

    /// A timer belongs to the runtime in which it is made, and can be waited for in any.
    fn enter(self) -> Option<tokio::runtime::EnterGuard<'static>> {
        match self.timers {
            Timers::Here => None,
            Timers::Apart => timekeeper().map(tokio::runtime::Handle::enter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A runtime that cannot keep time itself.
    fn without_timers<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(work)
    }

    #[test]
    fn a_clock_with_timers_apart_needs_none_of_the_runtime_it_is_used_on() {
        without_timers(async {
            let clock = Clock::start().with_timers_apart();
            let soon = clock.now() + Duration::from_millis(5);
            clock.sleep_until(soon).await;
            assert!(clock.now() >= soon);
            let mut ticks = clock.every(Duration::from_millis(1));
            ticks.tick().await;
            ticks.tick().await;
        });
    }

    #[test]
    #[should_panic(expected = "timers are disabled")]
    fn a_clock_without_them_does() {
        without_timers(async { Clock::start().sleep_until(Time::ZERO).await });
    }
}
