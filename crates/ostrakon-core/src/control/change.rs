//! `Change`: what an applied entry has changed, and `Refusal`: why it has not.

use thiserror::Error;

use super::DeathProof;
use crate::{Epoch, GroupName, Incarnation, NodeName, ShardKey, Term};

/// What became of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What it has changed.
    pub changes: Vec<Change>,
    /// What of it came to nothing.
    pub refusals: Vec<Refusal>,
}

/// Something that is different now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Another coordinator leads.
    TookOver {
        /// Who.
        grantor: NodeName,
        /// Which run of it.
        run: u64,
        /// In which term.
        term: Term,
    },
    /// A node has begun.
    Registered {
        /// Which run.
        incarnation: Incarnation,
        /// The number it registered with.
        nonce: u64,
    },
    /// A node wants to go.
    Leaving {
        /// Which run.
        incarnation: Incarnation,
    },
    /// A run of a node is over.
    Ended {
        /// Which run.
        incarnation: Incarnation,
        /// Of which node.
        name: NodeName,
        /// How it is known; `None`: its lease ran out.
        proof: Option<DeathProof>,
    },
    /// An owner shall give its shard up.
    MoveBegan {
        /// Which shard.
        shard: ShardKey,
        /// The owner.
        by: Incarnation,
        /// Which ownership.
        epoch: Epoch,
        /// Who shall have it next.
        to: Option<Incarnation>,
    },
    /// Nobody owns a shard any more.
    Freed {
        /// Which shard.
        shard: ShardKey,
        /// Who owned it.
        by: Incarnation,
        /// Which ownership.
        epoch: Epoch,
    },
    /// A shard has an owner.
    Granted {
        /// Which shard.
        shard: ShardKey,
        /// The owner.
        to: Incarnation,
        /// Which ownership.
        epoch: Epoch,
    },
    /// The rules are others.
    PolicySet,
    /// There is a new group.
    GroupCreated {
        /// Its name.
        group: GroupName,
    },
}

/// Why something in an entry came to nothing. The state is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Somebody else leads.
    #[error("{stale} is over: {term} leads")]
    Deposed {
        /// The term of the entry.
        stale: Term,
        /// The present term.
        term: Term,
    },
    /// There is no such run of a node, or it is over.
    #[error("{incarnation} is not a member")]
    NotAMember {
        /// Which run.
        incarnation: Incarnation,
    },
    /// It said goodbye when it owned nothing, and has been granted something since.
    #[error("{incarnation} said goodbye and still owns shards")]
    StillOwns {
        /// Which run.
        incarnation: Incarnation,
    },
    /// This registration has been made before.
    #[error("the registration was made before, as {incarnation}")]
    Registered {
        /// Which run it began.
        incarnation: Incarnation,
    },
    /// This registration has been made before, and the run it began is over.
    #[error("the run that registered with this number is over: register with another")]
    RunIsOver,
    /// The cluster is as large as it can be.
    #[error("the cluster has {most} nodes, which is the most")]
    TooManyMembers {
        /// The most.
        most: usize,
    },
    /// There is no such group.
    #[error("there is no shard group {group}")]
    NoSuchGroup {
        /// Its name.
        group: GroupName,
    },
    /// The group exists with another count, hash or role.
    #[error("shard group {group} exists as {exists}; it cannot be {wanted}")]
    GroupDiffers {
        /// Its name.
        group: GroupName,
        /// How it was created.
        exists: String,
        /// How it was wanted.
        wanted: String,
    },
    /// There is no such shard.
    #[error("there is no shard {shard}")]
    NoSuchShard {
        /// Which one.
        shard: ShardKey,
    },
    /// The shard is owned, or has been since.
    #[error("{shard} is owned as {epoch}")]
    Owned {
        /// Which shard.
        shard: ShardKey,
        /// Its present ownership.
        epoch: Epoch,
    },
    /// Not this ownership is the present one.
    #[error("{shard} is at {present}, not at {named}")]
    OtherEpoch {
        /// Which shard.
        shard: ShardKey,
        /// The present ownership, or the last.
        present: Epoch,
        /// The named one.
        named: Epoch,
    },
    /// The node takes no shard of this group: it leaves, or does not have the role, or does not know the group.
    #[error("{incarnation} takes no shards of {group}")]
    DoesNotTake {
        /// Which run.
        incarnation: Incarnation,
        /// Which group.
        group: GroupName,
    },
}
