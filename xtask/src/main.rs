//! Everything a contributor runs: `cargo xtask test`, `fix`, `bench` and `fuzz`.
//!
//! A plain Rust program, so that a machine with the Rust toolchain needs no other tool.
//! This file only reads the arguments; each verb lives where its name says. `test` never
//! writes to the source tree, `fix` does nothing else.

#[cfg(test)]
mod book;
mod child;
mod fuzz;
mod packages;
mod purity;
mod report;
mod tally;
mod test;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::child::cargo;

/// Everything a contributor runs.
///
/// Write code, run `cargo xtask fix`, then `cargo xtask test`. When the last line of `test`
/// says `0 failed`, the change is ready to be reviewed.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Test(test::Test),
    /// Format the code and apply the lint fixes a machine can make (writes to the tree)
    Fix,
    /// Measure speed and size; every argument goes to the `ostrakon-bench` program
    #[command(disable_help_flag = true)]
    Bench {
        /// What to hand to `ostrakon-bench`; `--help` shows what it understands
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    Fuzz(fuzz::Fuzz),
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().verb {
        Verb::Test(test) => test.run(),
        Verb::Fix => fix(),
        Verb::Bench { arguments } => bench(&arguments),
        Verb::Fuzz(fuzz) => fuzz.run(),
    }
}

fn fix() -> anyhow::Result<ExitCode> {
    let clippy = "clippy --workspace --all-targets --fix --allow-dirty --allow-staged";
    // Formatting comes first because it also works on code that does not compile yet, and
    // again at the end because the fixes of clippy are not formatted.
    for arguments in ["fmt --all", clippy, "fmt --all"] {
        let ended = child::run(cargo(arguments.split(' ')), None)?;
        if !ended.status.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn bench(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    // With the peers of the remote group, which an ordinary build leaves out.
    let status = cargo("run --release -p ostrakon-bench --features peers --".split(' '))
        .args(arguments)
        .status()?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
