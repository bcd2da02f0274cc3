//! The `ostrakon` command: arguments in, exit code out.
//!
//! 0: all is well; 1: something failed or a check did not hold; 2: the arguments make no sense. What a subcommand does
//! is in the module of its name.

mod certs;
mod demo;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Entity sharding: millions of stateful entities, each with at most one live copy.
#[derive(Parser)]
#[command(name = "ostrakon", version, after_help = EXAMPLES)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a live bank on this machine, disturb it, and check that nothing was lost
    Demo(demo::Options),
    /// Make the certificates that let nodes, clients and operators trust each other
    Certs(certs::Options),
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Demo(options) => demo::run(&options),
        Command::Certs(options) => certs::run(&options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

const EXAMPLES: &str = "\
Examples:
  ostrakon demo               ten seconds of a live bank, and what came of it
  ostrakon help demo          what can be changed about it
  ostrakon help certs         how a cluster gets its certificates";
