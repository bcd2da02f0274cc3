//! How much random trouble to make. Plain numbers; the decisions drawn from them live in `fate`.

use std::time::Duration;

/// Random trouble for [`Proxy::unleash`](crate::Proxy::unleash).
///
/// Each chunk that the proxy reads meets each kind of trouble with the given probability, from 0.0
/// (never) to 1.0 (always). A chunk can be delayed, stalled and split at once, but is only one of
/// cut, truncated or corrupted.
///
/// What befalls the n-th chunk in one direction of the k-th connection depends on the seed, n, k and
/// the direction only. Where one chunk ends and the next begins is up to the operating system, so two
/// runs are alike byte for byte only if the peers wait for each other's messages.
///
/// ```
/// use ostrakon_faults::Chaos;
///
/// let only_bit_flips = Chaos { corrupt: 0.5, ..Chaos::none(7) };
/// let no_stalls = Chaos { stall: 0.0, ..Chaos::cutting(7) };
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chaos {
    /// Decides everything that the probabilities leave open.
    pub seed: u64,
    /// The chunk is held back for a moment, at most `longest_delay`.
    pub delay: f64,
    /// The chunk is forwarded in several small pieces.
    pub split: f64,
    /// This direction of the connection stands still for a while, at most `longest_stall`.
    pub stall: f64,
    /// The chunk is lost and the connection reset.
    pub cut: f64,
    /// One bit of the chunk is flipped.
    pub corrupt: f64,
    /// Only the beginning of the chunk is forwarded, then the connection is reset.
    pub truncate: f64,
    /// Upper bound of one delay.
    pub longest_delay: Duration,
    /// Upper bound of one stall.
    pub longest_stall: Duration,
}

impl Chaos {
    /// No trouble at all: the base on which to build one's own mixture.
    pub const fn none(seed: u64) -> Self {
        Self {
            seed,
            delay: 0.0,
            split: 0.0,
            stall: 0.0,
            cut: 0.0,
            corrupt: 0.0,
            truncate: 0.0,
            longest_delay: Duration::from_millis(5),
            longest_stall: Duration::from_millis(200),
        }
    }

    /// A slow and uneven network that loses nothing: delays, splits and stalls.
    pub const fn mild(seed: u64) -> Self {
        Self {
            delay: 0.2,
            split: 0.2,
            stall: 0.02,
            ..Self::none(seed)
        }
    }

    /// The mild kind, in which connections also break, some of them in the middle of a chunk.
    pub const fn cutting(seed: u64) -> Self {
        Self {
            cut: 0.02,
            truncate: 0.02,
            ..Self::mild(seed)
        }
    }

    /// The cutting kind, which also flips bits.
    pub const fn corrupting(seed: u64) -> Self {
        Self {
            corrupt: 0.02,
            ..Self::cutting(seed)
        }
    }
}
