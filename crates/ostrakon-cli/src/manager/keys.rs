//! `Keys`: everything that can be set, as far as it is set in one place.
//!
//! The same keys stand in the file, in the environment and among the flags; whatever is set in a later one of these counts. What a key
//! is when it is set nowhere, and whether all of them fit together, is the business of `Config`.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::{
    choices::{Placing, Rule, Witness},
    lease_keys::LeaseKeys,
};
use crate::{
    serving::{AdminKeys, TlsKeys},
    span::Span,
};

#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Keys {
    /// What this manager is called; each has a name of its own
    #[arg(long, value_name = "NAME", env = "OSTRAKON_NAME")]
    pub(crate) name: Option<String>,
    /// The cluster it looks after
    #[arg(long, value_name = "NAME", env = "OSTRAKON_CLUSTER")]
    pub(crate) cluster: Option<String>,
    /// Where nodes connect
    #[arg(long, value_name = "HOST:PORT", env = "OSTRAKON_LISTEN")]
    pub(crate) listen: Option<String>,
    /// The folder for what it keeps itself
    #[arg(long, value_name = "DIR", env = "OSTRAKON_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where the log is: file:PATH, memory:, postgres://…, redis://… or etcd://…
    #[arg(
        long,
        value_name = "URL",
        env = "OSTRAKON_STORAGE",
        hide_env_values = true
    )]
    pub(crate) storage: Option<String>,
    /// How long a call to the storage may take
    #[arg(long, value_name = "TIME", env = "OSTRAKON_STORAGE_DEADLINE")]
    pub(crate) storage_deadline: Option<Span>,
    /// Take a server although it may lose what it has acknowledged
    #[arg(long, value_name = "BOOL", env = "OSTRAKON_STORAGE_ACCEPT_LOSS")]
    pub(crate) storage_accept_loss: Option<bool>,
    /// How often shards are moved for the sake of balance
    #[arg(long, value_name = "TIME", env = "OSTRAKON_REBALANCE_INTERVAL")]
    pub(crate) rebalance_interval: Option<Span>,
    /// How much of a group a node may receive in one round, 0 to 1
    #[arg(long, value_name = "RATE", env = "OSTRAKON_REBALANCE_RATE")]
    pub(crate) rebalance_rate: Option<f64>,
    /// How many shards a node may be giving up at once
    #[arg(long, value_name = "N", env = "OSTRAKON_MOST_MOVING")]
    pub(crate) most_moving: Option<u16>,
    /// When shards get owners
    #[arg(long, value_name = "WHEN", env = "OSTRAKON_PLACEMENT")]
    pub(crate) placement: Option<Placing>,
    /// What must be known before a silent node's shards are given to others
    #[arg(long, value_name = "RULE", env = "OSTRAKON_FAILOVER")]
    pub(crate) failover: Option<Rule>,
    #[command(flatten)]
    pub(crate) lease: LeaseKeys,
    /// Who says whether a silent node is dead
    #[arg(long, value_name = "WHO", env = "OSTRAKON_HEALTH")]
    pub(crate) health: Option<Witness>,
    /// How long a node may take to answer a ping
    #[arg(long, value_name = "TIME", env = "OSTRAKON_PING_TIMEOUT")]
    pub(crate) ping_timeout: Option<Span>,
    /// How long to wait for a sign of the manager that leads before trying to lead
    #[arg(long, value_name = "TIME", env = "OSTRAKON_TAKEOVER_PATIENCE")]
    pub(crate) takeover_patience: Option<Span>,
    /// How many nodes and clients may be connected
    #[arg(long, value_name = "N", env = "OSTRAKON_CONNECTIONS")]
    pub(crate) connections: Option<usize>,
    /// What to log: error, warn, info, debug, trace, or by module as in warn,ostrakon_manager=debug
    #[arg(long, value_name = "LEVELS", env = "OSTRAKON_LOG")]
    pub(crate) log: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsKeys,
    #[command(flatten)]
    pub(crate) admin: AdminKeys,
}

impl Keys {
    /// These, and the others where these say nothing.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            name: self.name.or(other.name),
            cluster: self.cluster.or(other.cluster),
            listen: self.listen.or(other.listen),
            data_dir: self.data_dir.or(other.data_dir),
            storage: self.storage.or(other.storage),
            storage_deadline: self.storage_deadline.or(other.storage_deadline),
            storage_accept_loss: self.storage_accept_loss.or(other.storage_accept_loss),
            rebalance_interval: self.rebalance_interval.or(other.rebalance_interval),
            rebalance_rate: self.rebalance_rate.or(other.rebalance_rate),
            most_moving: self.most_moving.or(other.most_moving),
            placement: self.placement.or(other.placement),
            failover: self.failover.or(other.failover),
            lease: self.lease.or(other.lease),
            health: self.health.or(other.health),
            ping_timeout: self.ping_timeout.or(other.ping_timeout),
            takeover_patience: self.takeover_patience.or(other.takeover_patience),
            connections: self.connections.or(other.connections),
            log: self.log.or(other.log),
            tls: self.tls.or(other.tls),
            admin: self.admin.or(other.admin),
        }
    }
}
