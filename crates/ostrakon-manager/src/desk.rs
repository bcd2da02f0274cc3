//! `Desk`: where operators look at the cluster and say what they want of it.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use ostrakon_core::{NodeName, PlannedMove, Policy, Rebalancing};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    board::{Board, NodeVitals},
    engine::Input,
    view::View,
};

/// Where operators look and wish. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    pub(crate) view: Arc<RwLock<View>>,
    pub(crate) inputs: mpsc::Sender<Input>,
    /// The number of the next event.
    pub(crate) events: watch::Receiver<u64>,
    pub(crate) board: Arc<Board>,
}

/// What an operator wants.
#[derive(Clone, Debug)]
pub enum Wish {
    /// This node shall give up its shards and go.
    Drain {
        /// Which node.
        node: NodeName,
    },
    /// This node is dead: the operator has made sure of it. If it is not, two copies of its entities will act.
    ConfirmDead {
        /// Which node.
        node: NodeName,
        /// How the operator knows, for the log.
        word: String,
    },
    /// Shards shall be balanced now and not at the next round.
    Rebalance,
    /// The rules shall be these. Whether balancing is frozen stays as it is.
    SetPolicy(Box<Policy>),
    /// Shards shall be moved for the sake of balance, or not. It outlives the manager that is told.
    SetRebalancing(Rebalancing),
}

/// Why a wish was not taken up. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WishError {
    /// Another manager leads.
    #[error("this manager does not lead: ask {}", .leader.as_ref().map_or("again when one does", |leader| leader.as_str()))]
    NotLeading {
        /// Who does, as far as is known.
        leader: Option<NodeName>,
    },
    /// There is no such node.
    #[error("no node `{node}` is registered")]
    NoSuchNode {
        /// Which.
        node: NodeName,
    },
    /// It is said to be dead, but has been heard a moment ago.
    #[error("node `{node}` has been heard a moment ago: it is not dead")]
    IsHeard {
        /// Which.
        node: NodeName,
    },
    /// Nothing is moved for the sake of balance.
    #[error("rebalancing is frozen")]
    Frozen,
    /// The manager is stopping.
    #[error("this manager is stopping: ask another")]
    Stopping,
}

impl Desk {
    /// The cluster as it is now. Hold it for a moment only: the manager waits meanwhile.
    pub fn view(&self) -> RwLockReadGuard<'_, View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the nodes that are connected here are doing, by name, as they last said.
    pub fn vitals(&self) -> Vec<NodeVitals> {
        self.board.all()
    }

    /// Follows events: the value is the number of the next one, which [`View::events`] takes.
    pub fn follow(&self) -> watch::Receiver<u64> {
        self.events.clone()
    }

    /// Wants something. It has been taken up when this returns; what comes of it shows in the view.
    pub async fn wish(&self, wish: Wish) -> Result<(), WishError> {
        let (answer, answered) = oneshot::channel();
        let asked = self.inputs.send(Input::Wish { wish, answer }).await;
        asked.map_err(|_| WishError::Stopping)?;
        answered.await.unwrap_or(Err(WishError::Stopping))
    }

    /// What a round of balancing would do if it began now and balancing is not frozen. Nothing changes.
    pub async fn plan(&self) -> Result<Vec<PlannedMove>, WishError> {
        let (answer, answered) = oneshot::channel();
        let asked = self.inputs.send(Input::Plan { answer }).await;
        asked.map_err(|_| WishError::Stopping)?;
        answered.await.unwrap_or(Err(WishError::Stopping))
    }

    /// Returns when the manager has taken notice, whether it leads or not: so it lives.
    pub async fn knock(&self) -> Result<(), WishError> {
        let (answer, answered) = oneshot::channel();
        let asked = self.inputs.send(Input::Knock { answer }).await;
        asked.map_err(|_| WishError::Stopping)?;
        answered.await.map_err(|_| WishError::Stopping)
    }
}
