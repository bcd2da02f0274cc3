//! `ostrakon demo-node`: one node of the bank, as a process of its own. Started by `ostrakon demo`, not by people.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::Context;
use clap::Args;
use ostrakon::{Hosting, LeaseTiming, Managed, Node, NodeBuilder, Peers, Security, Seeds};
use ostrakon_admin::{Admin, AdminSettings, Token};
use ostrakon_tls::Files;
use tokio::{
    io::AsyncReadExt,
    signal::unix::{SignalKind, signal},
};

use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use super::child::TOKEN;
use crate::demo::{
    account::{Account, Books},
    journal::Journal,
    sensors::{self, Ledger, Sensor},
};

/// What a node says when it begins to decide for all, and when it ends.
pub(crate) const LEADS: &str = "leads";
pub(crate) const FOLLOWS: &str = "follows";
/// What it says when it begins to vote on who decides, and when it ends.
pub(crate) const VOTES: &str = "votes";
pub(crate) const LEARNS: &str = "learns";

/// What it says of where its dashboard is.
pub(crate) const DASHBOARD: &str = "dashboard ";

/// The arguments of `ostrakon demo-node`.
#[derive(Args, Debug)]
pub(crate) struct MemberOptions {
    /// What the node is called
    #[arg(long)]
    name: String,
    /// The cluster that it belongs to
    #[arg(long)]
    cluster: String,
    /// Where a manager is
    #[arg(long = "manager", conflicts_with = "peers_at")]
    managers: Vec<String>,
    /// Where other nodes reach it that look after the cluster themselves
    #[arg(long)]
    peers_at: Option<String>,
    /// Where one of those is
    #[arg(long = "seed", requires = "peers_at")]
    seeds: Vec<String>,
    /// Where the journals of the accounts are
    #[arg(long)]
    journal: PathBuf,
    /// Host sensors instead of accounts
    #[arg(long)]
    sensors: bool,
    /// Which version of the program it pretends to be
    #[arg(long)]
    node_version: String,
    /// Where it listens
    #[arg(long)]
    listen: String,
    /// Where its certificate is, if it has one
    #[arg(long)]
    tls_dir: Option<PathBuf>,
}

impl MemberOptions {
    fn security(&self) -> anyhow::Result<Security> {
        Ok(match &self.tls_dir {
            Some(dir) => Security::tls(Files::in_dir(dir, &self.name))?,
            None => Security::plaintext(),
        })
    }
}

impl MemberOptions {
    fn take_part(&self, builder: NodeBuilder) -> anyhow::Result<NodeBuilder> {
        let security = self.security()?;
        Ok(match &self.peers_at {
            None => builder.managed(
                Managed::by(self.managers.clone())
                    .cluster(&self.cluster)
                    .listen(&self.listen)
                    .security(security)
                    .slack(LeaseTiming::fast().times().slack)
                    .version(&self.node_version),
            ),
            Some(at) => builder.peer(
                Peers::at(at)
                    .seeds(Seeds::new(self.seeds.clone()))
                    .cluster(&self.cluster)
                    .listen(&self.listen)
                    .security(security)
                    .version(&self.node_version),
            ),
        })
    }
}

impl MemberOptions {
    fn host(&self, builder: NodeBuilder) -> NodeBuilder {
        if self.sensors {
            let ledger = Arc::new(Ledger::in_folder(&self.journal));
            return builder
                .group(sensors::group())
                .host_with(sensors::hosting(), move |id| Sensor::new(&ledger, id));
        }
        let books = Books::Journal(Arc::new(Journal::in_folder(&self.journal)));
        builder.host_with(Hosting::default(), move |id| Account::new(&books, id))
    }
}

impl MemberOptions {
    /// Where nodes look after their cluster themselves, each shows it; but not to other hosts.
    async fn show(&self, node: &Node) -> anyhow::Result<Option<Admin>> {
        let Some(desk) = node.desk() else {
            return Ok(None);
        };
        if self.tls_dir.is_some() {
            return Ok(None);
        }
        let token = std::env::var(TOKEN).ok();
        let token = token.map(|token| Token::new(&token).context(TOKEN));
        let settings = AdminSettings {
            cluster: self.cluster.clone(),
            manager: self.name.clone(),
            token: token.transpose()?,
            ..AdminSettings::default()
        };
        let admin = Admin::start(desk.clone(), settings).await;
        let admin = admin.context("cannot show the cluster")?;
        println!("{DASHBOARD}http://{}", admin.address());
        Ok(Some(admin))
    }
}

/// Says whenever this node begins to decide for all, or to vote on it, and when it ends, where nodes do so.
async fn say_what_it_does(node: Node) {
    let (Some(mut leading), Some(mut desk)) = (node.leading(), node.desk().cloned()) else {
        return;
    };
    let (mut said_leads, mut said_votes) = (false, false);
    loop {
        let (leads, votes) = (*leading.borrow_and_update(), desk.votes());
        if leads != said_leads {
            println!("{}", if leads { LEADS } else { FOLLOWS });
        }
        if votes != said_votes {
            println!("{}", if votes { VOTES } else { LEARNS });
        }
        (said_leads, said_votes) = (leads, votes);
        let goes_on = tokio::select! {
            changed = leading.changed() => changed.is_ok(),
            changed = desk.members_change() => changed,
        };
        if !goes_on {
            return;
        }
    }
}

/// Where to ask for what nodes have to say, such as `info,openraft=warn`; they are silent otherwise.
const LOG: &str = "OSTRAKON_DEMO_LOG";

pub(crate) fn begin_to_log() -> anyhow::Result<()> {
    let Ok(targets) = std::env::var(LOG) else {
        return Ok(());
    };
    let targets: Targets = targets.parse().context(LOG)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .init();
    Ok(())
}

pub(crate) fn run(options: &MemberOptions) -> anyhow::Result<ExitCode> {
    begin_to_log()?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let served = runtime.block_on(serve(options));
    // Whoever reads the input cannot be interrupted; nobody waits for that.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(options: &MemberOptions) -> anyhow::Result<()> {
    let mut asked_to_leave = signal(SignalKind::terminate())?;
    let node = options.take_part(Node::builder(&options.name))?;
    let node = options
        .host(node)
        .start()
        .await
        .context("cannot start the node")?;
    let _admin = options.show(&node).await?;
    println!("ready");
    tokio::spawn(say_what_it_does(node.clone()));
    let mut input = tokio::io::stdin();
    let mut nothing = [0; 1];
    tokio::select! {
        _ = asked_to_leave.recv() => node.leave().await.context("the node did not stop well"),
        // Whoever started it is gone: nobody needs it any more.
        _ = input.read(&mut nothing) => Ok(()),
    }
}
