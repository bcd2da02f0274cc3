//! `ManagerSettings`: who a manager is, where it listens, and the rules it lays down.

use std::{sync::Arc, time::Duration};

use ostrakon_core::{Failover, Policy};
use ostrakon_health::{Auto, Health};
use ostrakon_storage::StorageSettings;
use ostrakon_tls::Security;

/// How a manager runs. The rules are those of the cluster: whoever leads writes its own into the log.
#[derive(Clone)]
pub struct ManagerSettings {
    /// What the manager is called; each has a name of its own.
    pub name: String,
    /// The cluster it looks after.
    pub cluster: String,
    /// Where nodes find it.
    pub listen: String,
    /// Where the log is, as [`ostrakon_storage::open`] takes it.
    pub storage: String,
    /// How the log is dealt with.
    pub storage_settings: StorageSettings,
    /// The rules of the cluster.
    pub policy: Policy,
    /// What becomes of other rules that are in the log when it begins to lead.
    pub other_rules: OtherRules,
    /// How connections of nodes are protected.
    pub security: Security,
    /// Who says whether a silent node is dead.
    pub health: Arc<dyn Health>,
    /// How long to wait for a sign of the manager that leads before trying to lead.
    pub patience: Duration,
    /// How many nodes and clients may be connected.
    pub connections: usize,
}

/// What a manager that begins to lead does with rules that are not its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherRules {
    /// Its own take their place.
    Replace,
    /// They stay, for others know better what the cluster needs. Its own are for a log that has none yet.
    Keep,
}

/// A manager on a free loopback port whose log is in memory.
impl Default for ManagerSettings {
    fn default() -> Self {
        Self {
            name: "manager".to_owned(),
            cluster: "ostrakon".to_owned(),
            listen: "127.0.0.1:0".to_owned(),
            storage: "memory:".to_owned(),
            storage_settings: StorageSettings::default(),
            policy: Policy {
                failover: Failover::Proof,
                ..Policy::default()
            },
            other_rules: OtherRules::Replace,
            security: Security::plaintext(),
            health: Arc::new(Auto::default()),
            patience: Duration::from_secs(3),
            connections: 10_000,
        }
    }
}
