//! `PeerEvent`: what happens to a peer as a member of its cluster.

use std::fmt;

use ostrakon_core::{Address, ClusterId, NodeName, TopologyRejection};

/// How a peer came into its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entered {
    /// It has formed it, and was alone in it.
    Formed,
    /// It was let in.
    Joined {
        /// By whom.
        via: NodeName,
    },
}

/// What happens to a peer as a member of its cluster. All of it is in the log as well.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerEvent {
    /// It belongs to a cluster now.
    Entered {
        /// Which.
        cluster: ClusterId,
        /// How.
        how: Entered,
    },
    /// It has left.
    Left,
    /// A later run under its name has taken its place: this one must end.
    Replaced {
        /// Where the other is.
        by: Address,
    },
    /// Two clusters were formed apart, and do not merge by themselves: restart the members of one with seeds in the other.
    TwoClusters {
        /// That of this peer.
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

impl fmt::Display for PeerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entered { cluster, how } => match how {
                Entered::Formed => write!(f, "formed cluster {cluster}"),
                Entered::Joined { via } => write!(f, "joined cluster {cluster} via `{via}`"),
            },
            Self::Left => f.write_str("left the cluster"),
            Self::Replaced { by } => write!(
                f,
                "a later run under this name has taken its place at {by}: give each peer a name of its own"
            ),
            Self::TwoClusters { ours, theirs, at } => write!(
                f,
                "two clusters of one name: this is {ours}, and {at} belongs to {theirs}; restart the members of one of them with seeds in the other"
            ),
            Self::Rejected { from, reason } => {
                write!(f, "what {from} said was not taken into account: {reason:?}")
            }
        }
    }
}
