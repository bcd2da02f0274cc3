//! `Latencies`: how long messages take, from samples, in little memory.
//!
//! Durations fall into steps of an eighth of a power of two, so that what is told is right to a tenth. Counts fade, so that it is about
//! the last seconds.

use std::time::Duration;

/// Steps in a power of two, and the bits that number them.
const STEPS: usize = 1 << STEP_BITS;
const STEP_BITS: u32 = 3;

/// The longest that is told apart: 2^36 nanoseconds, more than a minute.
const LONGEST: u64 = 1 << 36;

const BUCKETS: usize = bucket(LONGEST) + 1;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Latencies {
    counts: [f32; BUCKETS],
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            counts: [0.0; BUCKETS],
        }
    }
}

impl Latencies {
    pub(crate) fn note(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos.min(LONGEST))] += 1.0;
    }

    /// Lets go of a part of all that was counted.
    pub(crate) fn fade(&mut self, keep: f32) {
        self.counts.iter_mut().for_each(|count| *count *= keep);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let both = self.counts.iter_mut().zip(&other.counts);
        both.for_each(|(count, more)| *count += more);
    }

    /// How long this part of the messages, from 0 to 1, takes at most; `None` if none was timed lately.
    pub(crate) fn quantile(&self, part: f32) -> Option<Duration> {
        let total: f32 = self.counts.iter().sum();
        if total < 0.5 {
            return None;
        }
        let mut seen = 0.0;
        let reached = |count: &f32| {
            seen += count;
            seen >= total * part
        };
        let found = self.counts.iter().position(reached);
        Some(Duration::from_nanos(upper(found.unwrap_or(BUCKETS - 1))))
    }
}

/// Where a duration is counted: up to two powers of steps each has a place of its own, then they share.
const fn bucket(nanos: u64) -> usize {
    if nanos < STEPS as u64 {
        return nanos as usize;
    }
    let power = nanos.ilog2();
    let step = (nanos >> (power - STEP_BITS)) as usize - STEPS;
    (power - STEP_BITS + 1) as usize * STEPS + step
}

/// The longest duration that is counted there.
fn upper(bucket: usize) -> u64 {
    let (power, step) = (bucket / STEPS, bucket % STEPS);
    match power.checked_sub(1) {
        None => step as u64,
        Some(shift) => (((STEPS + step + 1) as u64) << shift) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_told_to_a_tenth() {
        for nanos in (0..200).chain([1_000, 12_345, 80_000, 1_000_000_007, LONGEST - 1]) {
            let told = upper(bucket(nanos));
            assert!(told >= nanos, "{nanos}: {told}");
            assert!(told - nanos <= nanos / 8, "{nanos}: {told}");
        }
    }

    #[test]
    fn the_longest_are_one() {
        let mut latencies = Latencies::default();
        latencies.note(Duration::MAX);
        let told = latencies.quantile(0.5).unwrap();
        assert!(told >= Duration::from_nanos(LONGEST), "{told:?}");
    }

    #[test]
    fn the_middle_and_the_end_are_found() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantile(0.5), None);
        for _ in 0..980 {
            latencies.note(Duration::from_micros(12));
        }
        for _ in 0..20 {
            latencies.note(Duration::from_millis(8));
        }
        let p50 = latencies.quantile(0.5).unwrap();
        let p99 = latencies.quantile(0.99).unwrap();
        assert!((12_000..13_500).contains(&p50.as_nanos()), "{p50:?}");
        assert!((8_000_000..9_000_000).contains(&p99.as_nanos()), "{p99:?}");
    }

    #[test]
    fn two_kinds_are_told_as_one_and_both_are_forgotten() {
        let (mut one, mut other) = (Latencies::default(), Latencies::default());
        one.note(Duration::from_micros(1));
        other.note(Duration::from_millis(1));
        one.add(&other);
        assert!(one.quantile(1.0).unwrap() >= Duration::from_millis(1));
        one.fade(0.1);
        assert_eq!(one.quantile(1.0), None);
    }
}
