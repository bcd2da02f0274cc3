//! `TopologyMember`: what one node knows of another, and which of two such records wins.
//!
//! ```text
//!            joined            leaves            gone, or silent          long ago
//! Joining ───────────▶ Up ───────────▶ Leaving ───────────▶ Down ───────────▶ Removed ──▶ forgotten
//!                       │                                    ▲
//!                       └──────────── silent ────────────────┘     (its own node answers with a higher generation)
//! ```
//!
//! Only its own node moves a record to a higher [`Generation`]; others can only make the present one worse, by accusing it
//! or by a later status. [`TopologyMember::merge`] is therefore a least upper bound: commutative, associative and idempotent, so
//! that records may arrive late, twice, or in any order.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Address, Profile};
use crate::NodeName;

/// What one node knows of another. Advisory: it never says who owns a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyMember {
    /// What operators call it.
    pub name: NodeName,
    /// Where it is reached.
    pub address: Address,
    /// How recently its own node has spoken.
    pub generation: Generation,
    /// How it is.
    pub status: TopologyStatus,
    /// Who has found it silent in this generation, in order; at most [`MAX_ACCUSERS`](Self::MAX_ACCUSERS).
    pub accusers: Vec<NodeName>,
    /// What it says about itself.
    pub profile: Profile,
}

impl TopologyMember {
    /// How many accusers are remembered. More than are needed add nothing.
    pub const MAX_ACCUSERS: usize = 5;

    /// A node that is about to join.
    pub(super) const fn joining(
        name: NodeName,
        address: Address,
        run: u64,
        profile: Profile,
    ) -> Self {
        Self {
            name,
            address,
            generation: Generation { run, revision: 0 },
            status: TopologyStatus::Joining,
            accusers: Vec::new(),
            profile,
        }
    }

    /// Learns what `other` knows of the same node: the higher generation wins; within one, the more severe status, and all
    /// accusers.
    pub fn merge(&mut self, other: &Self) {
        if other.generation > self.generation {
            self.clone_from(other);
        }
        if other.generation < self.generation {
            return;
        }
        self.status = self.status.max(other.status);
        for accuser in &other.accusers {
            self.accuse(accuser);
        }
        // One generation has one content, as only its own node writes it. Were two nodes to share a name and a run, everyone
        // would still keep the same of the two.
        if (&other.address, other.profile.rank()) > (&self.address, self.profile.rank()) {
            self.address.clone_from(&other.address);
            self.profile.clone_from(&other.profile);
        }
    }

    /// Whether it is spoken to: neither down nor removed.
    pub fn is_live(&self) -> bool {
        self.status < TopologyStatus::Down
    }

    pub(super) fn is_accused_by(&self, name: &NodeName) -> bool {
        self.accusers.binary_search(name).is_ok()
    }

    /// Keeps the first few in order, which is the same few in whatever order they come.
    pub(super) fn accuse(&mut self, accuser: &NodeName) {
        if let Err(at) = self.accusers.binary_search(accuser) {
            self.accusers.insert(at, accuser.clone());
            self.accusers.truncate(Self::MAX_ACCUSERS);
        }
    }

    /// About how long it is when encoded.
    pub(super) fn encoded_len(&self) -> usize {
        let accusers: usize = self
            .accusers
            .iter()
            .map(|name| name.as_str().len() + 1)
            .sum();
        let texts = self.name.as_str().len() + self.address.as_str().len();
        texts + accusers + self.profile.encoded_len() + 20
    }
}

/// How a member is. The later in this list, the more severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TopologyStatus {
    /// Was let in, and has not yet spoken as a member.
    Joining,
    /// Takes part.
    Up,
    /// Is about to go, by its own will.
    Leaving,
    /// Was found silent by enough others. A suspicion, however strong: it neither ends nor grants an ownership.
    Down,
    /// Is gone. Remembered for a while, so that old gossip does not bring it back.
    Removed,
}

impl fmt::Display for TopologyStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Joining => "joining",
            Self::Up => "up",
            Self::Leaving => "leaving",
            Self::Down => "down",
            Self::Removed => "removed",
        })
    }
}

/// How recently a node has spoken for itself: which run of it, and the how manieth word of that run.
///
/// Not the [`Incarnation`](crate::Incarnation) that owns shards, which the control log gives out: this one the node raises
/// itself, to change its record or to refute an accusation, and nothing but gossip goes by it. Prints as `3.7`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Generation {
    /// Which run of the node. Each start has a higher one.
    pub run: u64,
    /// Which word of that run.
    pub revision: u64,
}

impl Generation {
    /// The next word of the same run.
    #[must_use]
    pub const fn next_revision(self) -> Self {
        Self {
            run: self.run,
            revision: self.revision.saturating_add(1),
        }
    }

    /// The first word of the run after this.
    #[must_use]
    pub const fn next_run(self) -> Self {
        Self {
            run: self.run.saturating_add(1),
            revision: 0,
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.run, self.revision)
    }
}
