//! The bank on several nodes: real processes, which are disturbed in real ways.
//!
//! This process is a client of the cluster: it starts a manager and nodes, lets tellers work against them, does to them what it was
//! told to, and in the end compares: what was acknowledged with what the accounts hold, and what the journals say with what must never
//! be. All processes end with this one, however it ends.

mod certificates;
mod chief;
mod child;
mod cut;
mod fault;
mod folder;
mod keys;
mod member;
mod network;
mod playing;
mod screen;
mod serve;
mod site;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use futures_util::{StreamExt, stream::FuturesUnordered};
use ostrakon::{GroupName, Managed, Node, NodeBuilder, Peers, Seeds};
use ostrakon_core::voters_wanted;
use ostrakon_tls::Role;
use tokio::task::JoinSet;

use self::{
    certificates::Certificates,
    chief::Chief,
    child::Child,
    cut::Line,
    folder::Folder,
    keys::Keys,
    member::{Deciders, Member},
    site::{Place, Site},
};
pub(crate) use self::{
    fault::Fault,
    network::Network,
    serve::{MemberOptions, begin_to_log, run as run_member},
};
use super::{
    Options,
    account::{self, Account},
    audit::Audit,
    options::{Direction, Plane},
    oracle::{Findings, Oracle},
    progress::{Progress, Sample},
    sensors::{self, Sensor},
    summary::Summary,
    teller::{Promise, Shift, Teller},
};

/// What this process is called in the cluster.
const CLIENT: &str = "demo";
/// How long a process may take to be there.
const BEGINNING: Duration = Duration::from_secs(30);
/// How long after a fault what happens is put down to it.
const AFTERMATH: Duration = Duration::from_secs(1);
/// How long the cluster gets to come to rest before accounts are asked what they hold.
const REST: Duration = Duration::from_secs(90);

/// A bank on several nodes.
pub(crate) struct Cluster<'o> {
    options: &'o Options,
    site: Site,
    managers: Vec<Chief>,
    nodes: Vec<Member>,
    /// Where each node is, if the nodes decide themselves. The first of them are known to all.
    homes: Vec<(String, String)>,
    shift: Arc<Shift>,
    /// The longest time that healing took.
    healed: Option<Duration>,
    /// Nodes that were asked to leave.
    parting: JoinSet<()>,
    /// The node that was stopped and may go on.
    paused: Option<String>,
    /// How many nodes have been started after the first ones.
    added: u32,
}

impl<'o> Cluster<'o> {
    pub(crate) async fn open(options: &'o Options) -> anyhow::Result<Self> {
        if options.managers > 1 && options.storage.is_none() {
            bail!(
                "several managers need a --storage that they can share: postgres://…, redis://… or etcd://…"
            );
        }
        let site = Site::new(options).await?;
        let mut managers = Vec::new();
        let number_of_managers = match options.plane {
            Plane::Managed => options.managers,
            Plane::Solo | Plane::Peer => 0,
        };
        for number in 1..=number_of_managers {
            // One after the other, so that the first one leads.
            let name = format!("manager-{number}");
            managers.push(Chief::start(options, &site, name, None).await?);
        }
        let names = (1..=options.nodes).map(|number| format!("node-{number}"));
        let names: Vec<String> = names.collect();
        let mut homes = Vec::new();
        if options.plane == Plane::Peer {
            for name in &names {
                let place = site.place(Role::Node, name).await?;
                homes.push((name.clone(), place.free_address()?));
            }
        }
        let seeds = seeds(&homes);
        let starting = names.iter().map(|name| {
            let deciders = deciders(name, &managers, &homes, &seeds);
            Member::start(name.clone(), deciders, &site, "1")
        });
        let nodes = futures_util::future::try_join_all(starting).await?;
        let client = join(&site, &managers, &seeds).await?;
        let oracle = Oracle::new(options.accounts);
        Ok(Self {
            options,
            site,
            managers,
            nodes,
            homes,
            shift: Arc::new(Shift::new(client, oracle, Promise::Possible)),
            healed: None,
            parting: JoinSet::new(),
            paused: None,
            added: 0,
        })
    }

