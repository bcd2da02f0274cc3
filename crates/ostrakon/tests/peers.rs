//! Nodes that look after their cluster themselves, in one process, over real connections.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "peers/bank.rs"]
mod bank;
#[path = "peers/burst.rs"]
mod burst;
#[path = "peers/cluster.rs"]
mod cluster;
#[path = "peers/losses.rs"]
mod losses;
