//! Who is a member and who owns which shard, as one ordered log has made it.
//!
//! [`ControlState`] is changed by [`Entry`]s only, each at its [`Index`](crate::Index); the same entries give the same state everywhere.
//! There is no time in it: when something may be proposed is the business of the [`Coordinator`](crate::Coordinator), and whether it is
//! still right is judged here, where it is applied. Invariants: a shard has at most one owner; its epochs only grow; nothing is taken
//! from an owner that has not released it and whose incarnation has not ended.

mod change;
mod command;
mod group_state;
mod member;
mod ownership;
mod policy;
mod snapshot;
mod state;

pub use change::{Applied, Change, Refusal};
pub use command::{Command, DeathProof, Entry, Granting, GroupSpec, Handover, Moving};
pub use group_state::GroupState;
pub use member::{Member, MemberState, Registration};
pub use ownership::Ownership;
pub use policy::{Failover, Placement, Policy};
pub use snapshot::{Snapshot, UnknownFormat};
pub use state::ControlState;
