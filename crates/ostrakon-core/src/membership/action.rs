//! `TopologyInput` and `TopologyAction`: what enters a [`Topology`](super::Topology), and what it wants done.

use std::fmt;

use super::{Address, ClusterId, Profile, TopologyMessage};
use crate::NodeName;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyInput {
    /// Time has passed.
    Tick,
    /// A peer spoke.
    Message {
        /// Where the peer says it is reached: what its link has introduced it as, not the port it happens to call from.
        from: Address,
        /// What it said.
        message: TopologyMessage,
    },
    /// A message could not be delivered.
    Unreachable {
        /// To whom.
        address: Address,
        /// Why.
        failure: ConnectFailure,
    },
    /// These are the seeds from now on: their names have been looked up anew.
    Seeds(Vec<Address>),
    /// This node says something else about itself from now on.
    Describe(Profile),
    /// This node is to leave its cluster.
    Leave,
}

/// Why a peer could not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectFailure {
    /// Its machine answered that nothing listens there.
    Refused,
    /// Nothing answered, or the connection broke.
    NoAnswer,
    /// The one who answered was this node itself, under another address.
    Myself,
}

/// What is to be done, or was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyAction {
    /// Send this; it need not arrive.
    Send {
        /// Where to.
        to: Address,
        /// What.
        message: TopologyMessage,
    },
    /// The members are not what they were: take a new [`snapshot`](super::Topology::snapshot).
    Changed {
        /// Of the new snapshot.
        version: u64,
    },
    /// This node has formed a cluster, and is its first member.
    Formed {
        /// Its id.
        cluster: ClusterId,
    },
    /// This node has been let into a cluster.
    Joined {
        /// Its id.
        cluster: ClusterId,
        /// By whom.
        via: NodeName,
    },
    /// This node has left, and says nothing more.
    Left,
    /// A later run under this node's name has taken its place: this one says nothing more and must end.
    Replaced {
        /// Where the other is.
        by: Address,
    },
    /// Another cluster is within reach: two were formed apart. They never merge by themselves, because each has an owner of
    /// every shard; both go on. Somebody must restart the nodes of one of them, by convention of the one with the lesser
    /// id, with seeds in the other. Said once for each foreign cluster.
    TwoClusters {
        /// The cluster of this node.
        ours: ClusterId,
        /// The other.
        theirs: ClusterId,
        /// A member of it.
        at: Address,
    },
    /// Something that was said was not taken into account.
    Rejected {
        /// Who said it.
        from: Address,
        /// Why.
        reason: TopologyRejection,
    },
}

/// Why something was not taken into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TopologyRejection {
    /// It comes from a member of another cluster.
    ForeignCluster(ClusterId),
    /// It makes no sense between these two nodes at this moment: it was late, or is a mistake.
    Unexpected,
    /// There would be more members than this node is allowed to know.
    TooManyMembers,
    /// The cluster has as many members as it may have.
    ClusterFull,
}

impl fmt::Display for TopologyInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tick => f.write_str("tick"),
            Self::Message { from, message } => write!(f, "{from} says {}", message.kind()),
            Self::Unreachable { address, failure } => {
                write!(f, "{address} unreachable: {failure:?}")
            }
            Self::Seeds(seeds) => write!(f, "seeds {seeds:?}"),
            Self::Describe(profile) => write!(f, "describe {profile:?}"),
            Self::Leave => f.write_str("leave"),
        }
    }
}

impl fmt::Display for TopologyAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, message } => write!(f, "tell {to} {}", message.kind()),
            Self::Changed { version } => write!(f, "members changed, version {version}"),
            Self::Formed { cluster } => write!(f, "formed cluster {cluster}"),
            Self::Joined { cluster, via } => write!(f, "joined cluster {cluster} via {via}"),
            Self::Left => f.write_str("left"),
            Self::Replaced { by } => write!(f, "replaced by a later run at {by}"),
            Self::TwoClusters { ours, theirs, at } => {
                write!(
                    f,
                    "two clusters: we are {ours}, and {at} belongs to {theirs}"
                )
            }
            Self::Rejected { from, reason } => write!(f, "rejected what {from} said: {reason:?}"),
        }
    }
}
