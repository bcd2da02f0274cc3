//! The Shard Manager: decides which node owns which shard.
//!
//! ```text
//!   nodes ◀──▶ Switchboard ─▶ ┌────────┐ ─▶ Storage   the log: decided here, true only once it is written there
//!                             │ Engine │ ─▶ Health    is a silent node dead?
//!   operators ──────────────▶ └────────┘ ─▶ View      what has become of it, for everybody to look at
//! ```
//!
//! What is decided, and when it may be acted upon, is the business of `ostrakon-core`'s coordinator; here is what carries it out.
//! Several managers may run on one storage: one leads, the others stand by, follow the log and pass it on to nodes. Two that both
//! believe to lead do no harm: the log takes the word of one of them only.

mod attendant;
mod board;
mod desk;
mod door;
mod engine;
mod event;
mod keeper;
mod leading;
mod manager;
mod settings;
mod switchboard;
mod view;

pub use board::NodeVitals;
pub use desk::{Desk, Wish, WishError};
pub use event::{ClusterEvent, Happening};
pub use manager::{Manager, StartError};
pub use settings::{ManagerSettings, OtherRules};
pub use view::{Ahead, Leader, Silence, View};
