//! `LeaseTiming`: how long a node may act on its last renewal, and how long others wait for it.
//!
//! A node acts until `hold` after it *sent* the last renewal that was answered, and what runs then may run on for `slack`.
//! Whoever grants shards ends its incarnation not before `wait` after it *heard* the last renewal. Clocks may run up to `drift` too
//! fast or too slow, but no clock is ever compared with another one. Invariant of every value of this type:
//!
//! ```text
//! wait >= (1 + drift) / (1 - drift) * hold + (1 + drift) * slack
//! ```
//!
//! so that the node has stopped before anybody else may start, however late or lost the messages between them are.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The times of a lease. They are checked when they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LeaseTimes", into = "LeaseTimes")]
pub struct LeaseTiming(LeaseTimes);

/// The times of a lease, unchecked; [`LeaseTiming::new`] checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseTimes {
    /// How often a node renews.
    pub renew: Duration,
    /// How long a node may act after it sent a renewal that was answered.
    pub hold: Duration,
    /// How long what runs at the end of the lease may run on.
    pub slack: Duration,
    /// How long a silent node is waited for.
    pub wait: Duration,
    /// By how much clocks may run too fast or too slow, in thousandths.
    pub drift_permille: u16,
}

/// These times would let two nodes act for one shard, or no node at all. Nothing was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnsafeTiming {
    /// The wait is too short for the hold.
    #[error(
        "a silent node would be replaced after {wait:?} although it may act for {needed:?} \
         (hold {hold:?}, slack {slack:?}, clocks {drift_permille}/1000 wrong): set wait to at least {needed:?}, or shorten hold"
    )]
    WaitTooShort {
        /// The wait.
        wait: Duration,
        /// The shortest wait that is safe.
        needed: Duration,
        /// The hold.
        hold: Duration,
        /// The slack.
        slack: Duration,
        /// The drift.
        drift_permille: u16,
    },
    /// A node could not renew in time.
    #[error(
        "a node that renews every {renew:?} may act for {hold:?} only: set hold to at least twice renew"
    )]
    HoldTooShort {
        /// The pause between renewals.
        renew: Duration,
        /// The hold.
        hold: Duration,
    },
    /// Such clocks measure nothing.
    #[error("clocks that may be {drift_permille}/1000 wrong measure nothing: choose less than 500")]
    WildClocks {
        /// The drift.
        drift_permille: u16,
    },
}

impl LeaseTiming {
    /// Checks the times.
    pub fn new(times: LeaseTimes) -> Result<Self, UnsafeTiming> {
        let LeaseTimes {
            renew,
            hold,
            slack,
            wait,
            drift_permille,
        } = times;
        if drift_permille >= 500 {
            return Err(UnsafeTiming::WildClocks { drift_permille });
        }
        if renew.is_zero() || hold < renew * 2 {
            return Err(UnsafeTiming::HoldTooShort { renew, hold });
        }
        let needed = shortest_wait(hold, slack, drift_permille);
        if wait < needed {
            return Err(UnsafeTiming::WaitTooShort {
                wait,
                needed,
                hold,
                slack,
                drift_permille,
            });
        }
        Ok(Self(times))
    }

    /// Times that nobody has checked, to see what happens by them.
    #[cfg(feature = "mutants")]
    pub fn unchecked(times: LeaseTimes) -> Self {
        Self(times)
    }

    /// For a local network: another node takes over 3.5 to 5 seconds after a crash.
    pub fn fast() -> Self {
        Self(LeaseTimes {
            renew: Duration::from_secs(1),
            hold: Duration::from_secs(3),
            slack: Duration::from_millis(500),
            wait: Duration::from_millis(4500),
            drift_permille: 100,
        })
    }

    /// For a manager that nobody stands by for, and that may take half a minute to come back.
    pub fn single_manager() -> Self {
        Self(LeaseTimes {
            renew: Duration::from_secs(5),
            hold: Duration::from_secs(30),
            slack: Duration::from_secs(2),
            wait: Duration::from_secs(40),
            drift_permille: 100,
        })
    }

    /// The times.
    pub fn times(&self) -> LeaseTimes {
        self.0
    }
}

/// Another node takes over 9.5 to 13 seconds after a crash.
impl Default for LeaseTiming {
    fn default() -> Self {
        Self(LeaseTimes {
            renew: Duration::from_secs(3),
            hold: Duration::from_secs(9),
            slack: Duration::from_secs(1),
            wait: Duration::from_millis(12_500),
            drift_permille: 100,
        })
    }
}

impl TryFrom<LeaseTimes> for LeaseTiming {
    type Error = UnsafeTiming;

    fn try_from(times: LeaseTimes) -> Result<Self, UnsafeTiming> {
        Self::new(times)
    }
}

impl From<LeaseTiming> for LeaseTimes {
    fn from(timing: LeaseTiming) -> Self {
        timing.0
    }
}

/// Rounded up: a nanosecond too much is safe.
fn shortest_wait(hold: Duration, slack: Duration, drift_permille: u16) -> Duration {
    let drift = u128::from(drift_permille);
    let hold = (hold.as_nanos() * (1000 + drift)).div_ceil(1000 - drift);
    let slack = (slack.as_nanos() * (1000 + drift)).div_ceil(1000);
    Duration::from_nanos(u64::try_from(hold + slack).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profiles_are_safe() {
        for profile in [
            LeaseTiming::default(),
            LeaseTiming::fast(),
            LeaseTiming::single_manager(),
        ] {
            assert_eq!(LeaseTiming::new(profile.times()), Ok(profile));
        }
    }

    #[test]
    fn the_shortest_wait_is_that_of_the_inequality() {
        let needed = |hold, slack| {
            let (hold, slack) = (Duration::from_millis(hold), Duration::from_millis(slack));
            shortest_wait(hold, slack, 100).as_millis()
        };
        assert_eq!(needed(9000, 1000), 12_100);
        assert_eq!(needed(3000, 500), 4216);
        assert_eq!(needed(30_000, 2000), 38_866);
    }

    #[test]
    fn a_wait_below_the_shortest_is_refused_with_the_numbers() {
        let mut times = LeaseTiming::default().times();
        times.wait = Duration::from_secs(12);
        let error = LeaseTiming::new(times).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a silent node would be replaced after 12s although it may act for 12.1s (hold 9s, slack 1s, clocks 100/1000 wrong): \
             set wait to at least 12.1s, or shorten hold"
        );
        times.wait = Duration::from_millis(12_100);
        assert!(LeaseTiming::new(times).is_ok());
    }

    #[test]
    fn a_hold_that_a_single_lost_renewal_ends_is_refused() {
        let mut times = LeaseTiming::default().times();
        times.hold = Duration::from_secs(5);
        assert!(matches!(
            LeaseTiming::new(times),
            Err(UnsafeTiming::HoldTooShort { .. })
        ));
    }

    #[test]
    fn clocks_that_measure_nothing_are_refused() {
        let mut times = LeaseTiming::default().times();
        times.drift_permille = 500;
        assert!(matches!(
            LeaseTiming::new(times),
            Err(UnsafeTiming::WildClocks { .. })
        ));
    }

    #[test]
    fn decoded_times_are_checked() {
        let mut times = LeaseTiming::default().times();
        let text = serde_json::to_string(&LeaseTiming::default()).unwrap();
        assert_eq!(
            serde_json::from_str::<LeaseTiming>(&text).unwrap(),
            LeaseTiming::default()
        );
        times.wait = Duration::from_secs(1);
        let text = serde_json::to_string(&times).unwrap();
        assert!(serde_json::from_str::<LeaseTiming>(&text).is_err());
    }
}
