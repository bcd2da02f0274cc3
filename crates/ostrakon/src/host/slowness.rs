//! `Slowness`: whether a kind's handlers hold the processor for long.
//!
//! An ask to a parked entity is handled on the asker's own task, which saves two hand-overs between tasks. For handlers that
//! compute for long this would take away parallelism (`join_all` over many entities would run on one core), so
//! every now and then a handler is timed, and a slow kind gets tasks of its own.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Of this many messages in a row one is timed: any of them, because whoever sends may do so in the same order again and again, and then
/// every 32nd message would be for the same few entities.
const SAMPLE: u32 = 32;

/// Above this a hand-over between tasks costs less than what it frees.
const SLOW: Duration = Duration::from_micros(20);

/// What a sample counts at most: a single one may be long because its thread was not running.
const MOST: Duration = Duration::from_micros(100);

thread_local! {
    /// How many messages there are up to the next that is timed, it included.
    static LEFT: Cell<u32> = const { Cell::new(SAMPLE) };
    /// How many of its row come after it.
    static BEHIND: Cell<u32> = const { Cell::new(0) };
}

#[derive(Default)]
pub(crate) struct Slowness {
    /// A moving average in nanoseconds.
    average: AtomicU64,
}

impl Slowness {
    /// Whether to time the message that is next on this thread.
    pub(crate) fn samples_this() -> bool {
        let left = LEFT.get() - 1;
        LEFT.set(left);
        if left == 0 {
            draw();
        }
        left == 0
    }

    /// A handler held the processor for this long without a wait.
    pub(crate) fn note(&self, held: Duration) {
        let held = held.min(MOST).as_nanos() as u64;
        // A lost update among racing samples does not matter to an average.
        let average = self.average.load(Ordering::Relaxed);
        let next = average - average / 4 + held / 4;
        self.average.store(next, Ordering::Relaxed);
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.average.load(Ordering::Relaxed) > SLOW.as_nanos() as u64
    }
}

/// Chooses the next message to be timed: any of the next row.
#[cold]
fn draw() {
    let next = fastrand::u32(1..=SAMPLE);
    LEFT.set(BEHIND.replace(SAMPLE - next) + next);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_slow_while_its_handlers_are() {
        let slowness = Slowness::default();
        assert!(!slowness.is_slow());
        slowness.note(Duration::from_millis(1));
        assert!(slowness.is_slow());
        for _ in 0..40 {
            slowness.note(Duration::from_nanos(300));
        }
        assert!(!slowness.is_slow());
    }

    #[test]
    fn one_message_of_each_row_is_timed_and_not_always_the_same() {
        let timed: Vec<u32> = (0..SAMPLE * 1000)
            .filter(|_| Slowness::samples_this())
            .collect();
        assert_eq!(timed.len(), 1000);
        assert!(timed.iter().zip(0..).all(|(n, row)| n / SAMPLE == row));
        let places: std::collections::BTreeSet<_> = timed.iter().map(|n| n % SAMPLE).collect();
        assert_eq!(places.len(), SAMPLE as usize, "{places:?}");
    }

    #[test]
    fn a_single_long_sample_is_soon_forgotten() {
        let slowness = Slowness::default();
        slowness.note(Duration::from_secs(1));
        slowness.note(Duration::from_nanos(300));
        assert!(!slowness.is_slow());
    }
}
