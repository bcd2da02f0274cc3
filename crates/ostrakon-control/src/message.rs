//! What nodes and managers say to each other once they are connected.
//!
//! Whatever is added later gets a new variant: a side that does not know it ends the connection with a reason, and the versions in
//! the greeting keep that from happening.

use ostrakon_core::{Entry, Index, Snapshot, ToCoordinator, ToRegion};
use serde::{Deserialize, Serialize};

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
    /// Is it still there?
    Ping,
}
