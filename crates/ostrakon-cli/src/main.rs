//! The `ostrakon` command: arguments in, exit code out.
//!
//! 0: all is well; 1: something failed or a check did not hold; 2: the arguments make no sense. What a subcommand does
//! is in the module of its name.

mod certs;
mod demo;
mod manager;
mod serving;
mod span;
mod verbs;
mod witness;

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
    #[command(hide = true)]
    DemoNode(demo::cluster::MemberOptions),
    /// Run a Shard Manager, which decides which node owns which shard
    Manager(Box<manager::Options>),
    /// Run a voter for nodes that look after their cluster themselves: it hosts nothing
    Witness(Box<witness::Options>),
    /// Say whether a manager or a peer lives, or is ready: for probes of a platform
    Probe(verbs::Probe),
    /// Show the cluster at a glance, and what is wrong with it
    Status(verbs::Status),
    /// List the nodes, or say that one is dead
    Nodes(verbs::Nodes),
    /// List the shards and who owns them
    Shards(verbs::Shards),
    /// Say where an entity or a shard is, since when, and why there
    Explain(verbs::Explain),
    /// Let a node give its shards up and go
    Drain(verbs::Drain),
    /// Balance the shards now, or say what that would do
    Rebalance(verbs::Rebalance),
    /// Stop or resume moving shards for the sake of balance
    Rebalancing(verbs::Rebalancing),
    /// Show what has happened, and what happens
    Events(verbs::Events),
    /// Make the certificates that let nodes, clients and operators trust each other
    Certs(certs::Options),
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Demo(options) => demo::run(&options),
        Command::DemoNode(options) => demo::cluster::run_member(&options),
        Command::Manager(options) => manager::run(&options),
        Command::Witness(options) => witness::run(&options),
        Command::Probe(verb) => verbs::probe(&verb),
        Command::Status(verb) => verbs::run(verbs::status(&verb)),
        Command::Nodes(verb) => verbs::run(verbs::nodes(&verb)),
        Command::Shards(verb) => verbs::run(verbs::shards(&verb)),
        Command::Explain(verb) => verbs::run(verbs::explain(&verb)),
        Command::Drain(verb) => verbs::run(verbs::drain(&verb)),
        Command::Rebalance(verb) => verbs::run(verbs::rebalance(&verb)),
        Command::Rebalancing(verb) => verbs::run(verbs::rebalancing(&verb)),
        Command::Events(verb) => verbs::run(verbs::events(&verb)),
        Command::Certs(options) => certs::run(&options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        match error.is::<Nonsense>() {
            true => ExitCode::from(2),
            false => ExitCode::FAILURE,
        }
    })
}

/// Arguments or settings that make no sense. Nothing was started.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Nonsense(anyhow::Error);

const EXAMPLES: &str = "\
Examples:
  ostrakon demo               ten seconds of a live bank, and what came of it
  ostrakon help demo          what can be changed about it
  ostrakon manager            a Shard Manager for nodes on this host
  ostrakon status             what it knows, and what is wrong
  ostrakon help certs         how a cluster gets its certificates";
