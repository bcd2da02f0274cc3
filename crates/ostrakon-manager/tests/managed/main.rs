//! Nodes and managers in one process, talking over real connections.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod ahead;
mod bad_input;
mod basics;
mod callers;
mod cluster;
mod first_access;
mod hung;
mod long_log;
mod managers;
mod many_shards;
mod peers;
mod receptionist;
mod shared;
mod tls;
mod vitals;
