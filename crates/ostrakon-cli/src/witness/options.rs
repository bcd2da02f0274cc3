//! `Options`: the arguments of `ostrakon witness`.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum, value_parser};
use ostrakon_core::{Failover, LeaseTiming, NodeName};
use ostrakon_council::{CouncilSettings, PeerSettings};
use ostrakon_tls::{Identity, Role, Security};
use tracing_subscriber::filter::Targets;

use crate::serving::{AdminKeys, TlsKeys, check_address};

/// The arguments of `ostrakon witness`.
#[derive(Args, Debug)]
#[command(after_help = WHY)]
pub(crate) struct Options {
    /// What it is called; every peer of a cluster has another name
    #[arg(long)]
    pub(crate) name: String,
    /// Where peers reach it; port 0 is any that is free
    #[arg(long, value_name = "HOST:PORT")]
    listen: String,
    /// What to tell peers to dial, where that is not where it listens
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// Where some of the nodes are that it belongs to
    #[arg(long = "seed", value_name = "HOST:PORT", required = true, num_args = 1..)]
    seeds: Vec<String>,
    /// How many peers it takes to form a cluster, itself included: what the nodes say, and never itself alone
    #[arg(long, value_name = "NUMBER", default_value = "2", value_parser = value_parser!(u16).range(2..))]
    forms_with: u16,
    /// The cluster that they are
    #[arg(long, default_value = "ostrakon")]
    pub(crate) cluster: String,
    /// Keep its part of the log in this folder, so that it is the same voter after a restart
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The lease of the nodes, which it lays down when it leads: the same as theirs
    #[arg(long, value_name = "PROFILE", default_value = "fast")]
    lease_profile: Profile,
    /// What to log, and where from: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info,openraft=warn")]
    pub(crate) log: String,
    #[command(flatten)]
    tls: TlsKeys,
    #[command(flatten)]
    pub(crate) admin: AdminKeys,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Profile {
    /// What nodes have unless they say otherwise: for one data centre
    Fast,
    /// For slower or less even networks
    Default,
}

impl Options {
    /// Refuses what makes no sense, before anything is started.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        NodeName::new(&self.name).context("--name")?;
        Identity::new(&self.cluster, Role::Node, &self.name).context("--cluster")?;
        let given = [("--listen", &self.listen)].into_iter();
        let given = given.chain(self.seeds.iter().map(|seed| ("--seed", seed)));
        let given = given.chain(self.advertise.iter().map(|at| ("--advertise", at)));
        let given = given.chain(self.admin.listen.iter().map(|at| ("--admin-listen", at)));
        for (option, address) in given {
            check_address(option, address, "10.0.0.9:25520")?;
        }
        self.log.parse::<Targets>().context("--log")?;
        self.tls.files(&self.name).map(drop)
    }

    pub(crate) fn security(&self) -> anyhow::Result<Security> {
        match self.tls.files(&self.name)? {
            Some(files) => Security::tls(files).context("--tls-dir"),
            None => Ok(Security::plaintext()),
        }
    }

    pub(crate) fn council(&self, security: Security) -> CouncilSettings {
        let peer = PeerSettings {
            advertise: self.advertise.clone(),
            forms_with: self.forms_with.into(),
            ..PeerSettings::new(&self.cluster, &self.name, &self.listen)
        };
        let peer = peer.seeds(self.seeds.clone()).security(security);
        let mut settings = CouncilSettings::new(peer).as_witness();
        settings.data = self.data.clone();
        settings.policy.failover = Failover::Lease(match self.lease_profile {
            Profile::Fast => LeaseTiming::fast(),
            Profile::Default => LeaseTiming::default(),
        });
        settings
    }
}

const WHY: &str = "\
Nodes that look after their cluster themselves agree by majority. Of two nodes there is none without
both: so one of them decides alone. If the other ends, it goes on. If it ends itself, the other one
rests, for it cannot know whether the first is dead or only out of reach, and two that both go on
would be two copies of every entity.

A witness is the third opinion. It keeps a copy of the small log that says who owns what, votes, and
hosts nothing: any small machine will do that is not the host of one of the two, such as that of the
database. With it, either node or the witness may end, and the rest goes on.

A cluster of three nodes or more needs none.

Its certificate is that of a node: `ostrakon certs node NAME`. Without --admin-listen it has no
dashboard and no admin API.

Exit code: 0 after SIGTERM or SIGINT, when it has left; 1 if it could not start, 2 for options that
make no sense.

Examples:
  ostrakon witness --name w1 --listen 10.0.0.9:25520 --seed 10.0.0.1:25520 10.0.0.2:25520 --cluster bank --tls-dir certs
  ostrakon witness --name w1 --listen 127.0.0.1:0 --seed 127.0.0.1:25520 --admin-listen 127.0.0.1:9471
  ostrakon status      asks that one who votes, who leads, and what is wrong";
