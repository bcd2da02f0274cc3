//! Nodes and managers in one process, talking over real connections.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_input;
mod basics;
mod cluster;
mod managers;
mod shared;
mod tls;
