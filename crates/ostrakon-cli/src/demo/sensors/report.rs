//! `Report`: what came of a run, for people and for programs.

use std::{collections::BTreeMap, fmt, num::NonZero, thread::available_parallelism};

use serde::Serialize;

use super::{
    audit::Audit,
    gateway::{Findings, Gateway},
    phase::{Phase, Plan},
};
use crate::demo::{
    options::{Options, Plane},
    summary::grouped,
    tally::Failed,
};

/// The result of one run. Its fields are the JSON.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) plane: &'static str,
    /// How many nodes there were in the beginning, and in the end.
    pub(crate) nodes: u32,
    pub(crate) cores: usize,
    pub(crate) seconds: f64,
    pub(crate) sensors: u32,
    pub(crate) shards: u32,
    /// Before anything was done to the cluster.
    pub(crate) shards_per_node_min: usize,
    pub(crate) shards_per_node_max: usize,
    /// Those that were due.
    pub(crate) readings: u64,
    /// Those that their sensor answered.
    pub(crate) acknowledged: u64,
    pub(crate) failed: Failed,
    pub(crate) unknown: u64,
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) overlaps: u64,
    /// Sensors that did not answer in the end.
    pub(crate) unchecked: u64,
    /// Shards that changed their node.
    pub(crate) moves: u64,
    /// Whether the node that was killed decided for all.
    pub(crate) killed_leader: bool,
    /// How long it took the node that joined, from its start, to take part.
    pub(crate) joined_after_ms: f64,
    pub(crate) before: Part,
    pub(crate) during: Part,
    pub(crate) after: Part,
}

/// One phase of it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Part {
    pub(crate) seconds: f64,
    pub(crate) readings: u64,
    pub(crate) acknowledged: u64,
    pub(crate) failed: Failed,
    pub(crate) unknown: u64,
    /// Those that were acknowledged.
    pub(crate) readings_per_second: f64,
    /// From when a reading was due until it was acknowledged.
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// The longest time in which one sensor got no answer. As it asks once a second, a second is what is best.
    pub(crate) longest_gap_ms: f64,
    /// The share of readings that were acknowledged within a second of being due.
    pub(crate) on_time_share: f64,
    /// Who has how many shards at its end.
    pub(crate) shards_per_node: BTreeMap<String, usize>,
}

impl Part {
    pub(crate) fn of(
        gateway: &Gateway,
        plan: &Plan,
        phase: Phase,
        shards_per_node: BTreeMap<String, usize>,
    ) -> Self {
        let figures = gateway.figures(phase);
        let (tally, seconds) = (&figures.tally, plan.seconds(phase));
        Self {
            seconds,
            readings: figures.readings,
            acknowledged: tally.acknowledged,
            failed: tally.failed,
            unknown: tally.unknown,
            readings_per_second: tally.acknowledged as f64 / seconds,
            p50_us: tally.latency_us(0.50),
            p99_us: tally.latency_us(0.99),
            longest_gap_ms: tally.longest_gap.as_secs_f64() * 1e3,
            on_time_share: figures.on_time as f64 / figures.readings.max(1) as f64,
            shards_per_node,
        }
    }

    fn fewest_and_most(&self) -> (usize, usize) {
        let shares = self.shards_per_node.values().copied();
        let fewest = shares.clone().min();
        (fewest.unwrap_or(0), shares.max().unwrap_or(0))
    }
}

impl Report {
    /// What the three phases come to. What was done to the cluster is for whoever did it to add.
    pub(crate) fn of(
        options: &Options,
        parts: [Part; 3],
        findings: &Findings,
        audit: &Audit,
    ) -> Self {
        let sum = |count: fn(&Part) -> u64| parts.iter().map(count).sum();
        let (fewest, most) = parts[0].fewest_and_most();
        Self {
            plane: match options.plane {
                Plane::Solo => "solo",
                Plane::Managed => "managed",
                Plane::Peer => "peer",
            },
            nodes: options.nodes,
            cores: available_parallelism().map_or(1, NonZero::get),
            seconds: options.run_for().as_secs_f64(),
            shards: super::SHARDS,
            shards_per_node_min: fewest,
            shards_per_node_max: most,
            readings: sum(|part| part.readings),
            acknowledged: sum(|part| part.acknowledged),
            failed: Failed {
                not_executed: sum(|part| part.failed.not_executed),
                failed_in_handler: sum(|part| part.failed.failed_in_handler),
                executed_without_answer: sum(|part| part.failed.executed_without_answer),
            },
            unknown: sum(|part| part.unknown),
            lost: findings.lost,
            duplicated: findings.duplicated,
            unchecked: findings.unchecked,
            overlaps: audit.overlaps,
            moves: audit.moves,
            ..Self::with(parts)
        }
    }

    fn with([before, during, after]: [Part; 3]) -> Self {
        Self {
            before,
            during,
            after,
            ..Self::default()
        }
    }

    pub(crate) fn all_checks_held(&self) -> bool {
        self.lost + self.duplicated + self.overlaps + self.unchecked == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sensors, shards, nodes) = (grouped(self.sensors.into()), self.shards, self.nodes);
        let (seconds, cores) = (self.seconds, self.cores);
        writeln!(
            f,
            "{sensors} sensors in {shards} shards on {nodes} nodes, each a process, for {seconds:.1} s on {cores} cores.\n"
        )?;
        for (name, part) in [
            ("before", &self.before),
            ("during", &self.during),
            ("after", &self.after),
        ] {
            writeln!(f, "  {name:<7} {part}")?;
        }
        let Failed {
            not_executed,
            failed_in_handler,
            executed_without_answer,
        } = self.failed;
        let (acknowledged, readings) = (grouped(self.acknowledged), grouped(self.readings));
        writeln!(
            f,
            "\n  {acknowledged} of {readings} readings acknowledged; {not_executed} not executed, {failed_in_handler} failed in the handler, {executed_without_answer} without an answer, {} unknown",
            self.unknown
        )?;
        writeln!(
            f,
            "  lost {}, duplicated {}, lived twice at once {}, sensors that did not answer in the end {}\n",
            self.lost, self.duplicated, self.overlaps, self.unchecked
        )?;
        match self.all_checks_held() {
            true => writeln!(f, "Every check held."),
            false => writeln!(f, "NOT EVERY CHECK HELD"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = grouped(self.readings_per_second as u64);
        let (fewest, most) = self.fewest_and_most();
        let (p50, p99) = (self.p50_us / 1e3, self.p99_us / 1e3);
        let (gap, on_time) = (self.longest_gap_ms, self.on_time_share * 100.0);
        write!(
            f,
            "{rate} readings per second, p50 {p50:.1} ms, p99 {p99:.1} ms, {on_time:.2} % within their second, no sensor without an answer for longer than {gap:.0} ms; {fewest} to {most} shards per node"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_lost_doubled_or_lived_twice_breaks_the_run() {
        assert!(Report::default().all_checks_held());
        let broken: [fn(&mut Report); 4] = [
            |report| report.lost = 1,
            |report| report.duplicated = 1,
            |report| report.overlaps = 1,
            |report| report.unchecked = 1,
        ];
        for (number, breaks) in broken.into_iter().enumerate() {
            let mut report = Report::default();
            breaks(&mut report);
            assert!(!report.all_checks_held(), "{number}");
            assert!(report.to_string().contains("NOT EVERY CHECK HELD"));
        }
    }
}
