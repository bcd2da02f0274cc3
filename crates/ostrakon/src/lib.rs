//! Entity sharding for Rust: millions of stateful entities, each with at most one live copy, each a method call away.
//!
#![doc = include_str!("../../../README.md")]

mod actors;
mod apart;
mod builder;
mod chain;
mod clock;
mod codec;
mod context;
mod dead_letters;
mod entity;
mod entity_ref;
mod error;
mod host;
mod hosting;
mod lease;
mod link;
mod lock;
mod managed;
mod methods;
mod node;
#[cfg(feature = "peers")]
mod peers;
mod plane;
mod receptionist;
mod reply;
mod schema;
mod spans;
mod stage;
mod stream;
#[doc(hidden)]
pub mod testing;
mod timekeeper;
mod topic;
mod topology;
mod trace;
mod watchdog;
mod wire;

pub use actors::{Lookup, LookupError, SpawnError};
pub use builder::{NodeBuilder, StartError};
pub use chain::CallChain;
pub use codec::{Codec, CodecError};
pub use context::Context;
pub use dead_letters::{DeadLetter, DeadLetterSubscription, DeadReason};
pub use entity::{Cause, Entity, Failure, Payload};
pub use entity_ref::EntityRef;
pub use error::{AskError, Outcome, StreamError, TellError};
pub use host::timers::Timer;
pub use hosting::Hosting;
pub use link::Limits;
pub use managed::Managed;
pub use methods::{MethodCaller, MethodList, Methods};
pub use node::{LeaveError, Location, Node};
pub use ostrakon_core::{
    CustomHash, EntityId, EntityKind, Epoch, GroupName, Incarnation, InvalidId, InvalidShardCount,
    LeaseTiming, NodeName, Placement, Rate, ShardCount, ShardGroup, ShardHash, ShardId,
    ShardOutOfRange,
};
#[cfg(feature = "peers")]
pub use ostrakon_council::{PassError, PeerDesk, Quorum, Seeds};
pub use ostrakon_macros::entity;
pub use ostrakon_tls::{Security, Unfit};
#[cfg(feature = "peers")]
pub use peers::Peers;
pub use receptionist::{Listing, Receptionist};
pub use reply::{Answered, Reply};
pub use spans::{AlreadyBridged, SpanBridge, bridge_spans};
pub use stream::{ConsumerGone, EntityStream, ResumingStream, StreamReply};
pub use topic::Topic;
pub use topology::{Member, MemberStatus, TopologySnapshot, TopologySubscription};
pub use trace::{InvalidTraceContext, TraceContext};
pub use watchdog::Strictness;

/// The book in `docs/`: its snippets are examples like any other.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/concepts.md")]
    mod concepts {}
    #[doc = include_str!("../../../docs/faq.md")]
    mod faq {}
    #[doc = include_str!("../../../docs/from-akka-pekko.md")]
    mod from_akka_pekko {}
    #[doc = include_str!("../../../docs/from-casty.md")]
    mod from_casty {}
    #[doc = include_str!("../../../docs/from-orleans.md")]
    mod from_orleans {}
    #[doc = include_str!("../../../docs/from-shardcake.md")]
    mod from_shardcake {}
    #[doc = include_str!("../../../docs/managed.md")]
    mod managed {}
    #[cfg(feature = "peers")]
    #[doc = include_str!("../../../docs/peer.md")]
    mod peer {}
    #[doc = include_str!("../../../docs/start-managed.md")]
    mod start_managed {}
    #[cfg(feature = "peers")]
    #[doc = include_str!("../../../docs/start-peer.md")]
    mod start_peer {}
    #[doc = include_str!("../../../docs/start-solo.md")]
    mod start_solo {}
}

/// What generated code needs. Not for people.
#[doc(hidden)]
pub mod generated {
    pub use serde;

    /// Asks for a future that is `Send` where it is made, so that one that is not is reported there.
    pub fn sendable<F: Future + Send>(future: F) -> impl Future<Output = F::Output> + Send {
        future
    }
}
