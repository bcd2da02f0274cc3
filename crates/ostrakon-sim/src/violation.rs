//! `Violation`: something that must never be.

use crate::agenda::Moment;

/// Something that must never be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What was broken.
    pub invariant: &'static str,
    /// When, in nanoseconds.
    pub at: Moment,
    /// How.
    pub what: String,
}
