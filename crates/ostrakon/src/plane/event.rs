//! `Event`: what the driver hears of.

use std::collections::BTreeSet;

use ostrakon_control::FromManager;
use ostrakon_core::{Epoch, NodeName, ShardKey, ToRegion};
use ostrakon_storage::Read;

use super::{contact::Address, decider::Decider};
use crate::host::Pulse;

/// What has happened.
pub(crate) enum Event {
    /// A manager can be spoken to.
    Met { contact: Address, decider: Decider },
    /// A manager cannot be spoken to.
    Lost { contact: Address, trouble: String },
    /// A manager is none any more.
    Parted { contact: Address },
    /// A manager has said something.
    Heard {
        contact: Address,
        words: FromManager,
    },
    /// A piece of the log, read from the storage.
    Read(Read),
    /// All of the log in the storage has been read.
    UpToDate,
    /// The storage has answered a renewal.
    Answered(ToRegion),
    /// What lived in a shard has ended.
    Ended { shard: ShardKey, epoch: Epoch },
    /// These are down, as the nodes tell each other.
    Down(BTreeSet<NodeName>),
    /// Another node cannot be reached.
    Unreachable { node: NodeName },
    /// Somebody waits for an entity in this shard, and nobody owns it.
    Wanted { shard: ShardKey },
    /// What the entities of a kind have done lately.
    Pulse(Box<Pulse>),
    /// The node wants to go.
    Leave,
    /// The node is no more.
    Dropped,
}
