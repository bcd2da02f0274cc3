//! `Clock`: the clock of one machine.
//!
//! It runs at a rate of its own from an origin of its own, and runs on while the processes on it are stopped. A clock that
//! stops with its machine is outside what the rules assume, and is not here.

use ostrakon_core::Time;

use crate::agenda::Moment;

/// A rate of one second in a second.
pub(crate) const TRUE_RATE: u64 = 1_000_000;

/// The clock of one machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: u64,
    /// Millionths of a second in a microsecond of real time.
    rate: u64,
}

impl Clock {
    pub(crate) fn new(origin: u64, rate: u64) -> Self {
        Self { origin, rate }
    }

    /// What the clock shows.
    pub(crate) fn shows(&self, moment: Moment) -> Time {
        let passed = u128::from(moment) * u128::from(self.rate) / u128::from(TRUE_RATE);
        Time::from_nanos(self.origin.saturating_add(passed as u64))
    }

    /// The first moment at which the clock shows `time`.
    pub(crate) fn moment_of(&self, time: Time) -> Moment {
        let passed = u128::from(time.as_nanos().saturating_sub(self.origin));
        (passed * u128::from(TRUE_RATE)).div_ceil(u128::from(self.rate)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_of_a_time_is_the_first_at_which_it_shows() {
        for rate in [900_000, 999_999, 1_000_000, 1_100_000] {
            let clock = Clock::new(1234, rate);
            let time = Time::from_nanos(987_654_321);
            let moment = clock.moment_of(time);
            assert!(clock.shows(moment) >= time);
            assert!(clock.shows(moment - 1) < time);
        }
    }
}
