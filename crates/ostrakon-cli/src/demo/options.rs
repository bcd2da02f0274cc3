//! `Options`: what can be changed about the demo.
//!
//! Everything is checked while it is read, so that the rest of the demo never meets a value without meaning.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use clap::{Args, ValueEnum};

use super::{cluster::Fault, sensors};
use crate::span::Span;

/// The arguments of `ostrakon demo`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Who decides where accounts live: this process alone, a manager that looks after several nodes, or those nodes themselves
    #[arg(long, value_enum, default_value_t = Plane::Managed)]
    pub(crate) plane: Plane,
    /// How many nodes there are, each a process; with --plane managed or peer
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) nodes: u32,
    /// What must be known before a silent node's shards go to others; with --plane managed
    #[arg(long, value_enum, default_value_t = Failover::Proof)]
    pub(crate) failover: Failover,
    /// How many managers there are: one leads, the others stand by; more than one need a --storage that they can share
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=5))]
    pub(crate) managers: u32,
    /// Where the managers keep their log: postgres://…, redis://… or etcd://…; a file of this run unless told otherwise
    #[arg(long, value_name = "URL")]
    pub(crate) storage: Option<String>,
    /// What to do to the cluster meanwhile, in this order; with --plane managed or peer
    #[arg(long = "fault", value_enum, value_name = "FAULT")]
    pub(crate) faults: Vec<Fault>,
    /// How often to do all of that
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Protect all connections with certificates that are made for this run; with --plane managed or peer
    #[arg(long)]
    pub(crate) tls: bool,
    /// Make every process a host of its own, in a network that nobody else sees, and protect the connections between them; needs `ip` and either root or user namespaces; with --plane managed or peer
    #[arg(long, conflicts_with = "storage")]
    pub(crate) namespaces: bool,
    /// Instead of a bank, so many sensors in 256 shards, each of which reports once a second; with --plane managed or peer, for at least 4s
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with_all = ["accounts", "tellers", "faults", "rounds"])]
    pub(crate) sensors: Option<u32>,
    /// How many accounts the bank has
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(2..=50_000_000))]
    pub(crate) accounts: u32,
    /// How many tellers move money at the same time
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) tellers: u32,
    /// How long they work: 500ms, 10s, 2m; on a terminal with several nodes until you press q, else for 20s, unless told otherwise
    #[arg(long = "for", value_name = "TIME")]
    run_for: Option<Span>,
    /// Print one line of JSON instead of the summary; progress goes to standard error
    #[arg(long)]
    pub(crate) json: bool,
}

impl Options {
    /// How long they work, where nobody is asked.
    pub(crate) fn run_for(&self) -> Duration {
        self.run_for.unwrap_or(USUAL).0
    }

    /// What is done to the cluster: by the keys of a terminal, by keys that are pressed for the user, or what was asked for.
    pub(crate) fn direction(&self) -> Direction {
        if self.json || !self.faults.is_empty() {
            return Direction::Faults(self.run_for());
        }
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            return Direction::Keys(self.run_for.map(|span| span.0));
        }
        Direction::Script(self.run_for())
    }

    /// What cannot be said of a single argument.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.sensors.is_none() {
            return Ok(());
        }
        if self.plane == Plane::Solo {
            return Err(
                "sensors need several nodes: add --plane peer or --plane managed".to_owned(),
            );
        }
        if self.run_for() < sensors::SHORTEST {
            let shortest = sensors::SHORTEST;
            return Err(format!(
                "sensors report once a second: give them --for {shortest:?} at least"
            ));
        }
        Ok(())
    }
}

/// How long they work unless told otherwise.
const USUAL: Span = Span::seconds(20);

/// Who says what is done to the cluster, and for how long.
pub(crate) enum Direction {
    /// What was asked for when it was started.
    Faults(Duration),
    /// Whoever sits at the terminal; until told to stop if there is no time.
    Keys(Option<Duration>),
    /// The same keys, pressed one after the other.
    Script(Duration),
}

/// Who decides where accounts live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Plane {
    /// This process alone
    Solo,
    /// A manager that looks after several nodes
    Managed,
    /// The nodes themselves, by gossip and consensus
    Peer,
}

/// What must be known before a silent node's shards go to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Failover {
    /// That it is dead
    Proof,
    /// That it is dead, or that its lease has run out
    Lease,
}

impl Failover {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Proof => "proof",
            Self::Lease => "lease",
        }
    }
}

const EXAMPLES: &str = "\
Tellers withdraw from one account and deposit to another, as fast as answers come. Accounts
that nobody visits are stopped and their state is saved; other entities panic on purpose. In
the end every account is asked for its balance, which must be what was acknowledged.

On a terminal, keys do things to the nodes: k kills one, a adds one, p pauses one and lets it go
on, d asks one to leave, q ends the demo. Without a terminal, and unless --fault or --json is
there, these keys are pressed for you. The dashboard shows the same in a browser.

With nodes that were killed, the summary has the time of each failover: the longest time in
which any teller got no answer, from the kill until the next one, or until something else is
done. What was failed meanwhile counts as no answer, and so does all that the cluster did
besides: it is never less than the accounts of the killed node were away.

With --sensors, each reports once a second. A report is an ask, and a sensor answers after it
has written the reading where the end of its process does not reach. In the middle of the time
the first node is killed, and another one joins at once. The summary has figures for the time
before, which is half of all, during, a quarter from the kill on, and after. A reading is
  lost        if it was acknowledged and its sensor, asked in the end, does not have it;
  duplicated  if a sensor has more than were acknowledged and of unknown fate together;
  unknown     if no answer came and it may have been taken: as with what was on its way to the
              node that was killed. Nothing is sent again;
  on time     if it was acknowledged within a second of being due.
An overlap is an entry that was written for a sensor after a later life of it had begun or
its shard had a later owner. Times are counted from when a reading was due.

Exit code: 0 if every check held, 1 if one did not, 2 for arguments that make no sense.

Examples:
  ostrakon demo
  ostrakon demo --plane peer --nodes 5
  ostrakon demo --plane solo --accounts 100000 --tellers 256 --for 1m
  ostrakon demo --plane managed --nodes 3 --for 30s --fault kill-node
  ostrakon demo --plane peer --nodes 3 --for 30s --fault kill-node
  ostrakon demo --plane peer --nodes 8 --sensors 100000 --for 60s
  ostrakon demo --plane managed --for 60s --fault replace-node --rounds 30
  ostrakon demo --plane managed --for 40s --failover lease --fault cut-node --namespaces
  ostrakon demo --plane solo --for 3s --json | jq .messages_per_second";