    pub(crate) async fn run(mut self) -> anyhow::Result<Summary> {
        let began = Instant::now();
        let mut staff = JoinSet::new();
        for number in 0..self.options.tellers {
            staff.spawn(Teller::new(number, Arc::clone(&self.shift)).work());
        }
        let disturbed = self.disturb(began).await;
        self.shift.close();
        let seconds = began.elapsed().as_secs_f64();
        while let Some(ended) = staff.join_next().await {
            ended.context("a teller panicked")?;
        }
        disturbed?;
        self.resume()?;
        while self.parting.join_next().await.is_some() {}
        let findings = self.check().await;
        self.shift
            .node()
            .leave()
            .await
            .context("the client did not stop")?;
        for member in &mut self.nodes {
            member.child.end().await;
        }
        for manager in &mut self.managers {
            manager.child.end().await;
        }
        let audit = Audit::of(&self.journal()).context("cannot read the journals")?;
        Ok(self.summary(seconds, findings, &audit))
    }

    /// This process, as a part of the cluster.
    pub(super) fn client(&self) -> &Node {
        self.shift.node()
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.site.folder().journal()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }

    /// Kills the first node; returns whether it decided for all.
    pub(super) async fn kill_first(&mut self) -> anyhow::Result<bool> {
        let led = self.nodes.first().is_some_and(Member::leads);
        Fault::KillNode.happen(self).await?;
        Ok(led)
    }

    /// Starts a node of a name that none has had, and waits until it takes part.
    pub(super) async fn add_one(&mut self) -> anyhow::Result<()> {
        self.added += 1;
        let name = format!("node-{}", self.options.nodes + self.added);
        let node = self.start_node(name, "1").await?;
        self.nodes.push(node);
        Ok(())
    }

    /// Lets everybody work until the time is over or the user has seen enough, and does what was asked for meanwhile.
    async fn disturb(&mut self, began: Instant) -> anyhow::Result<()> {
        let shift = Arc::clone(&self.shift);
        let showing = show_progress(self.options, shift);
        let run_for = match self.options.direction() {
            Direction::Faults(run_for) => run_for,
            Direction::Keys(run_for) => return self.play(Keys::of_terminal()?, run_for).await,
            Direction::Script(run_for) => {
                return self.play(Keys::of_script(run_for), Some(run_for)).await;
            }
        };
        let ends = began + run_for;
        let working = async {
            let faults = self.options.faults.repeat(self.options.rounds as usize);
            let parts = faults.len() as u32 + 1;
            for (number, fault) in (1..).zip(faults) {
                let at = began + run_for * number / (parts + 1);
                tokio::time::sleep_until(at.into()).await;
                self.come_together().await?;
                eprintln!("fault: {fault}");
                self.shift.disturbed(true);
                let happened = fault.happen(self).await;
                happened.with_context(|| format!("cannot do: {fault}"))?;
                tokio::time::sleep(AFTERMATH.min(ends.saturating_duration_since(Instant::now())))
                    .await;
                self.shift.disturbed(false);
            }
            tokio::time::sleep_until(ends.into()).await;
            anyhow::Ok(())
        };
        tokio::select! {
            () = showing => Ok(()),
            done = working => done,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.context("cannot listen for Ctrl-C")?;
                tokio::spawn(super::exit_at_the_next_interrupt());
                Ok(())
            }
        }
    }

    /// Where the nodes decide themselves, one fault is survived at a time: waits until nobody has to be replaced any more.
    async fn come_together(&self) -> anyhow::Result<()> {
        if self.options.plane != Plane::Peer {
            return Ok(());
        }
        let together = async {
            loop {
                let changes = self.nodes.iter().map(|node| node.child.says_more());
                let mut changes: FuturesUnordered<_> = changes.collect();
                let votes = self.nodes.iter().filter(|node| node.votes()).count();
                let leads = self.nodes.iter().any(Member::leads);
                if leads && votes == voters_wanted(self.nodes.len()) {
                    return;
                }
                changes.next().await;
            }
        };
        let waited = tokio::time::timeout(BEGINNING, together).await;
        waited.with_context(|| {
            format!("the nodes have not replaced whoever was lost within {BEGINNING:?}")
        })
    }

    /// Asks every account what it holds and lets the oracle judge.
    async fn check(&self) -> Findings {
        let until = Instant::now() + REST;
        let mut asking = JoinSet::new();
        let mut findings = Findings::default();
        for number in 0..self.options.accounts {
            let shift = Arc::clone(&self.shift);
            asking.spawn(async move {
                loop {
                    let account = shift.node().entity::<Account>(account::id(number));
                    match account.statement().await {
                        Ok(statement) => return shift.oracle.check(number, &statement),
                        Err(_) if Instant::now() < until => {
                            tokio::time::sleep(Duration::from_millis(200)).await;
                        }
                        Err(error) => {
                            eprintln!("{}: {error}", account::id(number));
                            return Findings::unchecked();
                        }
                    }
                }
            });
            if asking.len() >= 256 {
                findings += joined(asking.join_next().await);
            }
        }
        while let Some(found) = asking.join_next().await {
            findings += joined(Some(found));
        }
        findings
    }

    fn summary(&self, seconds: f64, findings: Findings, audit: &Audit) -> Summary {
        Summary {
            overlaps: audit.overlaps,
            moves: audit.moves,
            smallest_handover_us: audit.smallest_gap_ns.map(|gap| gap as f64 / 1e3),
            entities_started: audit.lives,
            entities_stopped: audit.lives,
            heal_max_ms: self.healed.map(|healed| healed.as_secs_f64() * 1e3),
            ..Summary::of(self.options, seconds, &self.shift.tally(), findings)
        }
    }
}

