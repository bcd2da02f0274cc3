//! `Peers`: how a node takes part in a cluster that its nodes look after themselves.

mod client_seeds;

use std::{path::PathBuf, sync::Arc, time::Duration};

use ostrakon_control::Seat;
use ostrakon_core::{
    Failover, GroupName, InvalidProfile, LeaseTiming, NodeVersion, Placement, Policy, Profile,
    Rate, RoleName,
};
use ostrakon_council::{Council, CouncilSettings, PeerSettings, Seeds};
use ostrakon_tls::{Role, Security};

use crate::{
    Limits, StartError,
    link::Hub,
    plane::{Deciders, Membership, Part, part_settings},
    watchdog::Strictness,
};

/// How a node takes part in a cluster without managers.
///
/// ```
/// use ostrakon::{Peers, Seeds};
///
/// let peers = Peers::at("127.0.0.1:25520")
///     .seeds(Seeds::new(["127.0.0.1:25521"]))
///     .cluster("bank");
/// ```
#[must_use = "give it to `NodeBuilder::peer`"]
#[derive(Clone)]
pub struct Peers {
    at: String,
    reached_at: Option<String>,
    seeds: Seeds,
    forms_with: usize,
    data: Option<PathBuf>,
    lease: LeaseTiming,
    placement: Option<Placement>,
    rebalance_every: Option<Duration>,
    rebalance_rate: Option<Rate>,
    pub(crate) part: Part,
}

impl Peers {
    /// Takes part; its peers reach it at this address, `host:port`. Port 0 is any that is free.
    pub fn at(address: impl Into<String>) -> Self {
        let at = address.into();
        let host = at.rsplit_once(':').map_or(&*at, |(host, _)| host);
        let lease = LeaseTiming::fast();
        let part = Part {
            listen: format!("{host}:0"),
            slack: lease.times().slack,
            ..Part::default()
        };
        Self {
            at,
            reached_at: None,
            seeds: Seeds::none(),
            forms_with: 1,
            data: None,
            lease,
            placement: None,
            rebalance_every: None,
            rebalance_rate: None,
            part,
        }
    }

    /// Whom to ask first: some peers that will be there. Without any, the node forms a cluster of its own, unless that takes
    /// [several](Self::forms_with).
    pub fn seeds(mut self, seeds: impl Into<Seeds>) -> Self {
        self.seeds = seeds.into();
        self
    }

    /// A cluster is formed only when so many nodes are there, this one and witnesses included; until then they wait, and the log says for whom. With more
    /// than half of those that start together, such as 2 of 3 or 3 of 5, they never form two clusters, whatever each of them is told about the others; so
    /// this is what seeds need that are one name for all. All nodes should say the same.
    ///
    /// One unless told otherwise: a node that starts alone then runs at once, on a developer's machine and in a test, and with seeds that are addresses
    /// nodes find each other without it. A cluster that is there already is joined by one at a time, whatever this says.
    ///
    /// ```
    /// use ostrakon::{Peers, Seeds};
    ///
    /// let peers = Peers::at("10.0.0.1:25520")
    ///     .seeds(Seeds::new(["nodes.bank.svc.cluster.local:25520"]))
    ///     .forms_with(2);
    /// ```
    pub fn forms_with(mut self, least: usize) -> Self {
        self.forms_with = least;
        self
    }

    /// What to tell peers to dial, where it is not the address that was given: a host name, or a port that is forwarded.
    pub fn reached_at(mut self, address: impl Into<String>) -> Self {
        self.reached_at = Some(address.into());
        self
    }

    /// Where this node keeps its part of the log that says who owns what. Without it, it is gone with the process: if most of those that vote end at
    /// once, all nodes have to be started again.
    pub fn data(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data = Some(directory.into());
        self
    }

    /// For how long a node goes on that hears nothing of the others, and for how long they wait; [`LeaseTiming::fast`] unless told
    /// otherwise. All nodes should say the same.
    pub fn lease(mut self, lease: LeaseTiming) -> Self {
        self.lease = lease;
        self
    }

    /// When shards get owners: [when somebody first wants one](Placement::AtFirstAccess) unless told otherwise. All nodes should say the
    /// same.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = Some(placement);
        self
    }

    /// How often shards are moved for the sake of balance; every five seconds unless told otherwise. All nodes should say the same.
    pub fn rebalance_every(mut self, pause: Duration) -> Self {
        self.rebalance_every = Some(pause);
        self
    }

    /// How much of a group a node may receive each time; [as much as balance asks for](Rate::ALL) unless told otherwise. All nodes should say
    /// the same.
    pub fn rebalance_rate(mut self, rate: Rate) -> Self {
        self.rebalance_rate = Some(rate);
        self
    }

    part_settings!();

    pub(crate) async fn join(self, hub: &Arc<Hub>, seat: Seat) -> Result<Membership, StartError> {
        let (addresses, council) = match seat {
            Seat::Client => (client_seeds::follow(self.seeds.clone()).await, None),
            Seat::Node => {
                let council = self.council(hub).await?;
                (council.deciders(), Some(council))
            }
        };
        let deciders = Deciders {
            addresses,
            role: Role::Node,
            storage: None,
            gossip: council.as_ref().map(Council::topology),
        };
        let mut membership = self.part.join(hub, seat, deciders).await?;
        membership.council = council;
        Ok(membership)
    }

    /// What the node says about itself to all others.
    fn profile(&self) -> Result<Profile, StartError> {
        let roles: Result<Vec<_>, _> = self.part.roles.iter().map(RoleName::new).collect();
        let too_much = |error: InvalidProfile| StartError::NoCluster {
            reason: error.to_string(),
        };
        let profile = Profile::default().with_weight(self.part.weight);
        let profile = profile.with_roles(roles?).map_err(too_much)?;
        profile
            .with_version(self.part.version.clone())
            .map_err(too_much)
    }

    async fn council(&self, hub: &Hub) -> Result<Council, StartError> {
        if self.rebalance_every.is_some_and(|pause| pause.is_zero()) {
            let reason = "shards cannot be moved without a pause: set rebalance_every to a second or \
                          more, or rebalance_rate to zero";
            let reason = reason.to_owned();
            return Err(StartError::NoCluster { reason });
        }
        let (part, name) = (&self.part, hub.me.name.as_str());
        let peer = PeerSettings {
            advertise: self.reached_at.clone(),
            forms_with: self.forms_with,
            join_within: part.join_within,
            profile: self.profile()?,
            ..PeerSettings::new(&part.cluster, name, &self.at)
        };
        let peer = peer
            .seeds(self.seeds.clone())
            .security(part.security.clone());
        let mut settings = CouncilSettings::new(peer);
        settings.data = self.data.clone();
        let usual = settings.policy;
        settings.policy = Policy {
            failover: Failover::Lease(self.lease),
            placement: self.placement.unwrap_or(usual.placement),
            rebalance_every: self.rebalance_every.unwrap_or(usual.rebalance_every),
            rebalance_rate: self.rebalance_rate.unwrap_or(usual.rebalance_rate),
            ..usual
        };
        let council = Council::start(settings).await;
        council.map_err(|error| StartError::NoCluster {
            reason: explained(&error),
        })
    }
}

/// An error with all that caused it, on one line.
fn explained(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
