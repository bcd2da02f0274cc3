//! `Trouble`: what a server says, and what follows from it.

use ostrakon_core::Incarnation;
use thiserror::Error;

use crate::backend::NoAnswer;

/// Why there is no answer.
#[derive(Debug, Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Late(NoAnswer),
    /// What it says may be old, and it takes nothing.
    #[error("it is a standby: give the address of the primary")]
    Standby,
}

/// Why a transaction was not prepared. Nothing of it counts.
pub(super) enum Refused {
    Conflict,
    Renewed(Incarnation),
    Failed(Trouble),
}

impl<E: Into<Trouble>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Trouble {
    /// After a commit was sent: whether the server has said that it did not happen. One that is being shut down (57P) may say so
    /// although it did.
    pub(super) fn undid_the_transaction(&self) -> bool {
        self.code().is_some_and(|code| !code.starts_with("57P"))
    }

    /// Whether it lets us in: user, password (28), database (3D), rights (42501).
    pub(super) fn is_denial(&self) -> bool {
        let denies = |code: &String| {
            code.starts_with("28") || code.starts_with("3D") || code.as_str() == "42501"
        };
        self.code().as_ref().is_some_and(denies)
    }

    /// Whether a row was there already.
    pub(super) fn is_duplicate(&self) -> bool {
        self.code().is_some_and(|code| code == "23505")
    }

    fn code(&self) -> Option<String> {
        match self {
            Self::Sql(error) => Some(error.as_database_error()?.code()?.into_owned()),
            Self::Late(_) | Self::Standby => None,
        }
    }
}
