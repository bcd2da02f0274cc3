//! `Time`: a moment, as the core sees it.
//!
//! The core never reads a clock. Whoever drives it passes the time in: a real driver the time since
//! it started, a simulation whatever the story needs. The origin is therefore arbitrary, and two
//! times are comparable only within one process; `Time` is neither a date nor sent to other nodes.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// Nanoseconds since an arbitrary origin; enough for 584 years.
///
/// Eight bytes, half of a [`Duration`], because one lies in every idle entity.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// The moment this many nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long ago `earlier` was, or zero if it is in fact later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates: a deadline too far away to be written down is one that never comes.
impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        let nanos = u64::try_from(later.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

/// Seconds, with milliseconds when those say it all and nanoseconds otherwise, so that different
/// times never print alike.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / NANOS_PER_SECOND, self.0 % NANOS_PER_SECOND);
        if nanos.is_multiple_of(NANOS_PER_MILLI) {
            write!(f, "{seconds}.{:03}s", nanos / NANOS_PER_MILLI)
        } else {
            write!(f, "{seconds}.{nanos:09}s")
        }
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_eight_bytes() {
        assert_eq!(size_of::<Time>(), 8);
    }

    #[test]
    fn it_prints_as_seconds() {
        let printed = |nanos| format!("{} {:?}", Time::from_nanos(nanos), Time::from_nanos(nanos));
        assert_eq!(printed(0), "0.000s 0.000s");
        assert_eq!(printed(12_345_000_000), "12.345s 12.345s");
        assert_eq!(printed(12_345_000_001), "12.345000001s 12.345000001s");
        assert_eq!(printed(7_000_000), "0.007s 0.007s");
    }

    #[test]
    fn since_is_the_reverse_of_addition() {
        let start = Time::from_nanos(5);
        let end = start + Duration::from_secs(2);
        assert_eq!(end, Time::from_nanos(2_000_000_005));
        assert_eq!(end.saturating_since(start), Duration::from_secs(2));
        assert_eq!(start.saturating_since(end), Duration::ZERO);
    }
}
