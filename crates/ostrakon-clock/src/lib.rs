//! The clocks of a lease.
//!
//! Whoever holds a lease must not believe it to last longer than it does, whoever granted it must not believe it to be over too soon.
//! The system has two clocks that never jump: `CLOCK_BOOTTIME` counts while the machine sleeps but is bent when the time of day is
//! corrected, `CLOCK_MONOTONIC_RAW` is never bent but stands still in a sleep. The [`HolderClock`] goes by whichever has advanced more, the
//! [`GrantorClock`] by the other. Invariant: neither ever goes back, and on one machine the holder's is never behind the grantor's.
//!
//! Neither is compared with a clock of another machine, and neither is a time of day.

mod grantor_clock;
mod holder_clock;
mod reading;

pub use grantor_clock::GrantorClock;
pub use holder_clock::HolderClock;
