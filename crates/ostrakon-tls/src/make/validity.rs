//! `Validity`: from when until when a certificate is good.

use std::time::Duration;

use crate::UtcTime;

/// From when until when a certificate is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub from: UtcTime,
    /// The last second.
    pub until: UtcTime,
}

impl Validity {
    /// How long an authority lasts unless told otherwise: ten years.
    pub const OF_AUTHORITY: Duration = Duration::from_secs(3650 * DAY);
    /// How long what it issues lasts unless told otherwise: one year.
    pub const OF_LEAF: Duration = Duration::from_secs(365 * DAY);
    /// How much earlier than now a certificate starts, so that machines whose clocks lag accept it at once.
    pub const BACKDATE: Duration = Duration::from_secs(3600);

    /// Good for this long from now, and for the last hour.
    pub fn for_the_next(time: Duration) -> Self {
        let now = UtcTime::now();
        Self {
            from: now.minus(Self::BACKDATE),
            until: now.plus(time),
        }
    }
}

const DAY: u64 = 86_400;
