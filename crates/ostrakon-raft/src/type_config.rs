//! `TypeConfig`: what the consensus is built from.
//!
//! Everything that openraft lets one choose and that others see is chosen here, once; the aliases keep its generics out of the other files.

use std::sync::Arc;

use openraft_rt_tokio::TokioRuntime;

use crate::state_machine::StateMachine;
use crate::{Change, Outcome, Voice};

openraft::declare_raft_types!(
    /// Changes of the control log, agreed on by voices with random ids.
    pub(crate) TypeConfig:
        D = Change,
        R = Outcome,
        NodeId = u64,
        Node = Voice,
        AsyncRuntime = TokioRuntime,
);

pub(crate) type Raft = openraft::Raft<TypeConfig, StateMachine>;
pub(crate) type Vote = openraft::alias::VoteOf<TypeConfig>;
pub(crate) type LogId = openraft::alias::LogIdOf<TypeConfig>;
pub(crate) type LogEntry = openraft::alias::EntryOf<TypeConfig>;
pub(crate) type Membership = openraft::alias::StoredMembershipOf<TypeConfig>;
pub(crate) type SnapshotMeta = openraft::alias::SnapshotMetaOf<TypeConfig>;
/// A whole state machine, encoded.
pub(crate) type SnapshotData = Arc<Vec<u8>>;
pub(crate) type Snapshot = openraft::alias::SnapshotOf<TypeConfig, SnapshotData>;
pub(crate) type Metrics = openraft::RaftMetrics<TypeConfig>;
