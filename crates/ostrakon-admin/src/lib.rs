//! The admin API of a Shard Manager, or of a peer: JSON over HTTP, for operators and their tools.
//!
//! ```text
//!   GET  /                                                       the dashboard, for browsers
//!   GET  /v1/status  /v1/nodes  /v1/shards  /v1/assignments      what is
//!   GET  /v1/load                                                what the nodes are doing, for people to look at
//!   GET  /v1/events  /v1/events/stream  /v1/explain              what has happened, and why
//!   POST /v1/nodes/{name}/drain  /v1/rebalance  …                what shall be
//! ```
//!
//! Everybody who can connect may look: on loopback addresses that is everybody on the host, and elsewhere it takes a certificate of the
//! cluster. Only who has the admin token, or the certificate of an admin, may change things. `/openapi.json` describes all of it.
//!
//! Nothing is decided here: what operators want goes to the manager's [`Desk`](ostrakon_manager::Desk), or to a peer's
//! [`PeerDesk`](ostrakon_council::PeerDesk), and what they see is its [`View`](ostrakon_manager::View).

mod admin;
mod asked;
mod assignments;
mod changes;
mod cursor;
mod dashboard;
mod events;
mod explanation;
mod front;
mod guard;
mod load;
mod node;
mod office;
mod planned_round;
mod probes;
mod problem;
mod routes;
mod settings;
mod shard;
mod status;

pub use admin::{Admin, AdminError};
pub use assignments::{Assignments, GroupAssignments};
pub use changes::{DeathNotice, TakenUp};
pub use events::EventPage;
pub use explanation::Explanation;
pub use front::Front;
pub use load::{HotEntity, HotShard, Load, NodeLoad};
pub use node::{Node, Nodes};
pub use ostrakon_tls::{InvalidToken, Token};
pub use planned_round::{Planned, PlannedRound};
pub use problem::Problem;
pub use settings::{AdminSettings, Render};
pub use shard::{Shard, ShardState, Shards};
pub use status::{Ahead, Group, Leading, Peers, Silent, Status};

/// The page of the book that needs this crate and others beside it: its snippets are examples like any other.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/observability.md")]
    mod observability {}
}
