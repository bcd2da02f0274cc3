//! What a node does in a cluster, whoever decides there: managers or its peers.
//!
//! [`Part`] says how a node takes part. A thread of its own keeps a [`contact`] with each of those who may decide and runs the
//! [`driver`], so that what holds the user's threads does not make the node look dead.

mod contact;
mod contacts;
mod decider;
mod driver;
mod emptying;
mod event;
mod gossiped;
mod part;
mod place;
mod pulses;
mod shared;
mod standing;

use std::sync::Arc;

use ostrakon_control::Seat;

pub(crate) use self::{
    event::Event,
    part::{Deciders, Membership, Part, part_settings},
};
#[cfg(feature = "peers")]
use crate::Peers;
use crate::{Managed, StartError, link::Hub};

/// Who decides in the cluster that a node takes part in.
pub(crate) enum Plane {
    Managed(Managed),
    #[cfg(feature = "peers")]
    Peers(Peers),
}

impl Plane {
    pub(crate) fn part(&self) -> &Part {
        match self {
            Self::Managed(managed) => &managed.part,
            #[cfg(feature = "peers")]
            Self::Peers(peers) => &peers.part,
        }
    }

    /// Joins: the node knows who owns what when this returns.
    pub(crate) async fn join(self, hub: &Arc<Hub>, seat: Seat) -> Result<Membership, StartError> {
        match self {
            Self::Managed(managed) => managed.join(hub, seat).await,
            #[cfg(feature = "peers")]
            // It is large, and most nodes do without it.
            Self::Peers(peers) => Box::pin(peers.join(hub, seat)).await,
        }
    }
}
