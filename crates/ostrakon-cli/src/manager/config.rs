//! `Config`: how a manager runs, all of it decided and fitting together.
//!
//! Every value is either what somebody set or its default, and what makes no sense is refused with the name of the key. Files and
//! servers are not looked at here: a configuration can be printed on a machine where it does not run.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, bail, ensure};
use ostrakon_core::{
    Failover, LeaseTimes, LeaseTiming, NodeName, Placement, Policy, Rate, Rebalancing,
};
use ostrakon_health::{Auto, Health, Ping, Process};
use ostrakon_manager::{ManagerSettings, OtherRules};
use ostrakon_storage::StorageSettings;
use ostrakon_tls::{Files, Identity, Role, Security};

use super::{
    choices::{Placing, Profile, Rule, Witness},
    keys::Keys,
    lease_keys::LeaseKeys,
};
use crate::{serving::check_address, span::Span};

/// A probe is given up after this time, whatever a ping would wait for.
const LONGEST_PING: Span = Span::seconds(5);
/// Managers look once a second whether another leads; less than two looks prove nothing.
const LEAST_PATIENCE: Span = Span::seconds(2);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) name: String,
    pub(crate) cluster: String,
    pub(crate) listen: String,
    pub(crate) data_dir: PathBuf,
    pub(crate) storage: String,
    pub(crate) storage_deadline: Span,
    pub(crate) storage_accept_loss: bool,
    pub(crate) rebalance_interval: Span,
    pub(crate) rebalance_rate: Rate,
    pub(crate) most_moving: u16,
    pub(crate) placement: Placing,
    pub(crate) failover: Failover,
    pub(crate) health: Witness,
    pub(crate) ping_timeout: Span,
    pub(crate) takeover_patience: Span,
    pub(crate) connections: usize,
    pub(crate) log: String,
    pub(crate) tls: Option<Files>,
    pub(crate) admin_listen: String,
    pub(crate) admin_token_file: Option<PathBuf>,
}

