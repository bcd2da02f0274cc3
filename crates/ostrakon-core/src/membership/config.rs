//! `TopologyConfig`: who this node is, whom it asks first, and how often it speaks.
//!
//! A passive list of settings; [`Topology::new`](super::Topology::new) refuses those that cannot work together, with the
//! numbers in the message.

use std::time::Duration;

use super::{Address, Profile};
use crate::{InvalidPhiConfig, NodeName, PhiAccrual, PhiConfig, Time};

/// Who this node is, whom it asks first, and how often it speaks.
#[derive(Clone, Debug)]
pub struct TopologyConfig {
    /// What operators call this node.
    pub name: NodeName,
    /// Where others reach it, written as they write it.
    pub address: Address,
    /// Whom it asks for a cluster. Its own address among them does no harm.
    pub seeds: Vec<Address>,
    /// Which run of the node this is: higher than any before it, for instance the milliseconds since 1970 at its start. A
    /// clock that was set back does no harm as long as the address is the same.
    pub run: u64,
    /// What it says about itself.
    pub profile: Profile,
    /// Decides the random choices. Must differ from node to node, or all choose alike.
    pub seed_value: u64,
    /// When silence is suspicious.
    pub phi: PhiConfig,
    /// How often a few random members are asked whether they know something new.
    pub gossip_every: Duration,
    /// How many.
    pub fanout: usize,
    /// How often the watched neighbours are asked for a sign of life.
    pub heartbeat_every: Duration,
    /// How many neighbours are watched.
    pub watched: usize,
    /// Whether it may form a cluster.
    pub forming: Forming,
    /// How many nodes have to be there to form a cluster, this one included. With more than half of those that will ever look for each other
    /// at once, no two of them form clusters apart, whatever each has been told about the others, if whoever forms one is heard within
    /// `form_after`; so whoever has formed one should wait until so many are members before it is of use. All should say the same.
    pub forms_with: usize,
    /// How long the node that may form a cluster waits for the seeds that neither answer nor refuse; where it takes several to form one, how
    /// long a node is bound to the one that it lets form it.
    pub form_after: Duration,
    /// How long a leaving node waits for those whom it has told to have heard it; twice.
    pub linger: Duration,
    /// How long a member is down before it is removed.
    pub remove_after: Duration,
    /// How long a removed member is remembered. Longer than any message lives, and long enough for a node that was cut off
    /// to have found out by itself who is gone.
    pub forget_after: Duration,
    /// The most members known at once, removed ones included.
    pub max_members: usize,
    /// About how many bytes a message may have; what is longer is split.
    pub max_message: usize,
}

impl TopologyConfig {
    /// The least room for a message: one record of the greatest size must fit.
    pub const MIN_MESSAGE: usize = 4096;

    /// The usual timing, for a node that knows no seeds and so forms a cluster of its own.
    pub fn new(name: NodeName, address: Address, run: u64) -> Self {
        Self {
            seed_value: crate::stable_hash(name.as_str()),
            name,
            address,
            seeds: Vec::new(),
            run,
            profile: Profile::default(),
            phi: PhiConfig::default(),
            gossip_every: Duration::from_secs(1),
            fanout: 3,
            heartbeat_every: Duration::from_millis(500),
            watched: 5,
            forming: Forming::IfLowest,
            forms_with: 1,
            form_after: Duration::from_secs(5),
            linger: Duration::from_secs(3),
            remove_after: Duration::from_secs(120),
            forget_after: Duration::from_secs(900),
            max_members: 4096,
            max_message: 64 * 1024,
        }
    }

    /// With these seeds.
    #[must_use]
    pub fn with_seeds(mut self, seeds: impl IntoIterator<Item = Address>) -> Self {
        self.seeds = seeds.into_iter().collect();
        self
    }

    pub(super) fn check(&self) -> Result<(), InvalidTopologyConfig> {
        PhiAccrual::new(self.phi, Time::ZERO)?;
        for (what, value) in [
            ("gossip_every", self.gossip_every),
            ("heartbeat_every", self.heartbeat_every),
        ] {
            if value < Duration::from_millis(1) {
                return Err(InvalidTopologyConfig::Zero(what));
            }
        }
        for (what, value) in [
            ("fanout", self.fanout),
            ("watched", self.watched),
            ("max_members", self.max_members),
            ("forms_with", self.forms_with),
        ] {
            if value == 0 {
                return Err(InvalidTopologyConfig::Zero(what));
            }
        }
        let counts_for = self.heartbeat_every * 2;
        if self.forms_with > 1 && self.form_after < counts_for * 2 {
            return Err(InvalidTopologyConfig::BoundTooShort {
                form_after: self.form_after,
                heartbeat_every: self.heartbeat_every,
            });
        }
        if self.forget_after < self.remove_after * 4 {
            return Err(InvalidTopologyConfig::ForgetsTooSoon {
                forget_after: self.forget_after,
                remove_after: self.remove_after,
            });
        }
        match self.max_message {
            bytes if bytes < Self::MIN_MESSAGE => {
                Err(InvalidTopologyConfig::MessageTooSmall(bytes))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a node may form a cluster when it finds none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Forming {
    /// If its address is lower than those of all its seeds. Right for seeds, and where every node is one.
    #[default]
    IfLowest,
    /// Never: it waits for its seeds. Right for all others, which may happen to start before the seeds do, and to have lower
    /// addresses.
    Never,
}

/// Settings that cannot work. Nothing was built: correct them and try again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTopologyConfig {
    /// The failure detector refuses its part.
    #[error("the failure detector cannot work so")]
    Phi(#[from] InvalidPhiConfig),
    /// A count of none, or an interval below a millisecond.
    #[error("{0} is zero: it must be at least 1, or 1 ms")]
    Zero(&'static str),
    /// A node that was cut off could bring back a member which the others have removed and forgotten.
    #[error(
        "forget_after is {forget_after:?}: it must be at least four times remove_after, which is {remove_after:?}"
    )]
    ForgetsTooSoon {
        /// How long a removed member would be remembered.
        forget_after: Duration,
        /// How long a member would be down before it is removed.
        remove_after: Duration,
    },
    /// A node that counts on another would not know in time that it does so no longer.
    #[error(
        "form_after is {form_after:?}: where it takes several to form a cluster, it must be at least four times heartbeat_every, which is {heartbeat_every:?}"
    )]
    BoundTooShort {
        /// For how long nodes would be bound.
        form_after: Duration,
        /// How often they would ask each other.
        heartbeat_every: Duration,
    },
    /// Not even one record of the greatest size would fit.
    #[error("max_message is {0} bytes: it must be at least {min}", min = TopologyConfig::MIN_MESSAGE)]
    MessageTooSmall(usize),
}
