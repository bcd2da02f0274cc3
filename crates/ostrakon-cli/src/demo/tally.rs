//! `Tally`: what tellers count while they work.
//!
//! Each teller has its own and adds it to the common one now and then, so that counting does not slow down what is
//! counted.

use std::{ops::AddAssign, time::Duration};

use hdrhistogram::Histogram;
use ostrakon::Outcome;
use serde::Serialize;

#[derive(Clone)]
pub(crate) struct Tally {
    /// Asks that their entity answered, refusals included.
    pub(crate) acknowledged: u64,
    /// Withdrawals refused for lack of money.
    pub(crate) refused: u64,
    /// Tells that were accepted.
    pub(crate) tells: u64,
    pub(crate) failed: Failed,
    /// Messages that may or may not have been handled.
    pub(crate) unknown: u64,
    /// Money that was withdrawn and whose deposit was not acknowledged.
    pub(crate) in_transit: i64,
    /// The longest time in which one teller got no answer.
    pub(crate) longest_gap: Duration,
    /// The same from one kill of a node until the next, or until something else is done, for each of them.
    pub(crate) failovers: Vec<Duration>,
    /// In nanoseconds.
    latency: Histogram<u64>,
    /// The same, of answers to what was asked while something was done to the cluster.
    disturbed: Histogram<u64>,
}

/// Messages that brought no answer, by what is known about them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Failed {
    pub(crate) not_executed: u64,
    pub(crate) failed_in_handler: u64,
    pub(crate) executed_without_answer: u64,
}

impl Default for Tally {
    fn default() -> Self {
        let latency = Histogram::new_with_bounds(1, SLOWEST_NS, 2);
        Self {
            acknowledged: 0,
            refused: 0,
            tells: 0,
            failed: Failed::default(),
            unknown: 0,
            in_transit: 0,
            longest_gap: Duration::ZERO,
            failovers: Vec::new(),
            disturbed: latency
                .clone()
                .expect("1 is less than half of the upper bound"),
            latency: latency.expect("1 is less than half of the upper bound"),
        }
    }
}

impl Tally {
    pub(crate) fn answered(&mut self, took: Duration) {
        self.acknowledged += 1;
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(SLOWEST_NS);
        self.latency.saturating_record(nanoseconds);
    }

    /// The same, while something was done to the cluster.
    pub(crate) fn answered_disturbed(&mut self, took: Duration) {
        self.answered(took);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(SLOWEST_NS);
        self.disturbed.saturating_record(nanoseconds);
    }

    /// There was no answer for so long, because of the kill with this number, if it was one.
    pub(crate) fn gap(&mut self, gap: Duration, kill: Option<usize>) {
        self.longest_gap = self.longest_gap.max(gap);
        if let Some(kill) = kill {
            self.failover(kill, gap);
        }
    }

    fn failover(&mut self, number: usize, gap: Duration) {
        if self.failovers.len() <= number {
            self.failovers.resize(number + 1, Duration::ZERO);
        }
        let longest = &mut self.failovers[number];
        *longest = gap.max(*longest);
    }

    pub(crate) fn not_answered(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Executed => self.failed.executed_without_answer += 1,
            Outcome::NotExecuted => self.failed.not_executed += 1,
            Outcome::FailedInHandler => self.failed.failed_in_handler += 1,
            Outcome::Unknown => self.unknown += 1,
        }
    }

    /// Messages that were answered or accepted.
    pub(crate) fn messages(&self) -> u64 {
        self.acknowledged + self.tells
    }

    /// The time within which this part of all asks was answered, in microseconds.
    pub(crate) fn latency_us(&self, quantile: f64) -> f64 {
        self.latency.value_at_quantile(quantile) as f64 / 1e3
    }
}

impl Tally {
    /// The time within which this part of all asks was answered while something was done to the cluster; `None` if nothing was.
    pub(crate) fn disturbed_us(&self, quantile: f64) -> Option<f64> {
        let some = !self.disturbed.is_empty();
        some.then(|| self.disturbed.value_at_quantile(quantile) as f64 / 1e3)
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, more: &Self) {
        self.acknowledged += more.acknowledged;
        self.refused += more.refused;
        self.tells += more.tells;
        self.failed.not_executed += more.failed.not_executed;
        self.failed.failed_in_handler += more.failed.failed_in_handler;
        self.failed.executed_without_answer += more.failed.executed_without_answer;
        self.unknown += more.unknown;
        self.in_transit += more.in_transit;
        self.longest_gap = self.longest_gap.max(more.longest_gap);
        for (number, gap) in more.failovers.iter().enumerate() {
            self.failover(number, *gap);
        }
        self.latency += &more.latency;
        self.disturbed += &more.disturbed;
    }
}

/// Longer than any ask may take.
const SLOWEST_NS: u64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The histogram keeps two digits.
    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    }

    #[test]
    fn a_failover_is_the_longest_gap_of_any_teller_since_the_kill() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        one.gap(Duration::from_millis(9), None);
        one.gap(Duration::from_millis(2), Some(0));
        one.gap(Duration::from_millis(1), Some(0));
        other.gap(Duration::from_millis(3), Some(0));
        other.gap(Duration::from_millis(4), Some(1));
        one += &other;
        assert_eq!(one.longest_gap, Duration::from_millis(9));
        assert_eq!(one.failovers, [3, 4].map(Duration::from_millis));
    }

    #[test]
    fn percentiles_are_those_of_all_tellers_together() {
        let mut fast = Tally::default();
        let mut slow = Tally::default();
        for n in 1..=98 {
            fast.answered(Duration::from_micros(n));
        }
        slow.answered(Duration::from_micros(700));
        slow.answered(Duration::from_micros(900));
        fast += &slow;
        assert_eq!(fast.acknowledged, 100);
        assert_near(fast.latency_us(0.50), 50.0);
        assert_near(fast.latency_us(0.99), 700.0);
        assert_near(fast.latency_us(1.0), 900.0);
    }

    #[test]
    fn an_answer_that_took_too_long_counts_as_the_slowest() {
        let mut tally = Tally::default();
        tally.answered(Duration::MAX);
        assert_near(tally.latency_us(0.5), 60e6);
    }

    #[test]
    fn what_is_unknown_is_not_among_the_failed() {
        let mut tally = Tally::default();
        tally.not_answered(Outcome::Unknown);
        tally.not_answered(Outcome::NotExecuted);
        assert_eq!(tally.unknown, 1);
        let failed = Failed {
            not_executed: 1,
            ..Failed::default()
        };
        assert_eq!(tally.failed, failed);
    }

    #[test]
    fn the_longest_gap_is_the_longest_of_any_teller() {
        let gap = |ms| Tally {
            longest_gap: Duration::from_millis(ms),
            ..Tally::default()
        };
        let mut all = gap(3);
        all += &gap(7);
        all += &gap(5);
        assert_eq!(all.longest_gap, Duration::from_millis(7));
    }
}
