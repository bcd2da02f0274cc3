//! The order of runs: contenders take turns, round by round.
//!
//! What disturbs one round (a neighbour on the host, a warm cache) then disturbs
//! all of them, and the median forgets it. Each run is a child process. Who fails
//! once is out of that comparison, with the reason kept for the report.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::case::Case;
use crate::contenders::{Name, remote};
use crate::entrants::entrants;
use crate::figures::{BYTES, CPU, FLOOD, Figures, P50, RATE};
use crate::measure::{Group, Measure, Pace};
use crate::planner::LARGEST;
use crate::server::on_core;
use crate::table::quantity;

/// Far longer than any sound run takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// One measure under one set of conditions, over all rounds.
pub(crate) struct Comparison {
    pub(crate) case: Case,
    pub(crate) outcomes: BTreeMap<Name, Outcome>,
    /// Who did not take part, and why.
    pub(crate) absent: BTreeMap<Name, String>,
}

/// The medians of a contender, or why there are none.
pub(crate) type Outcome = Result<Figures, String>;

/// One child process.
struct Run {
    name: Name,
    case: Case,
    pace: Pace,
}

/// Take every measure under all of its conditions.
pub(crate) fn run(measures: &[Measure], pace: Pace) -> Vec<Comparison> {
    let cases = measures.iter().copied().flat_map(Case::of);
    cases.map(|case| compare(case, pace)).collect()
}

fn compare(case: Case, pace: Pace) -> Comparison {
    let mut rounds = BTreeMap::<Name, Result<Vec<Figures>, String>>::new();
    let absent = absent(case.measure);
    for round in 1..=pace.rounds() {
        for name in entrants(case.measure).iter().copied() {
            if absent.contains_key(&name) {
                continue;
            }
            let Ok(taken) = rounds.entry(name).or_insert_with(|| Ok(Vec::new())) else {
                continue;
            };
            let run = Run { name, case, pace };
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
        case,
        outcomes,
        absent,
    }
}

fn absent(measure: Measure) -> BTreeMap<Name, String> {
    let names = entrants(measure).iter().copied();
    match measure.group() {
        Group::Local | Group::Memory | Group::Hot | Group::Planner => BTreeMap::new(),
        Group::Remote => names
            .filter_map(|name| Some((name, remote::absence(name)?)))
            .collect(),
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
        let (case, name) = (self.case.label(""), self.name.label());
        eprintln!("round {round}/{rounds}  {case:<24} {name:<7} {said}");
        outcome
    }

    fn in_child(&self) -> Result<Figures> {
        let case = self.case;
        let mut command = on_core(case.place.client_core())?;
        command.args(["run-one", &self.name.label(), &case.measure.label()]);
        command.args([case.runtime.label(), case.place.label()]);
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
}

/// The few numbers worth showing while the rest is still running.
fn headline(figures: &Figures) -> String {
    let named = [
        (BYTES, "B each"),
        (FLOOD, "× quiet p99"),
        (RATE, "/s"),
        (P50, "µs"),
        (CPU, "µs of processor"),
        (LARGEST.lost, "ms for the largest plan"),
    ];
    let shown = named
        .iter()
        .filter_map(|(key, unit)| Some(format!("{} {unit}", quantity(figures.get(key)?))));
    shown.collect::<Vec<_>>().join(", ")
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