/// So many of the nodes are known to all from the start.
const SEEDS: usize = 3;

fn seeds(homes: &[(String, String)]) -> Vec<String> {
    let first = homes.iter().take(SEEDS);
    first.map(|(_, address)| address.clone()).collect()
}

fn deciders<'a>(
    name: &str,
    managers: &'a [Chief],
    homes: &'a [(String, String)],
    seeds: &'a [String],
) -> Deciders<'a> {
    let home = homes.iter().find(|(of, _)| of == name);
    home.map_or(Deciders::Managers(managers), |(_, at)| Deciders::Peers {
        at,
        seeds,
    })
}

/// Joins the cluster as its client.
async fn join(site: &Site, managers: &[Chief], seeds: &[String]) -> anyhow::Result<Node> {
    let builder = take_part(Node::builder(CLIENT), site, managers, seeds)?;
    let builder = match site.has_sensors() {
        true => builder
            .group(sensors::group())
            .reach::<Sensor>(sensors::group().name),
        false => builder.reach::<Account>(GroupName::default()),
    };
    builder
        .start()
        .await
        .context("cannot join the cluster as its client")
}

fn take_part(
    builder: NodeBuilder,
    site: &Site,
    managers: &[Chief],
    seeds: &[String],
) -> anyhow::Result<NodeBuilder> {
    let security = site.security(Role::Client, CLIENT)?;
    let (cluster, listen) = (site.folder().name(), format!("{}:0", site.host()));
    if !seeds.is_empty() {
        let peers = Peers::at(&listen).seeds(Seeds::new(seeds.to_vec()));
        let peers = peers.cluster(cluster).security(security);
        return Ok(builder.peer(peers.join_within(BEGINNING)));
    }
    let addresses = managers.iter().map(|manager| manager.address.clone());
    let managed = Managed::by(addresses).cluster(cluster).listen(listen);
    Ok(builder.managed(managed.security(security).join_within(BEGINNING)))
}

fn joined(found: Option<Result<Findings, tokio::task::JoinError>>) -> Findings {
    match found {
        Some(Ok(findings)) => findings,
        Some(Err(_)) => Findings::unchecked(),
        None => Findings::default(),
    }
}

async fn show_progress(options: &Options, shift: Arc<Shift>) {
    let mut progress = Progress::new(options);
    loop {
        tokio::time::sleep(progress.period()).await;
        let tally = shift.tally();
        progress.show(&Sample {
            messages: tally.messages(),
            entities: None,
            p50_us: tally.latency_us(0.50),
            p99_us: tally.latency_us(0.99),
        });
    }
}
