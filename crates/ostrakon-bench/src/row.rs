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
use crate::measure::Group;
use crate::table::quantity;

/// Of the table of the figures of a group.
pub(crate) fn header(group: Group) -> Vec<String> {
    let names = shown(group).map(Name::label);
    let before = ["measure", "unit"].map(str::to_owned).into_iter();
    let after = ["/limit", "/best peer", "target", "met"].map(str::to_owned);
    before.chain(names).chain(after).collect()
}

/// Of the table of its latencies.
pub(crate) fn latency_header(group: Group) -> Vec<String> {
    let names = shown(group).map(Name::label);
    ["measure".to_owned()].into_iter().chain(names).collect()
}

/// Whom the rows of a group have a column for.
fn shown(group: Group) -> impl Iterator<Item = Name> {
    let limits: &[_] = match group {
        Group::Local | Group::Memory | Group::Hot => &[Name::Limit],
        Group::Remote => &[Name::Limit, Name::Framed],
        Group::Planner => &[],
    };
    let others = limits.iter().chain(group.peers()).copied();
    [Name::Ours].into_iter().chain(others)
}

/// One figure of all contenders.
#[derive(Serialize)]
pub(crate) struct Row {
    #[serde(skip)]
    group: Group,
    name: String,
    ours: Cell,
    unit: &'static str,
    limit: Cell,
    /// The second limit, of the remote group alone.
    #[serde(skip_serializing_if = "Cell::is_absent")]
    framed: Cell,
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
        let cell = |name: Name| cell(outcomes.get(&name), line.figure);
        let group = comparison.case.measure.group();
        let peers = group.peers().iter().copied();
        let best_peer = peers
            .clone()
            .filter_map(of)
            .reduce(|one, other| line.better.pick(one, other));
        let micros = |figure| match line.suffix {
            "" => micros(outcomes, figure),
            _ => BTreeMap::new(),
        };
        Self {
            group,
            name: comparison.case.label(line.suffix),
            ours: cell(Name::Ours),
            unit: line.unit,
            limit: cell(Name::Limit),
            framed: cell(Name::Framed),
            peers: peers.map(|peer| (peer.label(), cell(peer))).collect(),
            ratio_to_limit: ratio(ours, of(Name::Limit)),
            ratio_to_best_peer: ratio(ours, best_peer),
            target: line.target.describe(line.better, line.unit),
            ok: line.target.verdict(line.better, ours, of),
            p50: micros(P50),
            p99: micros(P99),
            p99_quiet: micros(P99_QUIET),
        }
    }

    pub(crate) fn group(&self) -> Group {
        self.group
    }

    /// The cells under [`header`].
    pub(crate) fn columns(&self) -> Vec<String> {
        let met = match (&self.target, self.ok) {
            (None, _) => "",
            (Some(_), None) => "?",
            (Some(_), Some(true)) => "yes",
            (Some(_), Some(false)) => "MISSED",
        };
        let mut columns = vec![self.name.clone(), self.unit.to_owned()];
        columns.extend(shown(self.group).map(|name| self.cell(name).show()));
        columns.push(show_ratio(self.ratio_to_limit));
        columns.push(show_ratio(self.ratio_to_best_peer));
        columns.push(self.target.clone().unwrap_or_default());
        columns.push(met.to_owned());
        columns
    }

    fn cell(&self, name: Name) -> &Cell {
        match name {
            Name::Ours => &self.ours,
            Name::Limit => &self.limit,
            Name::Framed => &self.framed,
            Name::Tonic | Name::Kameo | Name::Ractor | Name::Actix | Name::Coerce => {
                &self.peers[&name.label()]
            }
        }
    }

    /// The cells under [`latency_header`], where there are latencies.
    pub(crate) fn latencies(&self) -> Option<Vec<String>> {
        if self.p99.is_empty() {
            return None;
        }
        let cells =
            shown(self.group).map(|name| self.latency(&name.label()).unwrap_or_else(|| "–".into()));
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
    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

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
