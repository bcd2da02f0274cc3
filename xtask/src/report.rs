//! The account of a run: what each step took and how it ended.
//!
//! A step is announced, run and timed here. One that fails is written down and the next one
//! goes on; whether a failure makes the rest pointless is decided by the caller. The report
//! holds every step exactly once, those not run included.

use std::fmt;
use std::time::{Duration, Instant};

use crate::tally::Tally;

#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Runs one step. An error counts as one failed check.
    pub(crate) fn step(
        &mut self,
        name: &str,
        work: impl FnOnce() -> anyhow::Result<Tally>,
    ) -> Verdict {
        println!("\n=== {name}");
        let started = Instant::now();
        let tally = work().unwrap_or_else(|error| {
            println!("error: {error:#}");
            Tally::ONE_FAILED
        });
        let took = started.elapsed();
        let verdict = match tally.failed {
            0 => Verdict::Ok,
            _ => Verdict::Failed,
        };
        println!("=== {name}: {verdict} after {}", seconds(took));
        self.add(name, seconds(took), verdict, tally);
        verdict
    }

    /// Writes down a step that an earlier failure made pointless.
    pub(crate) fn not_run(&mut self, name: &str) {
        let never = "-".to_owned();
        self.add(name, never, Verdict::NotRun, Tally::ONE_SKIPPED);
    }

    pub(crate) fn total(&self) -> Tally {
        self.rows.iter().map(|row| row.tally).sum()
    }

    fn add(&mut self, name: &str, took: String, verdict: Verdict, tally: Tally) {
        self.rows.push(Row {
            name: name.to_owned(),
            took,
            verdict,
            tally,
        });
    }
}

/// A table of the steps; its last line is the total, alone.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self.rows.iter().map(|row| row.name.len()).max();
        let width = widest.unwrap_or_default();
        for row in &self.rows {
            let Row {
                name,
                took,
                verdict,
                ..
            } = row;
            writeln!(f, "{name:width$}  {took:>8}  {verdict}")?;
        }
        write!(f, "\n{}", self.total())
    }
}

struct Row {
    name: String,
    took: String,
    verdict: Verdict,
    tally: Tally,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ok,
    Failed,
    NotRun,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Failed => "FAILED",
            Self::NotRun => "not run",
        })
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn step_that_errs_counts_one_failure() {
        let mut report = Report::default();
        let verdict = report.step("fmt", || Err(anyhow!("not formatted")));
        assert_eq!(verdict, Verdict::Failed);
        assert_eq!(report.total(), Tally::ONE_FAILED);
    }

    #[test]
    fn step_with_a_failed_test_fails_and_keeps_its_counts() {
        let tally = Tally {
            passed: 9,
            failed: 1,
            skipped: 2,
        };
        let mut report = Report::default();
        assert_eq!(report.step("test", || Ok(tally)), Verdict::Failed);
        assert_eq!(report.total(), tally);
    }

    #[test]
    fn table_lists_every_step_and_ends_with_the_total() {
        let mut report = Report::default();
        report.add("fmt", "0.5 s".into(), Verdict::Ok, Tally::ONE_PASSED);
        report.add(
            "clippy",
            "12.0 s".into(),
            Verdict::Failed,
            Tally::ONE_FAILED,
        );
        report.not_run("doc");
        let expected = "\
fmt        0.5 s  ok
clippy    12.0 s  FAILED
doc            -  not run

1 passed, 1 failed, 1 skipped";
        assert_eq!(report.to_string(), expected);
    }
}
