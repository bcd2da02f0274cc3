//! The order of runs: contenders take turns, round by round.
//!
//! What disturbs one round (a neighbour on the host, a warm cache) then disturbs
//! all of them, and the median forgets it. Each run is a child process. Who fails
//! once is out of that comparison, with the reason kept for the report.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;
use std::{env, thread};

use anyhow::{Context, Result, bail};

use crate::contenders::Name;
use crate::figures::{BYTES, FLOOD, Figures, RATE};
use crate::measure::{Measure, Pace, Runtime};
use crate::table::quantity;

/// Far longer than any sound run takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// One measure on one runtime, over all rounds.
pub(crate) struct Comparison {
    pub(crate) measure: Measure,
    pub(crate) runtime: Runtime,
    pub(crate) outcomes: BTreeMap<Name, Outcome>,
}

/// The medians of a contender, or why there are none.
pub(crate) type Outcome = Result<Figures, String>;

/// One child process.
struct Run {
    name: Name,
    measure: Measure,
    runtime: Runtime,
    pace: Pace,
}

/// Take every measure on both runtimes.
pub(crate) fn run(measures: &[Measure], pace: Pace) -> Vec<Comparison> {
    let each = measures
        .iter()
        .flat_map(|measure| Runtime::ALL.map(|runtime| (*measure, runtime)));
    each.map(|(measure, runtime)| compare(measure, runtime, pace))
        .collect()
}

fn compare(measure: Measure, runtime: Runtime, pace: Pace) -> Comparison {
    let mut rounds = BTreeMap::<Name, Result<Vec<Figures>, String>>::new();
    for round in 1..=pace.rounds() {
        for name in measure.contenders().iter().copied() {
            let Ok(taken) = rounds.entry(name).or_insert_with(|| Ok(Vec::new())) else {
                continue;
            };
            let run = Run {
                name,
                measure,
                runtime,
                pace,
            };
            match run.take(round) {
                Ok(figures) => taken.push(figures),
                Err(reason) => drop(rounds.insert(name, Err(reason))),
            }
        }
    }
    let outcomes = rounds
        .into_iter()
        .map(|(name, runs)| (name, runs.map(|runs| Figures::medians(&runs))))
        .collect();
    Comparison {
        measure,
        runtime,
        outcomes,
    }
}

impl Run {
    /// Run it and say how it went.
    fn take(&self, round: usize) -> Outcome {
        let outcome = self.in_child().map_err(|error| format!("{error:#}"));
        let said = match &outcome {
            Ok(figures) => headline(figures),
            Err(reason) => format!("failed: {reason}"),
        };
        let rounds = self.pace.rounds();
        let [name, measure, runtime] = self.labels();
        eprintln!("round {round}/{rounds}  {measure:<18} {runtime}  {name:<7} {said}");
        outcome
    }

    fn in_child(&self) -> Result<Figures> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("run-one").args(self.labels());
        if self.pace == Pace::Quick {
            command.arg("--quick");
        }
        let done = command.output().context("starting a run")?;
        if !done.status.success() {
            let complaint = String::from_utf8_lossy(&done.stderr);
            let words = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
            if words.is_empty() {
                bail!("ended with {}", done.status);
            }
            bail!("{}", words.chars().take(200).collect::<String>());
        }
        serde_json::from_slice(&done.stdout).context("reading the figures of a run")
    }

    /// As the child expects them on its command line.
    fn labels(&self) -> [String; 3] {
        [
            self.name.label(),
            self.measure.label(),
            self.runtime.label(),
        ]
    }
}

/// The one number worth showing while the rest is still running.
fn headline(figures: &Figures) -> String {
    let named = [(BYTES, "B each"), (FLOOD, "× quiet p99"), (RATE, "/s")];
    named
        .iter()
        .find_map(|(key, unit)| Some(format!("{} {unit}", quantity(figures.get(key)?))))
        .unwrap_or_default()
}

/// End this process when its measurement hangs, so that the others still get
/// their turn.
pub(crate) fn give_up_after_a_while() {
    thread::spawn(|| {
        thread::sleep(PATIENCE);
        eprintln!("no result after {} s", PATIENCE.as_secs());
        std::process::exit(1);
    });
}
