//! `Span`: a time as people write it, in options and in files.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, de::Error};

/// A time as people write it: `500ms`, `20s` or `2m`. It is never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(pub(crate) Duration);

impl Span {
    pub(crate) const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    pub(crate) const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit_at = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            _ => {
                return Err(format!(
                    "{text:?} is no time: write a whole number and its unit, as in 500ms, 20s or 2m"
                ));
            }
        };
        let number = number
            .parse::<u64>()
            .map_err(|_| format!("{text:?} is no time: {number:?} is not a whole number"))?;
        match number.checked_mul(millis) {
            Some(0) => Err(format!(
                "{text:?} is no time to do anything in: choose more"
            )),
            Some(millis) => Ok(Self::millis(millis)),
            None => Err(format!("{text:?} is too long")),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            millis if millis % 60_000 == 0 => write!(f, "{}m", millis / 60_000),
            millis if millis % 1_000 == 0 => write!(f, "{}s", millis / 1_000),
            millis => write!(f, "{millis}ms"),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_is_written() {
        for text in ["1ms", "1500ms", "20s", "90s", "2m"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        assert_eq!("60s".parse::<Span>().unwrap().to_string(), "1m");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        for text in [
            "",
            "20",
            "s",
            "-1s",
            "+1s",
            "1.5s",
            "20 s",
            "1h",
            "1m30s",
            "soon",
            "0s",
            "99999999999999999999s",
            "18446744073709551615m",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text:?}");
        }
        assert!(
            "20".parse::<Span>()
                .unwrap_err()
                .contains("500ms, 20s or 2m")
        );
    }
}
