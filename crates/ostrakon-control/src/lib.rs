//! The conversation between nodes and managers, and between peers.
//!
//! A node keeps one connection to each manager it knows and says the same to all of them; the one that leads answers, and every one
//! of them passes on the log. What is said is [`FromNode`] and [`FromManager`]; what it means is decided in `ostrakon-core`, on
//! both sides. Peers say [`PeerWords`] to each other. Here is only how it travels: a greeting in which both say who they are ([`dial`],
//! [`greet`], [`PeerHello`]), then frames of bounded size in either direction ([`Conversation`]) until one side falls silent, says
//! something unreadable or goes.

mod conversation;
mod frame;
mod greeting;
mod message;
mod pace;
mod peer_greeting;
mod peer_words;

pub use conversation::{Conversation, Ended, Mouth};
pub use frame::{FrameError, Framed, MOST};
pub use greeting::{Caller, Dialed, GreetingError, Hello, Seat, dial, dial_role, greet};
pub use message::{FromManager, FromNode, HotEntity, HotShard, Vitals, Words};
pub use peer_greeting::{Guest, Peer, PeerHello};
pub use peer_words::PeerWords;
