//! For whoever writes a backend: what all of them do in the same way.
//!
//! [`Batch`] is an append as it is stored, [`Compaction`] a snapshot, [`Found`] part of a log, [`Known`] what a handle has heard of it, [`LogState`] a whole log as
//! a value. None of this is of use to somebody who has a [`Storage`](crate::Storage).

mod backoff;
mod batch;
mod compaction;
mod deadline;
mod found;
mod known;
mod log_state;

pub use backoff::Backoff;
pub use batch::{Batch, Limits};
pub use compaction::Compaction;
pub use deadline::NoAnswer;
pub use found::Found;
pub use known::Known;
pub use log_state::LogState;

/// The form in which everything is stored. A place that has a later one is left alone.
pub const FORMAT: u32 = 1;
/// So many entries are read at once.
pub const MOST_READ: usize = 1024;
/// Not much more than so many bytes of entries are read at once.
pub const MOST_BYTES_READ: usize = 8 << 20;
