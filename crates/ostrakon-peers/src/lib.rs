//! The control side of a peer: nodes without a manager find each other, see who is there, and ask each other things.
//!
//! ```text
//!            Port ── a caller that is a node or a client ──▶ whoever listens to those (on_caller)
//!             │ another peer
//!             ▼
//!  dials ── Wires ── gossip ──▶ the topology task ──▶ TopologySnapshot, PeerEvent
//!             └───── a call ──▶ whoever answers those (on_call)
//! ```
//!
//! All of it runs on a thread of its own, so that a process whose other threads are busy is not taken for a dead one. What is believed
//! of other peers is decided in `ostrakon-core` ([`Topology`](ostrakon_core::Topology)) and is advisory: nobody owns a shard because of it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ostrakon_peers::{Peer, PeerSettings};
//!
//! let first = Peer::start(PeerSettings::new("bank", "node-1", "127.0.0.1:0")).await?;
//! let seeds = [first.address().to_string()];
//! let second = Peer::start(PeerSettings::new("bank", "node-2", "127.0.0.1:0").seeds(seeds)).await?;
//! assert_eq!(first.cluster(), second.cluster());
//! # Ok(()) }
//! ```

mod call_error;
mod event;
mod found_seeds;
mod hooks;
mod peer;
mod placed;
mod port;
mod seeds;
mod settings;
mod start_error;
mod suspicions;
mod topology_task;
mod wires;

pub use call_error::CallError;
pub use event::{Entered, PeerEvent};
pub use peer::Peer;
pub use seeds::Seeds;
pub use settings::PeerSettings;
pub use start_error::{SeedTried, StartError};
pub use suspicions::Suspicions;
pub use wires::{Traffic, Wires};
