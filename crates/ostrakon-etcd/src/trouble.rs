//! `Trouble`: why a call failed, before it is said where.

use std::fmt::Display;

use ostrakon_storage::StorageError;

use crate::failure::Failure;

/// A request that failed, or an answer that cannot be used.
#[derive(Debug)]
pub(crate) enum Trouble {
    Request(Failure),
    Answer(StorageError),
}

impl Trouble {
    /// Something that is stored is not as we store it.
    pub(crate) fn unreadable(place: &str, what: impl Display, why: impl Display) -> Self {
        Self::Answer(StorageError::Unreadable {
            place: place.to_owned(),
            what: what.to_string(),
            source: why.to_string().into(),
        })
    }

    /// `tried` is what was tried, as words that a place can follow.
    pub(crate) fn storage(self, place: &str, tried: &'static str) -> StorageError {
        match self {
            Self::Request(failure) => failure.storage(place, tried),
            Self::Answer(error) => error,
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Request(failure)
    }
}

impl From<StorageError> for Trouble {
    fn from(error: StorageError) -> Self {
        Self::Answer(error)
    }
}
