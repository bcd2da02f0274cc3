//! `Leading`: when a manager tries to lead.
//!
//! It does not decide who leads: the log does. This only keeps managers from taking the lead from one another without need.

use tokio::sync::{mpsc, watch};

use crate::engine::Input;

#[derive(Clone, Debug)]
pub(crate) enum Leading {
    /// At once: nobody else can use this storage.
    Alone,
    /// When the one that leads gives no sign of life any more.
    BySuccession,
    /// While this says so: others have elected it. When nobody can say so any more, it does not.
    While(watch::Receiver<bool>),
}

impl Leading {
    /// Whether it has been elected.
    pub(crate) fn is_elected(&self) -> bool {
        match self {
            Self::While(says) => says.has_changed().is_ok() && *says.borrow(),
            Self::Alone | Self::BySuccession => false,
        }
    }

    /// Whether nodes may count their leases in the storage.
    pub(crate) fn shares_leases(&self) -> bool {
        matches!(self, Self::BySuccession)
    }
}

/// Tells the engine whenever it has been elected, or is no longer.
pub(crate) async fn follow(mut says: watch::Receiver<bool>, inputs: mpsc::Sender<Input>) {
    loop {
        let is_over = says.changed().await.is_err();
        if inputs.send(Input::Election).await.is_err() || is_over {
            return;
        }
    }
}
