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

mod allocation;
mod control;
mod coordinator;
mod counters;
mod custom_hash;
mod id;
mod lease_timing;
mod membership;
mod phi_accrual;
mod protocol;
mod region;
mod rules;
mod shard_count;
mod shard_group;
mod shard_hash;
mod shard_id;
mod shard_key;
mod shard_map;
mod succession;
mod time;
mod vector_clock;
mod voters;

pub use allocation::{
    AllocationView, Allocator, Balanced, Holding, InvalidRate, LeastShards, Move, MoveReason,
    NodeVersion, NodeView, Plan, Rate, Stance,
};
pub use control::{
    Applied, Change, Command, ControlState, DeathProof, Entry, Failover, Granting, GroupSpec,
    GroupState, Handover, Member, MemberState, Moving, Ownership, Placement, Policy, Refusal,
    Registration, Snapshot, UnknownFormat,
};
pub use coordinator::{
    AppendOutcome, ConfirmOutcome, Coordinator, CoordinatorAction, CoordinatorInput, Counted,
    Liveness, Peer, PlannedMove, Rebalancing,
};
pub use counters::{Epoch, Incarnation, Index, Term, Version};
pub use custom_hash::CustomHash;
pub use id::{EntityId, EntityKind, GroupName, InvalidId, NodeName, RoleName};
pub use lease_timing::{LeaseTimes, LeaseTiming, UnsafeTiming};
pub use membership::{
    Address, ClusterId, ConnectFailure, Forming, Gathering, Generation, InvalidAddress,
    InvalidProfile, InvalidTopologyConfig, Profile, Topology, TopologyAction, TopologyConfig,
    TopologyInput, TopologyMember, TopologyMessage, TopologyRejection, TopologySnapshot,
    TopologyStatus,
};
pub use phi_accrual::{InvalidPhiConfig, PhiAccrual, PhiConfig};
pub use protocol::{Holdings, Order, OwnedShard, ToCoordinator, ToRegion};
pub use region::{Region, RegionAction, RegionInput, Route};
pub use rules::{Rule, Rules};
pub use shard_count::{InvalidShardCount, ShardCount};
pub use shard_group::ShardGroup;
pub use shard_hash::{ShardHash, ShardOutOfRange, shard_of, stable_hash};
pub use shard_id::ShardId;
pub use shard_key::ShardKey;
pub use shard_map::{Assignment, ShardMap};
pub use succession::{Beat, Succession};
pub use time::Time;
pub use vector_clock::{Author, Ordering4, VectorClock};
pub use voters::{VoterCandidate, choose_voters, voters_wanted};
