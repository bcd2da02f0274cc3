//! `Failovers`: how long the bank took to get over the kills of its nodes.
//!
//! It is measured by those who wait: from a kill until the next one, or until something else is done, the longest time in which any
//! teller got no answer. So it is never less than the accounts of the killed node were away.

use std::{fmt, time::Duration};

use serde::Serialize;

/// The percentiles of a series of failovers. Its fields are JSON.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Failovers {
    failovers: usize,
    failover_p50_ms: f64,
    failover_p99_ms: f64,
    failover_max_ms: f64,
}

impl Failovers {
    /// `None`: nobody was killed.
    pub(crate) fn of(series: &[Duration]) -> Option<Self> {
        let mut series: Vec<_> = series.iter().map(|took| took.as_secs_f64() * 1e3).collect();
        series.sort_by(f64::total_cmp);
        // The one within which this part of all was over: never one that lies between two.
        let percentile = |percent: usize| {
            let rank = (series.len() * percent).div_ceil(100);
            series.get(rank.checked_sub(1)?).copied()
        };
        Some(Self {
            failovers: series.len(),
            failover_p50_ms: percentile(50)?,
            failover_p99_ms: percentile(99)?,
            failover_max_ms: percentile(100)?,
        })
    }
}

impl fmt::Display for Failovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            failovers,
            failover_p50_ms: p50,
            failover_p99_ms: p99,
            failover_max_ms: most,
        } = self;
        write!(
            f,
            "{failovers} nodes killed; all were answered again within p50 {p50:.0} ms, p99 {p99:.0} ms, at most {most:.0} ms"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_failovers_that_happened() {
        let series: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        let found = Failovers::of(&series).unwrap();
        let expected = Failovers {
            failovers: 200,
            failover_p50_ms: 100.0,
            failover_p99_ms: 198.0,
            failover_max_ms: 200.0,
        };
        assert_eq!(found, expected);
        let few = Failovers::of(&series[..3]).unwrap();
        assert_eq!((few.failover_p50_ms, few.failover_p99_ms), (199.0, 200.0));
    }

    #[test]
    fn without_a_kill_there_is_nothing_to_say() {
        assert_eq!(Failovers::of(&[]), None);
    }
}
