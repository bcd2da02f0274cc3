//! One figure of all contenders, beside its target.
//!
//! A ratio is always ours divided by the other, so for sizes and slowdowns less
//! is better. The fields are the JSON format that `--json` promises.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::contenders::Name;
use crate::figures::{P50, P99, P99_QUIET};
use crate::harness::{Comparison, Outcome};
use crate::line::Line;
use crate::table::quantity;

/// Of the main table.
pub(crate) const HEADER: [&str; 11] = [
    "measure",
    "unit",
    "ours",
    "limit",
    "kameo",
    "ractor",
    "actix",
    "/limit",
    "/best peer",
    "target",
    "met",
];

/// Of the table of latencies.
pub(crate) const LATENCY_HEADER: [&str; 6] =
    ["measure", "ours", "limit", "kameo", "ractor", "actix"];

/// One figure of all contenders.
#[derive(Serialize)]
pub(crate) struct Row {
    name: String,
    ours: Cell,
    unit: &'static str,
    limit: Cell,
    peers: BTreeMap<String, Cell>,
    ratio_to_limit: Option<f64>,
    ratio_to_best_peer: Option<f64>,
    target: Option<String>,
    ok: Option<bool>,
    /// Microseconds by contender, as are the two below.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    p50: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    p99: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    p99_quiet: BTreeMap<String, f64>,
}

/// What a contender has to show in a row.
#[derive(Serialize)]
#[serde(untagged)]
enum Cell {
    Number(f64),
    Failed(String),
    /// Did not take part.
    Absent,
}

impl Row {
    pub(crate) fn new(comparison: &Comparison, line: &Line) -> Self {
        let outcomes = &comparison.outcomes;
        let of = |name: Name| outcomes.get(&name)?.as_ref().ok()?.get(line.figure);
        let ours = of(Name::Ours);
        let best_peer = Name::PEERS
            .into_iter()
            .filter_map(of)
            .reduce(|one, other| line.better.pick(one, other));
        let peers = Name::PEERS.into_iter();
        let name = [comparison.measure.label().as_str(), line.suffix]
            .join(" ")
            .trim()
            .to_owned();
        Self {
            name: format!("{name} {}", comparison.runtime.label()),
            ours: cell(outcomes.get(&Name::Ours), line.figure),
            unit: line.unit,
            limit: cell(outcomes.get(&Name::Limit), line.figure),
            peers: peers
                .map(|peer| (peer.label(), cell(outcomes.get(&peer), line.figure)))
                .collect(),
            ratio_to_limit: ratio(ours, of(Name::Limit)),
            ratio_to_best_peer: ratio(ours, best_peer),
            target: line.target.describe(line.better, line.unit),
            ok: line.target.verdict(line.better, ours, of),
            p50: micros(outcomes, P50),
            p99: micros(outcomes, P99),
            p99_quiet: micros(outcomes, P99_QUIET),
        }
    }

    /// The cells under [`HEADER`].
    pub(crate) fn columns(&self) -> Vec<String> {
        let met = match (&self.target, self.ok) {
            (None, _) => "",
            (Some(_), None) => "?",
            (Some(_), Some(true)) => "yes",
            (Some(_), Some(false)) => "MISSED",
        };
        let mut columns = vec![
            self.name.clone(),
            self.unit.to_owned(),
            self.ours.show(),
            self.limit.show(),
        ];
        columns.extend(Name::PEERS.map(|peer| self.peers[&peer.label()].show()));
        columns.push(show_ratio(self.ratio_to_limit));
        columns.push(show_ratio(self.ratio_to_best_peer));
        columns.push(self.target.clone().unwrap_or_default());
        columns.push(met.to_owned());
        columns
    }

    /// The cells under [`LATENCY_HEADER`], where there are latencies.
    pub(crate) fn latencies(&self) -> Option<Vec<String>> {
        if self.p99.is_empty() {
            return None;
        }
        let others = [Name::Ours, Name::Limit].into_iter().chain(Name::PEERS);
        let cells = others.map(|name| self.latency(&name.label()).unwrap_or_else(|| "–".into()));
        Some([self.name.clone()].into_iter().chain(cells).collect())
    }

    fn latency(&self, name: &str) -> Option<String> {
        let p99 = quantity(*self.p99.get(name)?);
        if let Some(quiet) = self.p99_quiet.get(name) {
            return Some(format!("{} → {p99}", quantity(*quiet)));
        }
        Some(format!("{} / {p99}", quantity(*self.p50.get(name)?)))
    }

    /// What to say about a target that is not known to be met.
    pub(crate) fn miss(&self) -> Option<String> {
        let target = self.target.as_ref()?;
        let reached = match self.ok {
            Some(true) => return None,
            Some(false) => format!(
                "missed with {} {} ({} the limit, {} the best peer)",
                self.ours.show(),
                self.unit,
                show_ratio(self.ratio_to_limit),
                show_ratio(self.ratio_to_best_peer),
            ),
            None => "no verdict, a number it needs is missing".to_owned(),
        };
        Some(format!("{}: {reached}; the target is {target}", self.name))
    }
}

impl Cell {
    fn show(&self) -> String {
        match self {
            Self::Number(number) => quantity(*number),
            Self::Failed(reason) => reason.replace('|', "/").chars().take(70).collect(),
            Self::Absent => "–".to_owned(),
        }
    }
}

fn cell(outcome: Option<&Outcome>, figure: &str) -> Cell {
    match outcome {
        None => Cell::Absent,
        Some(Err(reason)) => Cell::Failed(format!("failed: {reason}")),
        Some(Ok(figures)) => figures.get(figure).map_or(Cell::Absent, Cell::Number),
    }
}

fn micros(outcomes: &BTreeMap<Name, Outcome>, figure: &str) -> BTreeMap<String, f64> {
    let measured = outcomes.iter().filter_map(|(name, outcome)| {
        let figures = outcome.as_ref().ok()?;
        Some((name.label(), figures.get(figure)?))
    });
    measured.collect()
}

fn ratio(ours: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(ours? / other?)
}

fn show_ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}×"))
}
