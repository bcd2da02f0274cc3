//! `cargo xtask test`: every check there is, in one command.
//!
//! [`Step`] is the list, in the order of running. A failed step does not keep the later ones
//! from running, because each says something of its own, unless nothing after it can work.
//! No step writes to the source tree; whatever they build goes to the target folder.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};

use crate::child::{self, Ended, cargo};
use crate::report::{Report, Verdict};
use crate::tally::Tally;
use crate::{packages, purity};

/// Check everything: format, lints, purity, tests, faults, simulation, docs
///
/// Never writes to the source tree. Ends with a table of the steps and, as its last line,
/// `N passed, M failed, K skipped`; the exit code is 1 if anything failed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask test                       everything; what a change must pass
  cargo xtask test --only fmt,clippy     quick, before a commit
  cargo xtask test --list                the steps and what each checks")]
pub(crate) struct Test {
    /// Run only these steps, separated by commas
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    only: Vec<Step>,
    /// Show the steps in the order they run, and run none
    #[arg(long, conflicts_with = "only")]
    list: bool,
}

/// One step, explained as `--list` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Debian packages the tests need are there, or get installed
    Packages,
    /// rustfmt and clippy are installed
    Toolchain,
    /// The code is formatted
    Fmt,
    /// Neither the compiler nor clippy warns
    Clippy,
    /// The core has no impure dependency, and crates depend on each other the right way
    Purity,
    /// Unit and integration tests
    Test,
    /// Real processes are killed, paused and cut off while they work, and nothing is lost
    Faults,
    /// Ownership holds in simulated cluster-hours with faults, and every broken rule is noticed
    Simulation,
    /// Examples in the documentation compile and run
    Doctest,
    /// The documentation builds without a warning
    Doc,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut steps = self.chosen();
        if self.list {
            steps.for_each(|step| println!("{:10} {}", step.name(), step.purpose()));
            return Ok(ExitCode::SUCCESS);
        }
        let mut report = Report::default();
        for step in steps.by_ref() {
            let verdict = report.step(&step.name(), || step.check());
            if verdict == Verdict::Failed && step.blocks_the_rest() {
                break;
            }
        }
        steps.for_each(|step| report.not_run(&step.name()));
        println!("\n{report}");
        Ok(match report.total().failed {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        })
    }

    /// In the order of running, whatever the order of asking.
    fn chosen(&self) -> impl Iterator<Item = Step> {
        let all = Step::value_variants().iter().copied();
        all.filter(|step| self.only.is_empty() || self.only.contains(step))
    }
}

impl Step {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no step is hidden");
        value.get_name().to_owned()
    }

    fn purpose(self) -> String {
        let value = self.to_possible_value().expect("no step is hidden");
        value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    fn check(self) -> anyhow::Result<Tally> {
        match self {
            Self::Packages => packages::provide().map(|()| Tally::NOTHING),
            Self::Toolchain => toolchain(),
            Self::Fmt => one("fmt --all --check").context("`cargo xtask fix` formats the code"),
            Self::Clippy => one(
                "clippy --workspace --features ostrakon-cli/postgres --all-targets -- -D warnings",
            ),
            Self::Purity => purity::check().map(|()| Tally::ONE_PASSED),
            // The benchmarks and all that they compare with take long to build; clippy has read them, and `cargo xtask bench` runs them.
            // Many tests wait for leases and elections more than they work.
            Self::Test => counted(
                "test --workspace --exclude ostrakon-bench --features ostrakon-cli/postgres --lib --bins --tests --no-fail-fast -- --test-threads 4",
            ),
            // They wait more than they work: many at once take no longer than the slowest.
            Self::Faults => counted(
                "test --workspace --exclude ostrakon-bench --features ostrakon-cli/postgres --test faults -- --test-threads 5",
            ),
            Self::Simulation => simulation(),
            Self::Doctest => {
                counted("test --workspace --exclude ostrakon-bench --doc --no-fail-fast")
            }
            Self::Doc => doc(),
        }
    }

    /// Asked after a failure: is there any use in going on?
    fn blocks_the_rest(self) -> bool {
        match self {
            Self::Packages | Self::Toolchain => true,
            Self::Clippy => !compiles(),
            Self::Fmt
            | Self::Purity
            | Self::Test
            | Self::Faults
            | Self::Simulation
            | Self::Doctest
            | Self::Doc => false,
        }
    }
}

