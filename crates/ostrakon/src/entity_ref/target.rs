//! `Target`: where a ref leads.

use std::sync::Arc;

use ostrakon_core::EntityId;

use crate::{
    Entity, TellError,
    clock::Clock,
    host::{Host, Place},
    link::{Lane, Leads, Link},
};

pub(super) enum Target<E: Entity> {
    /// Only in this process: everything on a solo node, and the node's own actors.
    Here {
        host: Arc<Host<E>>,
        id: EntityId,
        place: Place,
    },
    /// Wherever its shard is.
    Shard {
        /// `None`: this node does not host the kind.
        host: Option<Arc<Host<E>>>,
        lane: Arc<Lane>,
        id: EntityId,
        place: Place,
        clock: Clock,
    },
    /// An actor on another node.
    Actor {
        link: Arc<Link>,
        id: EntityId,
        clock: Clock,
    },
    /// The id or the kind cannot be reached: every send says why.
    Nowhere(TellError),
}

/// The place in this process where an entity lives.
pub(super) struct Home<'r, E: Entity> {
    pub(super) host: &'r Arc<Host<E>>,
    pub(super) id: &'r EntityId,
    pub(super) place: Place,
}

impl<E: Entity> Clone for Target<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Here { host, id, place } => Self::Here {
                host: Arc::clone(host),
                id: id.clone(),
                place: *place,
            },
            Self::Shard {
                host,
                lane,
                id,
                place,
                clock,
            } => Self::Shard {
                host: host.clone(),
                lane: Arc::clone(lane),
                id: id.clone(),
                place: *place,
                clock: *clock,
            },
            Self::Actor { link, id, clock } => Self::Actor {
                link: Arc::clone(link),
                id: id.clone(),
                clock: *clock,
            },
            Self::Nowhere(error) => Self::Nowhere(error.clone()),
        }
    }
}

impl<E: Entity> Target<E> {
    pub(super) fn id(&self) -> Result<&EntityId, &TellError> {
        match self {
            Self::Here { id, .. } | Self::Shard { id, .. } | Self::Actor { id, .. } => Ok(id),
            Self::Nowhere(error) => Err(error),
        }
    }

    pub(super) fn clock(&self) -> Clock {
        match self {
            Self::Here { host, .. } => host.kind.clock,
            Self::Shard { clock, .. } | Self::Actor { clock, .. } => *clock,
            Self::Nowhere(_) => Clock::start(),
        }
    }

    /// The entity's place in this process, if it lives here.
    pub(super) fn home(&self) -> Option<Home<'_, E>> {
        let (host, id, place) = match self {
            Self::Here { host, id, place } => (host, id, *place),
            Self::Shard {
                host: Some(host),
                lane,
                id,
                place,
                ..
            } if lane.is_here() || lane.leads() == Leads::Here => (host, id, *place),
            Self::Shard { .. } | Self::Actor { .. } | Self::Nowhere(_) => return None,
        };
        Some(Home { host, id, place })
    }

    /// The error of a message that did not leave this node.
    pub(super) fn unsent(&self) -> TellError {
        match self {
            Self::Shard { id, place, .. } => TellError::NoOwner {
                kind: E::KIND,
                id: id.clone(),
                shard: place.shard,
            },
            Self::Actor { link, .. } => TellError::Unreachable {
                node: link.peer.clone(),
            },
            Self::Here { id, .. } => TellError::Stopped {
                kind: E::KIND,
                id: id.clone(),
            },
            Self::Nowhere(error) => error.clone(),
        }
    }
}
