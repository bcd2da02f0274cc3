//! `HolderClock`: the clock of a node that acts on a lease.

use ostrakon_core::Time;

use crate::reading::{self, Reading};

/// Counts from when it was started, and errs early: it has advanced at least as far as either of the system's clocks.
#[derive(Clone, Copy, Debug)]
pub struct HolderClock {
    start: Reading,
}

impl HolderClock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self {
            start: Reading::now(),
        }
    }

    /// The time. Two reads of the system's clocks, neither of which enters the kernel.
    pub fn now(&self) -> Time {
        let passed = Reading::now().since(self.start);
        Time::from_nanos(passed.boot.max(passed.raw))
    }

    /// Holds the thread until this clock shows `time`, also if the machine sleeps meanwhile.
    pub fn sleep_until(&self, time: Time) {
        while let Some(rest) = time.as_nanos().checked_sub(self.now().as_nanos())
            && rest > 0
        {
            reading::sleep(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::GrantorClock;

    #[test]
    fn it_never_goes_back() {
        let clock = HolderClock::start();
        let mut last = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(last <= now, "{last} then {now}");
            last = now;
        }
    }

    #[test]
    fn it_is_never_behind_the_grantors() {
        let start = Reading::now();
        let (grantor, holder) = (GrantorClock { start }, HolderClock { start });
        for _ in 0..10_000 {
            let (granted, held) = (grantor.now(), holder.now());
            assert!(granted <= held, "{granted} and {held}");
        }
    }

    #[test]
    fn sleeping_takes_as_long_as_it_shows() {
        let clock = HolderClock::start();
        let until = clock.now() + Duration::from_millis(20);
        clock.sleep_until(until);
        let late = clock.now().saturating_since(until);
        assert!(clock.now() >= until);
        assert!(late < Duration::from_secs(5), "{late:?}");
        // What is past is not slept for.
        clock.sleep_until(Time::ZERO);
    }
}
