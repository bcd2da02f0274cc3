//! All rows of one run, as tables and as JSON.
//!
//! Nothing here measures or decides what is good enough: that is `harness` and
//! `target`.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::harness::Comparison;
use crate::line::Line;
use crate::measure::Group;
use crate::row::{Row, header, latency_header};
use crate::table::table;

/// All rows of one run.
pub(crate) struct Report {
    rows: Vec<Row>,
    failures: Vec<String>,
    absences: BTreeSet<String>,
}

impl Report {
    pub(crate) fn new(comparisons: &[Comparison]) -> Self {
        let rows = comparisons.iter().flat_map(|comparison| {
            Line::of(comparison.case)
                .into_iter()
                .map(|line| Row::new(comparison, &line))
        });
        Self {
            rows: rows.collect(),
            failures: comparisons.iter().flat_map(failures).collect(),
            absences: comparisons.iter().flat_map(absences).collect(),
        }
    }

    /// Who did not take part although it could have, and why.
    pub(crate) fn absences(&self) -> &BTreeSet<String> {
        &self.absences
    }

    /// What could not be measured, and why.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }

    pub(crate) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(&self.rows)? + "\n")
    }

    /// The same tables for the terminal and for the documentation.
    pub(crate) fn tables(&self) -> String {
        let of = |groups: &[Group]| {
            let rows = self.rows.iter();
            rows.filter(|row| groups.contains(&row.group()))
                .collect::<Vec<_>>()
        };
        let parts: [&[Group]; 3] = [
            &[Group::Local, Group::Memory, Group::Hot],
            &[Group::Remote],
            &[Group::Planner],
        ];
        let tables = parts.into_iter().filter_map(|groups| tables(&of(groups)));
        tables.collect::<Vec<_>>().join("\n")
    }

    /// Each missed target with what was reached instead, and each open one.
    pub(crate) fn misses(&self) -> Vec<String> {
        self.rows.iter().filter_map(Row::miss).collect()
    }
}

/// The table of rows that have the same columns, and that of their latencies.
fn tables(rows: &[&Row]) -> Option<String> {
    let group = rows.first()?.group();
    let columns = rows.iter().map(|row| row.columns()).collect::<Vec<_>>();
    let latencies = rows.iter().filter_map(|row| row.latencies());
    let latencies = latencies.collect::<Vec<_>>();
    let mut text = table(&header(group), &columns);
    if !latencies.is_empty() {
        text += "\nLatency in µs: p50 / p99; for hot, p99 without the flood → with it.\n\n";
        text += &table(&latency_header(group), &latencies);
    }
    Some(text)
}

fn absences(comparison: &Comparison) -> Vec<String> {
    let absent = comparison.absent.iter();
    absent
        .map(|(name, reason)| format!("{} between processes: {reason}", name.label()))
        .collect()
}

fn failures(comparison: &Comparison) -> Vec<String> {
    let case = comparison.case.label("");
    let failed = comparison.outcomes.iter().filter_map(|(name, outcome)| {
        let reason = outcome.as_ref().err()?;
        Some(format!("{case} {}: {reason}", name.label()))
    });
    failed.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::case::Case;
    use crate::contenders::Name;
    use crate::figures::{Figures, RATE};
    use crate::measure::Measure;

    fn report(ours: f64) -> Report {
        let rate = |rate| Ok(Figures::default().with(RATE, rate));
        let outcomes = BTreeMap::from([
            (Name::Ours, rate(ours)),
            (Name::Limit, rate(10.0)),
            (Name::Kameo, rate(2.0)),
            (Name::Ractor, rate(3.0)),
            (Name::Actix, Err("too \"slow\"".to_owned())),
        ]);
        let comparison = |case| Comparison {
            case,
            outcomes: outcomes.clone(),
            absent: BTreeMap::new(),
        };
        let first = Case::of(Measure::Tell).take(1);
        Report::new(&first.map(comparison).collect::<Vec<_>>())
    }

    #[test]
    fn a_row_of_json_has_the_promised_fields() {
        let rows: serde_json::Value = serde_json::from_str(&report(6.0).json().unwrap()).unwrap();
        let expected = serde_json::json!([{
            "name": "tell mt", "ours": 6.0, "unit": "messages/s", "limit": 10.0,
            "peers": { "kameo": 2.0, "ractor": 3.0, "actix": "failed: too \"slow\"" },
            "ratio_to_limit": 0.6, "ratio_to_best_peer": 2.0,
            "target": "≥ 60 % of limit and ≥ 2× the best of kameo, ractor", "ok": true,
        }]);
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_miss_is_told_with_its_target_and_a_failure_with_its_reason() {
        let missed = report(5.0);
        assert_eq!(
            missed.misses(),
            [
                "tell mt: missed with 5.00 messages/s (0.50× the limit, 1.67× the best peer); \
              the target is ≥ 60 % of limit and ≥ 2× the best of kameo, ractor"
            ]
        );
        assert_eq!(missed.failures(), ["tell mt actix: too \"slow\""]);
        assert!(report(6.0).misses().is_empty());
    }
}
