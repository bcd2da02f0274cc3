//! `BadFrame`: why bytes are no frame.

use thiserror::Error;

use super::{MOST, MOST_PORTS};

/// The bytes are no frame. Nothing that follows can be trusted: the connection must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum BadFrame {
    #[error("a frame of {length} bytes, longer than the {MOST} that are allowed")]
    TooLong { length: usize },
    #[error("a frame is shorter than its fields")]
    Truncated,
    #[error("a number in a frame is out of range")]
    BadNumber,
    #[error("a text in a frame is not UTF-8")]
    BadText,
    #[error("a name in a frame is longer than allowed")]
    LongName,
    #[error("a message carries more than {MOST_PORTS} replies")]
    ManyPorts,
    #[error("a message of {length} bytes, longer than the {limit} that are allowed")]
    LongMessage { length: usize, limit: usize },
}
