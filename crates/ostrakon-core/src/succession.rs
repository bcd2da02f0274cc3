//! `Succession`: when a coordinator that stands by should try to lead.
//!
//! The one that leads writes a [`Beat`] into storage now and then. Whoever stands by watches it, on its own clock only, and tries to
//! take over when it has not moved for a while. That is a matter of availability, not of safety: two may try at once, or one too
//! early, and the log decides. But every takeover gives all nodes a new wait, so those that try often, or all at the same moment,
//! would keep a dead node's shards waiting: hence the doubling, and the part that differs from one to the other.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Term, Time, stable_hash};

/// After so many attempts in a row the pauses do not become longer.
const MOST_DOUBLINGS: u32 = 4;

/// A sign of life of the coordinator that leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// In which term it leads.
    pub term: Term,
    /// Counts its signs.
    pub count: u64,
}

/// When to try to lead.
#[derive(Clone, Debug)]
pub struct Succession {
    name: String,
    patience: Duration,
    last: Option<Beat>,
    /// When the sign last moved, or this one began to watch.
    since: Time,
    looked: Time,
    attempts: u32,
}

impl Succession {
    /// Watches from `now` on. `patience` is how long a sign may stand still; `name` makes the moment differ from that of others.
    pub fn new(name: impl Into<String>, patience: Duration, now: Time) -> Self {
        Self {
            name: name.into(),
            patience,
            last: None,
            since: now,
            looked: now,
            attempts: 0,
        }
    }

    /// The sign has been read; `None` if it could not be, which says nothing about the one that leads.
    pub fn saw(&mut self, beat: Option<Beat>, now: Time) {
        let slept = now.saturating_since(self.looked) > self.patience / 2;
        self.looked = now;
        if beat.is_some() && beat != self.last {
            self.last = beat;
            self.attempts = 0;
            self.since = now;
        } else if beat.is_none() || slept {
            self.since = now;
        }
    }

    /// Whether to try to lead. An attempt puts the next one off.
    pub fn is_due(&mut self, now: Time) -> bool {
        if now < self.due() {
            return false;
        }
        self.attempts += 1;
        self.since = now;
        true
    }

    /// When to look again at the latest.
    pub fn due(&self) -> Time {
        let doubled = self.patience * (1 << self.attempts.min(MOST_DOUBLINGS));
        let dice = stable_hash(&format!("{} {}", self.name, self.attempts)) % 1000;
        self.since + doubled + doubled * u32::try_from(dice).unwrap_or(0) / 1000
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

    #[test]
    fn it_waits_while_the_sign_moves() {
        let mut succession = Succession::new("a", PATIENCE, at(0));
        for second in 1..100 {
            succession.saw(beat(second), at(second));
            assert!(!succession.is_due(at(second)));
        }
    }

    #[test]
    fn it_tries_when_the_sign_stands_still() {
        let mut succession = Succession::new("a", PATIENCE, at(0));
        let mut tried = None;
        for second in 1..20 {
            succession.saw(beat(7), at(second));
            if succession.is_due(at(second)) {
                tried = Some(second);
                break;
            }
        }
        let second = tried.expect("it tries");
        assert!(
            (4..=8).contains(&second),
            "after one to two times its patience: {second}"
        );
    }

    #[test]
    fn a_sign_that_cannot_be_read_says_nothing() {
        let mut succession = Succession::new("a", PATIENCE, at(0));
        for second in 1..100 {
            succession.saw(None, at(second));
            assert!(!succession.is_due(at(second)));
        }
    }

    #[test]
    fn one_that_slept_itself_starts_anew() {
        let mut succession = Succession::new("a", PATIENCE, at(0));
        succession.saw(beat(7), at(1));
        succession.saw(beat(7), at(1000));
        assert!(!succession.is_due(at(1000)));
    }

    #[test]
    fn attempts_become_rarer_and_a_sign_of_life_ends_that() {
        let mut succession = Succession::new("a", PATIENCE, at(0));
        let mut attempts = Vec::new();
        for second in 1..2000 {
            succession.saw(beat(7), at(second));
            if succession.is_due(at(second)) {
                attempts.push(second);
            }
        }
        assert!(attempts[1] - attempts[0] >= 6, "{attempts:?}");
        assert!(attempts[4] - attempts[3] >= 48, "{attempts:?}");
        assert!(attempts.len() > 20, "but it goes on trying");
        succession.saw(beat(8), at(2000));
        assert!(succession.due() <= at(2006));
    }

    #[test]
    fn two_rarely_try_at_the_same_moment() {
        let due = |name: &str| Succession::new(name, PATIENCE, at(0)).due();
        assert_ne!(due("manager-1"), due("manager-2"));
    }
}
