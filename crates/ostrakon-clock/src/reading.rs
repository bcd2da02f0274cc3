//! `Reading`: what the system's two clocks show at one moment.
//!
//! Elsewhere than on Linux both are the standard library's: good for development, not for leases on a machine that may sleep.

/// Nanoseconds since some moment of each clock's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Counts while the machine sleeps.
    pub(crate) boot: u64,
    /// Is never bent.
    pub(crate) raw: u64,
}

impl Reading {
    /// What has passed on each clock.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            boot: self.boot.saturating_sub(earlier.boot),
            raw: self.raw.saturating_sub(earlier.raw),
        }
    }
}

#[cfg(target_os = "linux")]
impl Reading {
    pub(crate) fn now() -> Self {
        use rustix::time::{ClockId, clock_gettime};
        let nanos = |clock| {
            let time = clock_gettime(clock);
            // Both begin when the machine does, so neither is negative.
            time.tv_sec as u64 * NANOS_PER_SECOND + time.tv_nsec as u64
        };
        Self {
            boot: nanos(ClockId::Boottime),
            raw: nanos(ClockId::MonotonicRaw),
        }
    }
}

/// Sleeps for so many nanoseconds; a sleep of the machine counts. It may end early.
#[cfg(target_os = "linux")]
pub(crate) fn sleep(nanos: u64) {
    use rustix::thread::{ClockId, Timespec, clock_nanosleep_relative};
    let time = Timespec {
        tv_sec: (nanos / NANOS_PER_SECOND) as i64,
        tv_nsec: (nanos % NANOS_PER_SECOND) as _,
    };
    // Whoever is interrupted looks at the clock again.
    let _ = clock_nanosleep_relative(ClockId::Boottime, &time);
}

#[cfg(target_os = "linux")]
const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(not(target_os = "linux"))]
impl Reading {
    pub(crate) fn now() -> Self {
        use std::{sync::LazyLock, time::Instant};
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let nanos = START.elapsed().as_nanos() as u64;
        Self {
            boot: nanos,
            raw: nanos,
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn sleep(nanos: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(nanos));
}
