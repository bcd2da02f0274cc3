//! `UtcTime`: a moment in seconds since 1970, shown as people read it: `2027-11-16 03:12 UTC`.
//!
//! It exists to print when a certificate starts and ends. It is not a calendar: it reads no dates and knows no zones.

use std::{fmt, time::Duration};

/// A moment, to the second. Certificates know none before 1970 and none after 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(u64);

impl UtcTime {
    /// The moment this many seconds after the start of 1970; the last of 9999 for any later one.
    pub fn from_unix_seconds(seconds: u64) -> Self {
        Self(seconds.min(END_OF_9999))
    }

    /// Now, by the clock of this machine.
    pub fn now() -> Self {
        Self::from_unix_seconds(rustls::pki_types::UnixTime::now().as_secs())
    }

    /// Seconds since the start of 1970.
    pub fn unix_seconds(self) -> u64 {
        self.0
    }

    /// This much later.
    pub fn plus(self, time: Duration) -> Self {
        Self::from_unix_seconds(self.0.saturating_add(time.as_secs()))
    }

    /// This much earlier, though not before 1970.
    pub fn minus(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(time.as_secs()))
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut days, second) = (self.0 / DAY, self.0 % DAY);
        let (mut year, mut month) = (1970, 1);
        while days >= days_in(year) {
            days -= days_in(year);
            year += 1;
        }
        while days >= days_in_month(year, month) {
            days -= days_in_month(year, month);
            month += 1;
        }
        let (day, hour, minute) = (days + 1, second / 3600, second / 60 % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
    }
}

fn days_in(year: u64) -> u64 {
    (1..=12).map(|month| days_in_month(year, month)).sum()
}

fn days_in_month(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

const DAY: u64 = 86_400;
const END_OF_9999: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shown_as_dates() {
        for (seconds, shown) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (1_735_689_600, "2025-01-01 00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
            (END_OF_9999, "9999-12-31 23:59 UTC"),
            (u64::MAX, "9999-12-31 23:59 UTC"),
        ] {
            assert_eq!(UtcTime::from_unix_seconds(seconds).to_string(), shown);
        }
    }
}
