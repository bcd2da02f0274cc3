//! The peers as their own managers.
//!
//! ```text
//!              ┌─────────────── Council, on a thread of its own ────────────────┐
//!   peers ◀──▶ │ Peer ── calls ──▶ RaftLog ── the log ──▶ Manager ◀── callers ──│◀──▶ nodes, clients
//!              │   └── who is there ──▶ recruiting ── who votes ──▶ RaftLog     │
//!              └────────────────────────────────────────────────────────────────┘
//! ```
//!
//! On the peer plane the log that says who owns what is kept by the nodes themselves, and one of them decides: the one that the consensus
//! has elected. Everything else is as it is with managers: the same coordinator over the same kind of log, the same conversation with
//! nodes. A node that hosts entities has a [`Council`] beside it; a witness is nothing else.

mod badge;
mod council;
mod error;
mod founding;
mod mourning;
mod network;
mod parting;
mod passed_on;
mod peer_desk;
mod quorum;
mod recruiting;
mod roster;
mod settings;

pub use council::Council;
pub use error::StartError;
pub use ostrakon_peers::{PeerSettings, Seeds};
pub use peer_desk::{PassError, PeerDesk};
pub use quorum::Quorum;
pub use settings::CouncilSettings;
