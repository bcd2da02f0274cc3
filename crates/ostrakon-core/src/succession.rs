//! `Succession`: when a coordinator that stands by should try to lead.
//!
//! The one that leads writes a [`Beat`] into storage now and then. Whoever stands by watches it, on its own clock only, and tries to
//! take over when it has not moved for a while. That is a matter of availability, not of safety: two may try at once, or one too
//! early, and the log decides. But every takeover gives all nodes a new wait, so whoever tries often would keep a dead node's shards
//! waiting: hence the doubling.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Term, Time};

/// After so many attempts in a row the pauses do not become longer.
const MOST_DOUBLINGS: u32 = 2;

/// A sign of life of the coordinator that leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// In which term it leads.
    pub term: Term,
    /// Counts its signs.
    pub count: u64,
}

/// When to try to lead.
#[derive(Clone, Debug)]
pub struct Succession {
    patience: Duration,
    last: Option<Beat>,
    /// When the sign last moved, or this one began to watch, or tried.
    since: Time,
    looked: Time,
    attempts: u32,
}

impl Succession {
    /// Watches from `now` on. A sign may stand still for `patience`, a part of which should be random: those that stand by would else
    /// try all at the same moment.
    pub fn new(patience: Duration, now: Time) -> Self {
        Self {
            patience,
            last: None,
            since: now,
            looked: now,
            attempts: 0,
        }
    }

    /// The sign was read at `at`; `None` if it could not be, which says nothing about the one that leads.
    pub fn saw(&mut self, beat: Option<Beat>, at: Time) {
        let Some(beat) = beat else {
            self.since = at;
            return;
        };
        if self.last != Some(beat) {
            self.last = Some(beat);
            self.since = at;
            self.attempts = 0;
        }
    }

    /// Whether to try to lead. To be asked several times within the patience: whoever was not there to ask saw no sign either, and
    /// begins to watch anew. An attempt puts the next one off.
    pub fn is_due(&mut self, now: Time) -> bool {
        let slept = now.saturating_since(self.looked) > self.patience;
        self.looked = now;
        if slept {
            self.since = now;
        }
        let pause = self.patience * (1 << self.attempts.min(MOST_DOUBLINGS));
        let due = now.saturating_since(self.since) > pause;
        if due {
            self.attempts += 1;
            self.since = now;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(3);

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn beat(count: u64) -> Option<Beat> {
        let term = Term::new(1);
        Some(Beat { term, count })
    }

    /// The seconds at which it tries, if it sees `sign(second)` every second.
    fn attempts(end: u64, sign: impl Fn(u64) -> Option<Beat>) -> Vec<u64> {
        let mut succession = Succession::new(PATIENCE, at(0));
        let mut tries = |second: &u64| {
            succession.saw(sign(*second), at(*second));
            succession.is_due(at(*second))
        };
        (1..end).filter(|second| tries(second)).collect()
    }

    #[test]
    fn it_waits_while_the_sign_moves() {
        assert!(attempts(100, beat).is_empty());
    }

    #[test]
    fn a_sign_that_cannot_be_read_says_nothing() {
        assert!(attempts(100, |_| None).is_empty());
    }

    #[test]
    fn it_tries_when_the_sign_stands_still_and_then_more_rarely() {
        let still = attempts(60, |_| beat(7));
        assert_eq!(still, [5, 12, 25, 38, 51]);
    }

    #[test]
    fn a_sign_of_life_ends_the_long_pauses() {
        let again = attempts(60, |second| beat(second / 40));
        assert_eq!(again, [5, 12, 25, 38, 44, 51]);
    }

    #[test]
    fn the_same_count_in_another_term_is_another_sign() {
        let sign = |second| {
            let term = Term::new(second);
            Some(Beat { term, count: 1 })
        };
        assert!(attempts(100, sign).is_empty());
    }

    #[test]
    fn one_that_slept_itself_begins_to_watch_anew() {
        let mut succession = Succession::new(PATIENCE, at(0));
        succession.saw(beat(7), at(1));
        assert!(!succession.is_due(at(1)));
        assert!(!succession.is_due(at(1000)), "it was away");
        assert!(!succession.is_due(at(1003)));
        assert!(succession.is_due(at(1004)));
    }
}
