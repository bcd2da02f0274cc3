//! The tally of trouble made. It counts deeds, not intentions: a fault that met no traffic is not
//! in it, and a fault is counted no later than its effect can be seen by either peer.

/// What a [`Proxy`](crate::Proxy) has done to its traffic so far, by hand and by chaos together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mischief {
    /// Chunks held back for a short, known time. Throttling is not counted.
    pub delays: u64,
    /// Chunks forwarded in several small pieces.
    pub splits: u64,
    /// Times that bytes, or the end of a stream, met a stall on their way.
    pub stalls: u64,
    /// Connections reset or refused, except those counted as truncations.
    pub cuts: u64,
    /// Chunks in which one bit was flipped.
    pub corruptions: u64,
    /// Chunks of which only the beginning was forwarded before the connection was reset.
    pub truncations: u64,
}
