//! `NotLeading`: why a voice cannot do what only the leader can.

use openraft::errors::{ForwardReason, ForwardToLeader};
use thiserror::Error;

use crate::Voice;
use crate::type_config::TypeConfig;

/// Only the leader can, and this is not it, or does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotLeading {
    /// Somebody else leads.
    #[error("{0} leads")]
    Other(Voice),
    /// Nobody does, or nobody that this voice has heard of.
    #[error("nobody is known to lead")]
    Nobody,
    /// This one did, and has not heard from a majority lately.
    #[error("this voice leads, but has not heard from a majority of the voters")]
    CutOff,
    /// A majority did not confirm that this one leads.
    #[error("this voice leads, but no majority of the voters confirms it")]
    Unconfirmed,
}

impl From<&ForwardToLeader<TypeConfig>> for NotLeading {
    fn from(forward: &ForwardToLeader<TypeConfig>) -> Self {
        match (&forward.leader_node, forward.reason) {
            (_, ForwardReason::LeaseExpired) => Self::CutOff,
            (Some(leader), _) => Self::Other(leader.clone()),
            (None, _) => Self::Nobody,
        }
    }
}
