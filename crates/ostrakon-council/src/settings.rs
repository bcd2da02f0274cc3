//! `CouncilSettings`: what a peer is told at its start, and the rules it lays down.

use std::{path::PathBuf, sync::Arc, time::Duration};

use ostrakon_core::{Failover, LeaseTiming, Placement, Policy, Rate};
use ostrakon_health::{Auto, Health};
use ostrakon_peers::PeerSettings;

use crate::badge::Duty;

/// How a peer takes part.
pub struct CouncilSettings {
    /// Who it is, whom it asks first, and how it is reached.
    pub peer: PeerSettings,
    /// The rules of the cluster: whoever leads writes its own into the log, so all peers should have the same. A witness keeps to what it finds
    /// there.
    pub policy: Policy,
    /// Who says whether a silent node is dead.
    pub health: Arc<dyn Health>,
    /// Where its part of the log is kept. Without it, it is gone with the process; and if most of those that vote end at once, so is
    /// the cluster: all have to be started again.
    pub data: Option<PathBuf>,
    /// How often whoever leads is heard of.
    pub heartbeat: Duration,
    /// Another one leads after two and a half to three times this without a word of whoever led.
    pub election: Duration,
    pub(crate) duty: Duty,
}

impl CouncilSettings {
    /// A peer that hosts entities, without a data directory. Nodes have leases, shards get an owner when somebody first wants one, and are moved
    /// for the sake of balance every five seconds.
    pub fn new(peer: PeerSettings) -> Self {
        Self {
            peer,
            policy: Policy {
                failover: Failover::Lease(LeaseTiming::fast()),
                placement: Placement::AtFirstAccess,
                // A newcomer has its share within seconds: moves lose nothing and hold nobody up for long.
                rebalance_every: Duration::from_secs(5),
                rebalance_rate: Rate::ALL,
                ..Policy::default()
            },
            health: Arc::new(Auto::default()),
            data: None,
            heartbeat: Duration::from_millis(150),
            election: Duration::from_millis(400),
            duty: Duty::Host,
        }
    }

    /// One that hosts nothing: it is there for its vote.
    #[must_use]
    pub fn as_witness(mut self) -> Self {
        self.duty = Duty::Witness;
        self
    }
}
