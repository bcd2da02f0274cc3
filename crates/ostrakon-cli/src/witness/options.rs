//! `Options`: the arguments of `ostrakon witness`.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use ostrakon_admin::Token;
use ostrakon_core::{Failover, LeaseTiming, NodeName};
use ostrakon_council::{CouncilSettings, PeerSettings};
use ostrakon_tls::{Files, Identity, Role, Security};
use tracing_subscriber::filter::Targets;

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
    log: String,
    #[command(flatten)]
    tls: TlsFiles,
    /// Where the admin API is; without it there is none
    #[arg(long, value_name = "HOST:PORT")]
    admin_listen: Option<String>,
    /// The file with the token that lets its bearer change things; or set OSTRAKON_ADMIN_TOKEN
    #[arg(long, value_name = "FILE", env = "OSTRAKON_ADMIN_TOKEN_FILE")]
    admin_token_file: Option<PathBuf>,
}

/// Its certificate is that of a node: `ostrakon certs node NAME`.
#[derive(Args, Debug)]
struct TlsFiles {
    /// The folder where `ostrakon certs node NAME` has put ca.pem, NAME.pem and NAME.key
    #[arg(long = "tls-dir", value_name = "DIR", env = "OSTRAKON_TLS_DIR")]
    dir: Option<PathBuf>,
    /// The authority, if it is elsewhere
    #[arg(long = "tls-ca", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The certificate, if it is elsewhere
    #[arg(long = "tls-certificate", value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Its key, if it is elsewhere
    #[arg(long = "tls-key", value_name = "FILE")]
    key: Option<PathBuf>,
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
        let given = given.chain(self.admin_listen.iter().map(|at| ("--admin-listen", at)));
        for (option, address) in given {
            let port = address
                .rsplit_once(':')
                .map(|(_, port)| port.parse::<u16>());
            ensure!(
                matches!(port, Some(Ok(_))),
                "{option}: {address:?} is no address: write HOST:PORT, as in 10.0.0.9:25520"
            );
        }
        self.files().map(|_| ())
    }

    pub(crate) fn log_targets(&self) -> anyhow::Result<Targets> {
        self.log.parse().context("--log")
    }

    pub(crate) fn admin_listen(&self) -> Option<&str> {
        self.admin_listen.as_deref()
    }

    pub(crate) fn scheme(&self) -> &'static str {
        match self.files() {
            Ok(Some(_)) => "https",
            Ok(None) | Err(_) => "http",
        }
    }

    pub(crate) fn security(&self) -> anyhow::Result<Security> {
        match self.files()? {
            Some(files) => Security::tls(files).context("--tls-dir"),
            None => Ok(Security::plaintext()),
        }
    }

    fn files(&self) -> anyhow::Result<Option<Files>> {
        let TlsFiles {
            dir,
            ca,
            certificate,
            key,
        } = &self.tls;
        if dir.is_none() && ca.is_none() && certificate.is_none() && key.is_none() {
            return Ok(None);
        }
        let usual = dir.as_ref().map(|dir| Files::in_dir(dir, &self.name));
        let pick = |set: &Option<PathBuf>, usual: Option<PathBuf>, option: &str| {
            let file = set.clone().or(usual);
            file.with_context(|| {
                format!("{option} or --tls-dir is missing, and there is no TLS without it")
            })
        };
        let usual = |of: fn(&Files) -> &PathBuf| usual.as_ref().map(|files| of(files).clone());
        Ok(Some(Files {
            ca: pick(ca, usual(|files| &files.ca), "--tls-ca")?,
            certificate: pick(
                certificate,
                usual(|files| &files.certificate),
                "--tls-certificate",
            )?,
            key: pick(key, usual(|files| &files.key), "--tls-key")?,
        }))
    }

    pub(crate) fn token(&self) -> anyhow::Result<Option<Token>> {
        if let Some(file) = &self.admin_token_file {
            return Ok(Some(Token::read(file).context("--admin-token-file")?));
        }
        let set = std::env::var("OSTRAKON_ADMIN_TOKEN").ok();
        let token = set.map(|text| Token::new(&text).context("OSTRAKON_ADMIN_TOKEN"));
        token.transpose()
    }

    pub(crate) fn council(&self, security: Security) -> CouncilSettings {
        let peer = PeerSettings {
            advertise: self.advertise.clone(),
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

Exit code: 0 after SIGTERM or SIGINT, when it has left; 1 if it could not start, 2 for options that
make no sense.

Examples:
  ostrakon witness --name w1 --listen 10.0.0.9:25520 --seed 10.0.0.1:25520 10.0.0.2:25520 --cluster bank --tls-dir certs
  ostrakon witness --name w1 --listen 127.0.0.1:0 --seed 127.0.0.1:25520 --admin-listen 127.0.0.1:9471
  ostrakon status      asks that one who votes, who leads, and what is wrong";
