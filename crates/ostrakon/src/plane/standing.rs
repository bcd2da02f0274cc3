//! `Standing`: how a node stands with its managers, for whoever waits for it to join or to leave.

use std::{collections::BTreeMap, time::Duration};

use super::contact::Address;
use crate::StartError;

/// How a node stands with its managers.
#[derive(Clone, Debug, Default)]
pub(crate) enum Standing {
    #[default]
    Waiting,
    /// No manager can be reached; why, by manager.
    Alone(BTreeMap<Address, String>),
    Refused(String),
    Joined,
    Left,
    /// It has stopped trying to say goodbye.
    GoneUnheard,
}

impl Standing {
    /// Whether waiting any longer to be let in makes no sense.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self, Self::Joined | Self::Refused(_))
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Left | Self::GoneUnheard)
    }

    pub(crate) fn has_left(&self) -> bool {
        matches!(self, Self::Left)
    }

    pub(crate) fn into_result(self, within: Duration) -> Result<(), StartError> {
        let trouble = match self {
            Self::Joined => return Ok(()),
            Self::Refused(reason) => return Err(StartError::Refused { reason }),
            Self::Alone(troubles) => {
                let named = troubles.into_iter();
                let named = named.map(|(manager, trouble)| format!("{manager}: {trouble}"));
                named.collect::<Vec<_>>().join("; ")
            }
            Self::Waiting | Self::Left | Self::GoneUnheard => {
                "managers are in contact, but none of them leads".to_owned()
            }
        };
        Err(StartError::NotJoined { within, trouble })
    }
}
