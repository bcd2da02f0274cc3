//! The numbers of one measurement, as they travel from child to parent.
//!
//! A figure is a name and a float; which figures a measure yields is decided by
//! its workload, and what they mean to the reader by `report`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Operations or creations per second.
pub(crate) const RATE: &str = "rate";
/// Median latency in microseconds.
pub(crate) const P50: &str = "p50";
/// 99th percentile in microseconds; of the neighbours during the flood for `hot`.
pub(crate) const P99: &str = "p99";
/// The neighbours' 99th percentile without the flood.
pub(crate) const P99_QUIET: &str = "p99_quiet";
/// 99th percentile with the flood over the one without.
pub(crate) const FLOOD: &str = "flood";
/// The 99th percentile over the median.
pub(crate) const TAIL: &str = "tail";
/// Microseconds of processor time per message, both processes together.
pub(crate) const CPU: &str = "cpu";
/// The rate without encryption.
pub(crate) const RATE_PLAIN: &str = "rate_plain";
/// The rate with encryption over the one without.
pub(crate) const SHARE: &str = "share";
/// The median with large messages beside over the one without.
pub(crate) const BURST: &str = "burst";
/// The slowest heartbeat with large messages beside, in milliseconds.
pub(crate) const HEARTBEAT: &str = "heartbeat";
/// Resident bytes per idle entity.
pub(crate) const BYTES: &str = "bytes";
/// Time for the last tenth of the creations over the time for the first.
pub(crate) const SLOWDOWN: &str = "slowdown";

/// Named numbers of one run, or their medians over several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Figures(BTreeMap<String, f64>);

impl Figures {
    pub(crate) fn with(mut self, name: &str, value: f64) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// The median of every figure over `runs`.
    pub(crate) fn medians(runs: &[Self]) -> Self {
        let mut columns = BTreeMap::<String, Vec<f64>>::new();
        for (name, value) in runs.iter().flat_map(|run| &run.0) {
            columns.entry(name.clone()).or_default().push(*value);
        }
        Self(
            columns
                .into_iter()
                .map(|(name, values)| (name, median(values)))
                .collect(),
        )
    }
}

/// The middle value; between the two middle ones when their number is even.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(values: &[f64]) -> Vec<Figures> {
        values
            .iter()
            .map(|value| Figures::default().with(RATE, *value))
            .collect()
    }

    #[test]
    fn one_outlier_does_not_move_the_median() {
        let medians = Figures::medians(&rates(&[3.0, 1.0, 900.0]));
        assert_eq!(medians.get(RATE), Some(3.0));
    }

    #[test]
    fn two_rounds_give_their_middle() {
        let medians = Figures::medians(&rates(&[1.0, 2.0]));
        assert_eq!(medians.get(RATE), Some(1.5));
    }
}
