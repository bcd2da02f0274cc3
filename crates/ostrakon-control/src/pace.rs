//! `Pace`: how fast somebody may speak.
//!
//! A bucket of a second's worth fills evenly; whoever has emptied it waits. Nothing is lost: what has not been read yet waits with
//! whoever says it. So one that speaks without end takes its share of our time and no more.

use std::time::Duration;

use tokio::time::Instant;

/// Words of so many bytes count as one.
const UNIT: usize = 1024;

pub(crate) struct Pace {
    per_second: u32,
    /// When the bucket will be full again.
    full: Instant,
}

impl Pace {
    pub(crate) fn new(per_second: u32) -> Self {
        Self {
            per_second,
            full: Instant::now(),
        }
    }

    /// Pays for words of this size, and waits if there have been too many.
    pub(crate) async fn pay(&mut self, size: usize) {
        let units = u32::try_from(size / UNIT + 1).unwrap_or(u32::MAX);
        let now = Instant::now();
        self.full = self.full.max(now) + Duration::from_secs(1) * units / self.per_second;
        if self.full > now + Duration::from_secs(1) {
            tokio::time::sleep_until(self.full - Duration::from_secs(1)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_through_and_then_so_much_each_second() {
        let began = Instant::now();
        let mut pace = Pace::new(100);
        for _ in 0..100 {
            pace.pay(10).await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..50 {
            pace.pay(10).await;
        }
        assert_eq!(began.elapsed().as_millis(), 500);
        // A large one counts for several.
        pace.pay(99 * UNIT).await;
        assert_eq!(began.elapsed().as_millis(), 1500);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_silent_for_a_while_does_not_save_up_more_than_a_burst() {
        let mut pace = Pace::new(100);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let began = Instant::now();
        for _ in 0..200 {
            pace.pay(0).await;
        }
        assert_eq!(began.elapsed().as_millis(), 1000);
    }
}
