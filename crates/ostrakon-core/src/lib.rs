//! The pure part of Ostrakon: the names of things, which shard an entity belongs to, and the
//! counters that tell old from new. **Most users want the `ostrakon` crate**, which re-exports what
//! they need from here and runs it.
//!
//! Pure means that everything a decision depends on is an argument or a field:
//!
//! - no clock: [`Time`] is handed in;
//! - no I/O, no threads, no locks, no waiting, no logging;
//! - no randomness, and no collection whose order changes from run to run.
//!
//! The same inputs therefore give the same outputs on every node and in every run, which is what
//! lets nodes agree on a shard without asking each other, and lets a simulation replay a failure.
//! The crate's `clippy.toml` enforces the list; it is not left to good intentions.

mod counters;
mod custom_hash;
mod id;
mod shard_count;
mod shard_group;
mod shard_hash;
mod shard_id;
mod shard_map;
mod time;

pub use counters::{Epoch, Incarnation, Term, Version};
pub use custom_hash::CustomHash;
pub use id::{EntityId, EntityKind, GroupName, InvalidId, NodeName};
pub use shard_count::{InvalidShardCount, ShardCount};
pub use shard_group::ShardGroup;
pub use shard_hash::{ShardHash, ShardOutOfRange, shard_of, stable_hash};
pub use shard_id::ShardId;
pub use shard_map::{Assignment, ShardMap};
pub use time::Time;
