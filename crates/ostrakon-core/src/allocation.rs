//! Which node gets which shard: an [`Allocator`] looks at one shard group and answers with a [`Plan`].
//!
//! A plan is advice. Nothing changes by making one, so a plan is also the dry run; whoever carries it out decides how
//! many of its moves are under way at once, and checks with the owners. The same view gives the same plan, always.
//!
//! [`Balanced`] gives every shard an owner as soon as it can. [`LeastShards`] waits until somebody asks for the shard.
//! What both do is in `round`.

mod balanced;
mod least_shards;
mod load;
mod node_version;
mod pick;
mod plan;
mod rate;
mod round;
mod versions;
mod view;

#[cfg(test)]
mod cluster;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use balanced::Balanced;
pub use least_shards::LeastShards;
pub use node_version::NodeVersion;
pub use plan::{Move, MoveReason, Plan};
pub use rate::{InvalidRate, Rate};
pub use view::{AllocationView, Holding, NodeView, Stance};

/// A rule for who gets which shard.
pub trait Allocator {
    /// The moves that this rule wants next. Empty when all is well.
    fn plan(&self, view: &AllocationView<'_>) -> Plan;
}
