//! `PeerSettings`: what a peer is told at its start.

use std::time::Duration;

use ostrakon_core::{Profile, TopologyConfig};
use ostrakon_tls::Security;

use crate::Seeds;

/// What a peer is told at its start.
pub struct PeerSettings {
    /// The name of the cluster. Peers of others are not let in.
    pub cluster: String,
    /// What operators call it. Every peer has another name.
    pub name: String,
    /// Where it listens, `host:port`; port 0 is any that is free.
    pub listen: String,
    /// Where others reach it, `host:port`, if that is not where it listens; port 0 is the one that it listens on.
    pub advertise: Option<String>,
    /// Whom it asks first. The same for all peers, as a rule: itself among them does no harm.
    pub seeds: Seeds,
    /// How many peers have to be there to form a cluster, this one included. With more than half of those that start, they never form two,
    /// whatever each of them is told about the others. The same for all peers.
    pub forms_with: usize,
    /// How connections are protected.
    pub security: Security,
    /// What it says about itself.
    pub profile: Profile,
    /// How long it may take to come into a cluster.
    pub join_within: Duration,
    /// The most connections that others may have to it.
    pub connections: usize,
    /// Changes the usual timing.
    pub tune: Box<dyn FnOnce(&mut TopologyConfig) + Send>,
}

impl PeerSettings {
    /// A peer that asks nobody, in plain text.
    pub fn new(
        cluster: impl Into<String>,
        name: impl Into<String>,
        listen: impl Into<String>,
    ) -> Self {
        Self {
            cluster: cluster.into(),
            name: name.into(),
            listen: listen.into(),
            advertise: None,
            seeds: Seeds::none(),
            forms_with: 1,
            security: Security::plaintext(),
            profile: Profile::default(),
            join_within: Duration::from_secs(30),
            connections: 4096,
            tune: Box::new(|_| {}),
        }
    }

    /// With these seeds.
    #[must_use]
    pub fn seeds(mut self, seeds: impl Into<Seeds>) -> Self {
        self.seeds = seeds.into();
        self
    }

    /// With connections that are protected so.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// With other timing; name, address and seeds stay as they are.
    #[must_use]
    pub fn tuned(mut self, tune: impl FnOnce(&mut TopologyConfig) + Send + 'static) -> Self {
        self.tune = Box::new(tune);
        self
    }
}
