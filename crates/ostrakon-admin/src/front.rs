//! `Front`: whose cluster the admin API shows, that of a manager or that of a peer.

use std::collections::BTreeMap;

use ostrakon_core::{NodeName, PlannedMove};
use ostrakon_council::{PeerDesk, Quorum};
use ostrakon_manager::{Desk, NodeVitals, Wish};
use ostrakon_tls::Role;

use crate::problem::Problem;

/// Where operators look and wish.
#[derive(Clone)]
pub enum Front {
    /// At a manager.
    Manager(Desk),
    /// At one of the peers that look after their cluster themselves. It passes wishes on to whoever leads.
    Peer(PeerDesk),
}

impl From<Desk> for Front {
    fn from(desk: Desk) -> Self {
        Self::Manager(desk)
    }
}

impl From<PeerDesk> for Front {
    fn from(desk: PeerDesk) -> Self {
        Self::Peer(desk)
    }
}

impl Front {
    /// Enough to look.
    pub(crate) fn desk(&self) -> &Desk {
        match self {
            Self::Manager(desk) => desk,
            Self::Peer(desk) => desk.own(),
        }
    }

    /// Whose certificate it shows.
    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Manager(_) => Role::Manager,
            Self::Peer(_) => Role::Node,
        }
    }

    /// Who votes, where there are votes.
    pub(crate) fn quorum(&self) -> Option<Quorum> {
        match self {
            Self::Manager(_) => None,
            Self::Peer(desk) => Some(desk.quorum()),
        }
    }

    /// What the nodes are doing.
    pub(crate) async fn vitals(&self) -> Vec<NodeVitals> {
        match self {
            Self::Manager(desk) => desk.vitals(),
            Self::Peer(desk) => desk.vitals().await,
        }
    }

    /// How much the silence of each node speaks against it, where somebody listens.
    pub(crate) async fn phis(&self) -> BTreeMap<NodeName, f64> {
        match self {
            Self::Manager(_) => BTreeMap::new(),
            Self::Peer(desk) => desk.phis().await,
        }
    }

    pub(crate) async fn wish(&self, wish: Wish) -> Result<(), Problem> {
        match self {
            Self::Manager(desk) => Ok(desk.wish(wish).await?),
            Self::Peer(desk) => Ok(desk.wish(wish).await?),
        }
    }

    pub(crate) async fn plan(&self) -> Result<Vec<PlannedMove>, Problem> {
        match self {
            Self::Manager(desk) => Ok(desk.plan().await?),
            Self::Peer(desk) => Ok(desk.plan().await?),
        }
    }
}
