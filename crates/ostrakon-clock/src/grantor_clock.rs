//! `GrantorClock`: the clock of whoever decides that a lease is over.

use ostrakon_core::Time;

use crate::reading::Reading;

/// Counts from when it was started, and errs late: it has advanced at most as far as either of the system's clocks.
#[derive(Clone, Copy, Debug)]
pub struct GrantorClock {
    pub(crate) start: Reading,
}

impl GrantorClock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self {
            start: Reading::now(),
        }
    }

    /// The time. Two reads of the system's clocks, neither of which enters the kernel.
    pub fn now(&self) -> Time {
        let passed = Reading::now().since(self.start);
        Time::from_nanos(passed.boot.min(passed.raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_goes_back_and_does_advance() {
        let clock = GrantorClock::start();
        let (first, mut last) = (clock.now(), clock.now());
        while last == first {
            let now = clock.now();
            assert!(last <= now, "{last} then {now}");
            last = now;
        }
    }
}