impl Config {
    /// Fills in what is not set, and refuses what does not fit.
    pub(crate) fn new(keys: Keys) -> anyhow::Result<Self> {
        let name = keys.name.unwrap_or_else(|| "manager".to_owned());
        let data_dir = keys
            .data_dir
            .unwrap_or_else(|| PathBuf::from("ostrakon-data"));
        let storage = keys
            .storage
            .unwrap_or_else(|| format!("file:{}", data_dir.join("ostrakon.redb").display()));
        let config = Self {
            cluster: keys.cluster.unwrap_or_else(|| "ostrakon".to_owned()),
            listen: address("listen", keys.listen, "127.0.0.1:9470")?,
            storage,
            data_dir,
            storage_deadline: keys.storage_deadline.unwrap_or(Span::seconds(3)),
            storage_accept_loss: keys.storage_accept_loss.unwrap_or(false),
            rebalance_interval: keys.rebalance_interval.unwrap_or(Span::seconds(20)),
            rebalance_rate: rate(keys.rebalance_rate)?,
            most_moving: keys.most_moving.unwrap_or(8),
            placement: keys.placement.unwrap_or(Placing::AtOnce),
            failover: failover(keys.failover.unwrap_or(Rule::Proof), &keys.lease)?,
            health: keys.health.unwrap_or(Witness::Auto),
            ping_timeout: keys.ping_timeout.unwrap_or(Span::seconds(3)),
            takeover_patience: keys.takeover_patience.unwrap_or(Span::seconds(3)),
            connections: keys.connections.unwrap_or(10_000),
            log: keys.log.unwrap_or_else(|| "info".to_owned()),
            tls: keys.tls.files(&name)?,
            admin_listen: address("admin.listen", keys.admin.listen, "127.0.0.1:9471")?,
            admin_token_file: keys.admin.token_file,
            name,
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> anyhow::Result<()> {
        NodeName::new(&self.name).context("name")?;
        Identity::new(&self.cluster, Role::Manager, &self.name).context("cluster")?;
        ensure!(
            self.most_moving > 0,
            "most_moving: 0 would keep every shard where it is: choose at least 1, or freeze rebalancing"
        );
        ensure!(
            self.connections > 0,
            "connections: nobody could connect: choose at least 1"
        );
        ensure!(
            self.ping_timeout <= LONGEST_PING,
            "ping_timeout: {} is too long, for a probe ends after {LONGEST_PING} in any case",
            self.ping_timeout
        );
        ensure!(
            self.takeover_patience >= LEAST_PATIENCE,
            "takeover_patience: {} is too short, for managers give a sign every second: choose at least {LEAST_PATIENCE}",
            self.takeover_patience
        );
        ensure!(
            self.listen != self.admin_listen || self.listen.ends_with(":0"),
            "admin.listen: nodes connect to {} already: choose another port",
            self.listen
        );
        self.log
            .parse::<tracing_subscriber::filter::Targets>()
            .context("log")?;
        Ok(())
    }

    /// The same for the manager itself. Certificates are read now.
    pub(crate) fn settings(&self) -> anyhow::Result<ManagerSettings> {
        Ok(ManagerSettings {
            name: self.name.clone(),
            cluster: self.cluster.clone(),
            listen: self.listen.clone(),
            storage: self.storage.clone(),
            storage_settings: StorageSettings {
                deadline: self.storage_deadline.0,
                accept_loss: self.storage_accept_loss,
                ..StorageSettings::default()
            },
            other_rules: OtherRules::Replace,
            policy: Policy {
                failover: self.failover,
                placement: match self.placement {
                    Placing::AtOnce => Placement::AtOnce,
                    Placing::AtFirstAccess => Placement::AtFirstAccess,
                },
                rebalance_every: self.rebalance_interval.0,
                rebalance_rate: self.rebalance_rate,
                most_moving: self.most_moving,
                // Operators freeze it; settings do not.
                rebalancing: Rebalancing::On,
            },
            security: self.security()?,
            health: self.health(),
            patience: self.takeover_patience.0,
            connections: self.connections,
        })
    }

    fn security(&self) -> anyhow::Result<Security> {
        match &self.tls {
            Some(files) => Security::tls(files.clone()).context("tls"),
            None => Ok(Security::plaintext()),
        }
    }

    fn health(&self) -> Arc<dyn Health> {
        let ping = || Ping::new(self.ping_timeout.0);
        match self.health {
            Witness::Auto => Arc::new(Auto::new(ping())),
            Witness::Process => Arc::new(Process::new()),
            // The API of the platform is asked for when the manager starts; until then nothing is known.
            Witness::Ping | Witness::Kubernetes => Arc::new(ping()),
        }
    }
}

fn address(key: &str, set: Option<String>, default: &str) -> anyhow::Result<String> {
    let Some(address) = set else {
        return Ok(default.to_owned());
    };
    check_address(key, &address, default)?;
    Ok(address)
}

fn rate(set: Option<f64>) -> anyhow::Result<Rate> {
    match set {
        Some(rate) => Rate::new(rate).context("rebalance_rate"),
        None => Ok(Rate::default()),
    }
}

fn failover(rule: Rule, lease: &LeaseKeys) -> anyhow::Result<Failover> {
    match rule {
        Rule::Lease => Ok(Failover::Lease(timing(lease)?)),
        Rule::Proof if *lease == LeaseKeys::default() => Ok(Failover::Proof),
        Rule::Proof => bail!(
            "lease: there are no leases with failover = \"proof\": set failover = \"lease\", or leave [lease] out"
        ),
    }
}

fn timing(lease: &LeaseKeys) -> anyhow::Result<LeaseTiming> {
    let profile = match lease.profile.unwrap_or(Profile::Default) {
        Profile::Fast => LeaseTiming::fast(),
        Profile::Default => LeaseTiming::default(),
        Profile::SingleManager => LeaseTiming::single_manager(),
    };
    let profile = profile.times();
    let time = |set: Option<Span>, default: Duration| set.map_or(default, |span| span.0);
    let times = LeaseTimes {
        renew: time(lease.renew, profile.renew),
        hold: time(lease.hold, profile.hold),
        slack: time(lease.slack, profile.slack),
        wait: time(lease.wait, profile.wait),
        drift_permille: lease.drift_permille.unwrap_or(profile.drift_permille),
    };
    LeaseTiming::new(times).context("lease")
}

#[cfg(test)]
mod tests;
