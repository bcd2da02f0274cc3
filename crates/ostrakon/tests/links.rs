//! Several nodes in one process, connected by real sockets: what the wire between them promises.

#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in tests, but not in their helpers"
)]

#[path = "links/bad_input.rs"]
mod bad_input;
#[path = "links/chaos.rs"]
mod chaos;
#[path = "links/cluster.rs"]
mod cluster;
#[path = "links/connections.rs"]
mod connections;
#[path = "links/handshakes.rs"]
mod handshakes;
#[path = "links/ledger.rs"]
mod ledger;
#[path = "links/messages.rs"]
mod messages;
#[path = "links/moves.rs"]
mod moves;
#[path = "links/panics.rs"]
mod panics;
#[path = "links/receptionist.rs"]
mod receptionist;
#[path = "links/resuming.rs"]
mod resuming;
#[path = "links/streams.rs"]
mod streams;
#[path = "links/tls.rs"]
mod tls;
#[path = "links/topics.rs"]
mod topics;
