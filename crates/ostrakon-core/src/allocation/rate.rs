//! `Rate`: how much of a group one node may be given in one round of balancing.
//!
//! Kept in whole millionths, so that the number of shards it allows is exact.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A part of the shards of a group, from 0 to 1; 2 % by default.
///
/// It bounds what *each* receiving node gets in a round, not the round as a whole: five new nodes get five times as
/// much as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate {
    millionths: u32,
}

impl Rate {
    /// Nothing is ever moved for the sake of balance.
    pub const ZERO: Self = Self { millionths: 0 };
    /// As much as balance asks for.
    pub const ALL: Self = Self { millionths: WHOLE };

    /// Checks that `rate` is in `0.0..=1.0`. It is rounded to millionths; one that is not zero stays above zero.
    pub fn new(rate: f64) -> Result<Self, InvalidRate> {
        if !(0.0..=1.0).contains(&rate) {
            return Err(InvalidRate { rate });
        }
        let millionths = (rate * f64::from(WHOLE)).round() as u32;
        let least = u32::from(rate > 0.0);
        Ok(Self {
            millionths: millionths.max(least),
        })
    }

    /// The rate of so many thousandths, checked like the others.
    pub fn from_permille(permille: u16) -> Result<Self, InvalidRate> {
        Self::new(f64::from(permille) / 1000.0)
    }

    /// How many of `shards` this is, rounded up: at least one, unless the rate is zero.
    pub fn of(self, shards: usize) -> u32 {
        let parts = shards as u64 * u64::from(self.millionths);
        u32::try_from(parts.div_ceil(u64::from(WHOLE))).unwrap_or(u32::MAX)
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self { millionths: 20_000 }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", f64::from(self.millionths) / 10_000.0)
    }
}

impl TryFrom<f64> for Rate {
    type Error = InvalidRate;

    fn try_from(rate: f64) -> Result<Self, Self::Error> {
        Self::new(rate)
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        Self::from(rate.millionths) / Self::from(WHOLE)
    }
}

/// A number that is not a part of something. Nothing was set; choose another.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a rate cannot be {rate}: choose 0 (never) to 1 (without limit)")]
pub struct InvalidRate {
    /// The refused number.
    pub rate: f64,
}

const WHOLE: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rate: f64, shards: usize) -> u32 {
        Rate::new(rate).unwrap().of(shards)
    }

    #[test]
    fn it_is_rounded_up_to_whole_shards() {
        assert_eq!(of(0.02, 300), 6);
        assert_eq!(of(0.02, 256), 6);
        assert_eq!(of(0.02, 50), 1);
        assert_eq!(of(0.02, 10), 1);
        assert_eq!(of(0.07, 100), 7);
        assert_eq!(of(1.0, 300), 300);
        assert_eq!(of(1e-12, 300), 1);
        assert_eq!(of(0.0, 300), 0);
        assert_eq!(Rate::default().of(300), 6);
    }

    #[test]
    fn only_zero_to_one_is_accepted() {
        for rate in [-0.01, 1.01, f64::NAN, f64::INFINITY] {
            assert!(Rate::new(rate).is_err(), "{rate}");
        }
        assert_eq!(Rate::new(1.0), Ok(Rate::ALL));
        assert_eq!(Rate::from_permille(20), Ok(Rate::default()));
        assert_eq!(
            Rate::from_permille(1001).unwrap_err().to_string(),
            "a rate cannot be 1.001: choose 0 (never) to 1 (without limit)"
        );
    }

    #[test]
    fn it_shows_as_percent_and_travels_as_a_number() {
        assert_eq!(Rate::default().to_string(), "2 %");
        assert_eq!(Rate::new(0.0005).unwrap().to_string(), "0.05 %");
        let json = serde_json::to_string(&Rate::default()).unwrap();
        assert_eq!(json, "0.02");
        assert_eq!(
            serde_json::from_str::<Rate>(&json).unwrap(),
            Rate::default()
        );
        assert!(serde_json::from_str::<Rate>("1.5").is_err());
    }
}
