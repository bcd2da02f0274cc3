//! `CallError`: why a peer has not answered.

use std::time::Duration;

use thiserror::Error;

/// Why a peer has not answered. Unless it says otherwise, nothing was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// More than fits into one request. Ask for less at a time.
    #[error("a request of {size} bytes, and at most {most} are allowed")]
    TooLarge {
        /// How large it is, on the wire.
        size: usize,
        /// What is allowed.
        most: usize,
    },
    /// As many calls as there may be wait for an answer. Wait for some of them.
    #[error("{0} calls wait for an answer already")]
    TooMany(usize),
    /// The peer cannot be reached. It is tried again when it is next called, but not at once.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke. The peer may have done what was asked, or not.
    #[error("the connection broke before it answered")]
    Broken,
    /// It took too long. The peer may have done what was asked, or may yet do it.
    #[error("it has not answered within {0:?}")]
    Late(Duration),
    /// This peer has stopped.
    #[error("this peer has stopped")]
    Stopped,
}
