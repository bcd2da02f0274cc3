//! `StartError`: why a peer did not start.

use std::time::Duration;

use thiserror::Error;

/// Why a peer did not start. Nothing runs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// It came into no cluster.
    #[error(transparent)]
    Peer(#[from] ostrakon_peers::StartError),
    /// Its log cannot be opened.
    #[error(transparent)]
    Log(#[from] ostrakon_raft::StartError),
    /// It was to be the first of a cluster, and could not be.
    #[error(transparent)]
    Form(#[from] ostrakon_raft::FormError),
    /// It was to be the first of a cluster that takes several, and the others did not come. They may be members of another one by now: if this peer
    /// is started again, it finds that.
    #[error(
        "this peer was to form a cluster, and {there} of {least} peers came within {within:?}: start it again"
    )]
    TooFew {
        /// How many are there, itself included.
        there: usize,
        /// How many it takes.
        least: usize,
        /// How long it has waited.
        within: Duration,
    },
    /// Its name cannot be used.
    #[error(transparent)]
    Manager(#[from] ostrakon_manager::StartError),
    /// What it says about itself is too much to be gossiped.
    #[error(transparent)]
    Profile(#[from] ostrakon_core::InvalidProfile),
    /// It has stopped meanwhile.
    #[error("the peer has stopped while it started")]
    Stopped,
}
