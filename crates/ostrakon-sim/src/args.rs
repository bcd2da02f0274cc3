//! `Args`: what can be asked of the simulator.

use clap::Parser;
use ostrakon_sim::{MUTANTS, Mutant, Plane};

/// Runs Ostrakon's ownership rules under every fault that a seed can think of.
///
/// A schedule is 10 to 30 simulated minutes of a cluster of 5 to 8 nodes whose clocks are wrong, whose messages are lost, doubled, late
/// and out of order, whose processes pause and crash, and whose log is down, slow or silent about what it did. At every step it is
/// checked that no two nodes act for one shard, and fourteen things more; then the faults stop, and all must be well in time.
///
/// The number of a schedule is its seed: the same seed is the same schedule, on every machine.
#[derive(Debug, Parser)]
#[command(
    name = "ostrakon-sim",
    after_help = "Examples:\n  \
        ostrakon-sim --hours 100 --plane managed     a hundred simulated hours with managers and a storage\n  \
        ostrakon-sim --hours 100 --plane peer        the same with voters among the nodes\n  \
        ostrakon-sim --reproduce 4711 --trace        one schedule again, every event in words\n  \
        ostrakon-sim --mutants                       breaks every rule once, to see that it is noticed\n  \
        ostrakon-sim --mutant NoMargin --hours 10    goes looking for the harm that one mistake does\n\n\
        The exit status is 0 if nothing was wrong (for --mutants: if every mutant was caught that does harm)."
)]
pub(crate) struct Args {
    /// Who keeps the log: `managed` (managers with a storage) or `peer` (voters among the nodes)
    #[arg(long, value_parser = plane)]
    pub(crate) plane: Option<Plane>,
    /// How many simulated hours to run
    #[arg(long, default_value_t = 1)]
    pub(crate) hours: u64,
    /// The first seed; the following schedules count up from it
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Run the schedule of this seed again and show the number of its trace
    #[arg(long, value_name = "SEED")]
    pub(crate) reproduce: Option<u64>,
    /// With --reproduce: print every event
    #[arg(long, requires = "reproduce")]
    pub(crate) trace: bool,
    /// Break every rule once, and look for the first schedule that notices
    #[arg(long, conflicts_with = "reproduce")]
    pub(crate) mutants: bool,
    /// Break one rule, by its name as in the list of --mutants
    #[arg(long, value_name = "NAME", value_parser = mutant, conflicts_with = "mutants")]
    pub(crate) mutant: Option<Mutant>,
    /// With --mutants: how many schedules a mutant may survive
    #[arg(long, default_value_t = 3000)]
    pub(crate) schedules: u64,
    /// How many threads run schedules; by default one for each processor
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Print one JSON object at the end (with --mutants: one for each) instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl Args {
    pub(crate) fn plane(&self) -> Plane {
        let only = self.mutant.and_then(Mutant::only_in);
        self.plane.or(only).unwrap_or(Plane::Managed)
    }

    pub(crate) fn mutant(&self) -> Option<Mutant> {
        self.mutant
    }

    pub(crate) fn threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(processors)
    }
}

fn plane(text: &str) -> Result<Plane, String> {
    match text {
        "managed" => Ok(Plane::Managed),
        "peer" => Ok(Plane::Peer),
        _ => Err("it is `managed` or `peer`".to_owned()),
    }
}

fn mutant(text: &str) -> Result<Mutant, String> {
    let found = MUTANTS
        .into_iter()
        .find(|mutant| mutant.to_string() == text);
    let names = MUTANTS.map(|mutant| mutant.to_string()).join(", ");
    found.ok_or_else(|| format!("it is one of {names}"))
}