/// A cargo command that is one check.
fn one(arguments: &str) -> anyhow::Result<Tally> {
    child::run(cargo(arguments.split(' ')), None)?.require_success()?;
    Ok(Tally::ONE_PASSED)
}

/// A cargo command that prints the counts of the tests it ran.
fn counted(arguments: &str) -> anyhow::Result<Tally> {
    let ended = child::run(cargo(arguments.split(' ')), None)?;
    if ended.tally.failed == 0 {
        // Without a failed test, a failure means that some test did not build or crashed.
        return Ok(Tally {
            failed: u64::from(!ended.status.success()),
            ..ended.tally
        });
    }
    Ok(ended.tally)
}

fn toolchain() -> anyhow::Result<Tally> {
    for tool in ["fmt", "clippy"] {
        let answer = cargo([tool, "--version"]).output();
        let answer = answer.context("cannot start cargo")?;
        ensure!(
            answer.status.success(),
            "`cargo {tool}` does not work; install it with `rustup component add rustfmt clippy`"
        );
        print!("{}", String::from_utf8_lossy(&answer.stdout));
    }
    Ok(Tally::NOTHING)
}

/// Tells code that clippy dislikes from code that nothing can be run of.
fn compiles() -> bool {
    let check = cargo("check --workspace --all-targets".split(' ')).output();
    check.is_ok_and(|check| check.status.success())
}

fn doc() -> anyhow::Result<Tally> {
    let mut command = cargo("doc --workspace --no-deps".split(' '));
    command.env("RUSTDOCFLAGS", "-D warnings");
    child::run(command, None)?.require_success()?;
    Ok(Tally::ONE_PASSED)
}

/// A share of what the simulator can do; `--hours 100` is for whoever has changed a decision.
fn simulation() -> anyhow::Result<Tally> {
    let mut tally = Tally::NOTHING;
    for arguments in [
        "-- --hours 20 --plane managed",
        "-- --hours 20 --plane peer",
        "-- --mutants",
    ] {
        println!("--- simulation {arguments}");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        tally += match run_release("ostrakon-sim", &arguments) {
            Ok(_) => Tally::ONE_PASSED,
            Err(error) => {
                println!("error: {error:#}");
                Tally::ONE_FAILED
            }
        };
    }
    Ok(tally)
}

/// Builds first, so that the limit is on running alone.
fn run_release(package: &str, arguments: &[&str]) -> anyhow::Result<Ended> {
    let build = cargo(["build", "--release", "-p", package]);
    child::run(build, None)?.require_success()?;
    let mut run = cargo(["run", "--release", "-p", package]);
    run.args(arguments);
    child::run(run, Some(RUN_LIMIT))?.require_success()
}

const RUN_LIMIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_in_their_own_order() {
        let test = Test {
            only: vec![Step::Doc, Step::Fmt],
            list: false,
        };
        assert_eq!(test.chosen().collect::<Vec<_>>(), [Step::Fmt, Step::Doc]);
    }

    #[test]
    fn every_step_runs_unless_some_are_named() {
        let test = Test {
            only: Vec::new(),
            list: false,
        };
        assert!(test.chosen().eq(Step::value_variants().iter().copied()));
    }

    #[test]
    fn every_step_says_what_it_checks() {
        for step in Step::value_variants() {
            assert_ne!(step.purpose(), "", "{step:?}");
        }
    }
}
