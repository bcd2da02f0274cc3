//! One voice does what every storage must do; several agree, whatever is cut between them.
#![expect(clippy::unwrap_used, reason = "these are tests")]

#[path = "raft/cluster.rs"]
mod cluster;
#[path = "raft/conformance.rs"]
mod conformance;
#[path = "raft/failover.rs"]
mod failover;
#[path = "raft/refusals.rs"]
mod refusals;
#[path = "raft/voters.rs"]
mod voters;
