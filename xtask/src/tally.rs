//! How many checks passed, failed or were skipped.
//!
//! Counts come from two places: a step that is one check counts itself, a step that runs
//! tests is counted by the summary line that every Rust test binary prints. A `Tally` never
//! decides anything; it only adds up.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// Nothing was checked, only prepared.
    pub(crate) const NOTHING: Self = Self {
        passed: 0,
        failed: 0,
        skipped: 0,
    };
    pub(crate) const ONE_PASSED: Self = Self {
        passed: 1,
        ..Self::NOTHING
    };
    pub(crate) const ONE_FAILED: Self = Self {
        failed: 1,
        ..Self::NOTHING
    };
    pub(crate) const ONE_SKIPPED: Self = Self {
        skipped: 1,
        ..Self::NOTHING
    };

    /// The counts in a `test result: …` line, nothing for every other line.
    pub(crate) fn of_line(line: &str) -> Self {
        let mut tally = Self::NOTHING;
        let counts = line.strip_prefix("test result: ").unwrap_or_default();
        for part in counts.split(';') {
            // From the right, because the first part opens with a verdict: `ok. 3 passed`.
            let mut words = part.split_whitespace().rev();
            let unit = words.next().unwrap_or_default();
            let count = words.next().and_then(|word| word.parse().ok());
            match (unit, count) {
                ("passed", Some(count)) => tally.passed = count,
                ("failed", Some(count)) => tally.failed = count,
                ("ignored", Some(count)) => tally.skipped = count,
                _ => {}
            }
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::NOTHING, |mut total, tally| {
            total += tally;
            total
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_a_test_binary_is_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 4 ignored; 5 measured; 6 filtered out; finished in 0.07s";
        let expected = Tally {
            passed: 12,
            failed: 3,
            skipped: 4,
        };
        assert_eq!(Tally::of_line(line), expected);
    }

    #[test]
    fn coloured_summary_is_counted_too() {
        let line = "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 7 passed; 0 failed; 1 ignored";
        let expected = Tally {
            passed: 7,
            failed: 0,
            skipped: 1,
        };
        assert_eq!(Tally::of_line(line), expected);
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "",
            "running 3 tests",
            "3 passed; 1 failed",
            "test result::parse ... ok",
        ] {
            assert_eq!(Tally::of_line(line), Tally::NOTHING, "{line}");
        }
    }

    #[test]
    fn total_reads_as_the_closing_line() {
        let total: Tally = [
            Tally::ONE_PASSED,
            Tally::ONE_FAILED,
            Tally::ONE_PASSED,
            Tally::ONE_SKIPPED,
        ]
        .into_iter()
        .sum();
        assert_eq!(total.to_string(), "2 passed, 1 failed, 1 skipped");
    }
}
