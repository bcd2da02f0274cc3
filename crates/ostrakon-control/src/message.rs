//! What nodes and managers say to each other once they are connected.
//!
//! Whatever is added later gets a new variant: a side that does not know it ends the connection with a reason, and the versions in
//! the greeting keep that from happening: nobody says what is [newer](FromNode::since) than what both speak.

mod vitals;

use ostrakon_core::{Entry, Index, Snapshot, ToCoordinator, ToRegion};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use self::vitals::{HotEntity, HotShard, Vitals};
use crate::frame;

/// What one side says, and how much of it may come.
pub trait Words: DeserializeOwned {
    /// The largest frame, in bytes.
    const MOST: usize;
    /// So many are read each second, one of up to a kibibyte counting as one; `None`: as they come.
    const PER_SECOND: Option<u32>;
}

impl Words for FromNode {
    /// The largest by far is a list of shards that were given up: 100,000 of them fit in.
    const MOST: usize = 8 << 20;
    /// A node has very little to say, except when it gives up thousands of shards.
    const PER_SECOND: Option<u32> = Some(4096);
}

impl Words for FromManager {
    const MOST: usize = frame::MOST;
    const PER_SECOND: Option<u32> = None;
}

/// From a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromNode {
    /// For whoever leads.
    Say(ToCoordinator),
    /// It knows the log up to here and wants to hear the rest, now and from now on.
    Follow {
        /// The last entry that it knows.
        behind: Index,
    },
    /// It is still there.
    Pong,
    /// What it is doing, for people to look at.
    Vitals(Box<Vitals>),
}

impl FromNode {
    /// The first version of the conversation in which this can be said.
    pub fn since(&self) -> u16 {
        match self {
            Self::Say(_) | Self::Follow { .. } | Self::Pong => 1,
            Self::Vitals(_) => 2,
        }
    }
}

/// From a manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromManager {
    /// From whoever leads.
    Say(ToRegion),
    /// A piece of the log.
    Entries {
        /// The entry before the first of these.
        behind: Index,
        /// The entries, without a gap.
        entries: Vec<Entry>,
    },
    /// All that the log has made so far, for a node that is too far behind.
    State(Box<Snapshot>),
    /// Where those are who may decide, on the peer plane: for clients, who are told nothing else about them.
    Deciders(Vec<String>),
    /// Is it still there?
    Ping,
}
