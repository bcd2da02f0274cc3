//! `NoAnswer`: the cause that we name ourselves when a server says nothing.

use std::time::Duration;

use thiserror::Error;

/// Nothing came back in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no answer within {0:?}")]
pub struct NoAnswer(pub Duration);
