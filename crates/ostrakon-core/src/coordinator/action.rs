//! What a coordinator is told, and what it wants done.

use crate::{
    Command, DeathProof, Entry, Incarnation, Index, NodeName, Registration, Snapshot,
    ToCoordinator, ToRegion,
};

/// What has happened.
#[derive(Clone, Debug)]
pub enum CoordinatorInput {
    /// Time has passed.
    Wake,
    /// It shall lead: it was elected, or nobody else seems to.
    Lead,
    /// It shall lead no longer: it is not the one that was elected.
    StandDown,
    /// An entry is in the log. They come in order, whoever wrote them, and to one that leads without being asked for: an append that
    /// ended as unknown may land after the log was read.
    Committed {
        /// Its index.
        index: Index,
        /// The entry.
        entry: Entry,
    },
    /// The log begins with this: what was before is no longer there entry by entry.
    Restored(Box<Snapshot>),
    /// An attempt to append is over. If it succeeded, its entries have been reported as committed before.
    AppendEnded {
        /// Which attempt.
        id: u64,
        /// What came of it.
        outcome: AppendOutcome,
    },
    /// All that was in the log when it was asked for has been reported as committed.
    ReadEnded,
    /// A check of authority is over.
    ConfirmEnded {
        /// Which check.
        id: u64,
        /// What came of it.
        outcome: ConfirmOutcome,
    },
    /// How far a node has counted its lease in the storage.
    Counted {
        /// Which run of it.
        incarnation: Incarnation,
        /// How far.
        counted: Counted,
    },
    /// A node has said something.
    Heard(ToCoordinator),
    /// What is known about a node's health.
    Health {
        /// Which run of it.
        incarnation: Incarnation,
        /// What is known.
        answer: Liveness,
    },
    /// An operator wants something.
    Propose(Command),
    /// Shards shall be balanced now, and not at the next round only.
    Rebalance,
    /// Nothing is to be granted: somebody may own shards of which the log knows nothing.
    HoldBack,
    /// Everything may be granted again that has no owner.
    GoOn,
}

/// How far a node has counted its lease in a storage that it shares with the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Its last renewal.
    pub seq: u64,
    /// The last renewal that it knows to have been counted.
    pub ok_seq: u64,
}

/// What came of an attempt to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The entries are in the log.
    Done,
    /// They are not, because somebody else has written there.
    Conflict,
    /// They are not, because one that they would have expired has counted its lease.
    Renewed,
    /// They are not, because they are more than the storage takes at once.
    TooLarge,
    /// They are not, because the log could not be reached.
    Unavailable,
    /// Nobody knows.
    Unknown,
}

/// What came of a check of authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfirmOutcome {
    /// At some moment since it began, this coordinator led.
    Confirmed,
    /// Somebody else leads.
    Deposed,
    /// Nobody knows.
    Unavailable,
}

/// Whether a node is alive, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is.
    Alive,
    /// It is surely not.
    Dead(DeathProof),
    /// It may or may not be.
    Unknown,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoordinatorAction {
    /// To be appended to the log, right behind `after` or not at all.
    Append {
        /// To be named in the answer.
        id: u64,
        /// The last entry that these were decided on.
        after: Index,
        /// What to append.
        entries: Vec<Entry>,
    },
    /// To report everything in the log that has not been reported.
    Read,
    /// To find out, beginning now, whether this coordinator still leads.
    Confirm {
        /// To be named in the answer.
        id: u64,
    },
    /// To be sent to a node.
    Send {
        /// Which one.
        to: Peer,
        /// What.
        message: ToRegion,
    },
    /// To be sent back to where this run of a node has just spoken from: it is no member.
    SendToRun {
        /// Which run.
        incarnation: Incarnation,
        /// What.
        message: ToRegion,
    },
    /// To find out whether a node is alive.
    Probe {
        /// Which run of it.
        incarnation: Incarnation,
    },
}

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// The node.
    pub name: NodeName,
    /// Where it is reached.
    pub address: String,
}

impl Peer {
    pub(super) fn of(registration: &Registration) -> Self {
        Self {
            name: registration.name.clone(),
            address: registration.address.clone(),
        }
    }
}
