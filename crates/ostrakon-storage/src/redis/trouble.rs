//! `Trouble`: what a server says, and what follows from it.

use redis::ErrorKind;
use thiserror::Error;

use crate::OpenError;
use crate::backend::{FORMAT, NoAnswer};

/// No rights, no room, not the right server, or not now.
const REFUSALS: [&str; 13] = [
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "MOVED",
    "NOAUTH",
    "NOPERM",
    "NOREPLICAS",
    "NOSCRIPT",
    "OOM",
    "READONLY",
    "WRONGPASS",
];

/// Why there is no answer.
#[derive(Debug, Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Server(#[from] redis::RedisError),
    #[error(transparent)]
    Late(NoAnswer),
    #[error("it may lose acknowledged entries, because {0}")]
    NotDurable(String),
    #[error("it has format {0}, and this version knows up to {FORMAT}: use a later version")]
    Format(u32),
}

impl Trouble {
    /// Whether the server has refused a script before it began to write. A script that fails later is not undone.
    pub(super) fn is_a_refusal(&self) -> bool {
        match self {
            Self::Server(error) => error.code().is_some_and(|code| REFUSALS.contains(&code)),
            Self::Late(_) => false,
            Self::NotDurable(_) | Self::Format(_) => true,
        }
    }

    pub(super) fn at_opening(self, place: &str) -> OpenError {
        let place = place.to_owned();
        match self {
            Self::NotDurable(reason) => OpenError::NotDurable { place, reason },
            Self::Format(found) => OpenError::NewerFormat {
                place,
                found,
                known: FORMAT,
            },
            Self::Server(error) if is_denial(&error) => OpenError::Denied {
                place,
                source: error.into(),
            },
            other @ (Self::Server(_) | Self::Late(_)) => OpenError::Unavailable {
                place,
                source: other.into(),
            },
        }
    }
}

fn is_denial(error: &redis::RedisError) -> bool {
    let code = error.code().unwrap_or_default();
    error.kind() == ErrorKind::AuthenticationFailed
        || ["NOAUTH", "WRONGPASS", "NOPERM"].contains(&code)
        || error.to_string().contains("switch database")
}
