//! `Health`: who knows whether a node is dead.

use std::pin::Pin;

use ostrakon_core::{Liveness, Registration};

/// What a probe returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Finds out whether a node is alive.
pub trait Health: Send + Sync + 'static {
    /// What to call it, in logs and in the status of a manager.
    fn name(&self) -> &str;

    /// What is known about the run of the node that registered so.
    ///
    /// A wrong `Dead` gives the shards of a node away that still acts: two copies of every entity on them. When in doubt, it is `Unknown`.
    /// The answer comes within a deadline, whatever the node, its host and the network between do.
    fn probe<'a>(&'a self, node: &'a Registration) -> BoxFuture<'a, Liveness>;
}
