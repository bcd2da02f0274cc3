//! `Fault`: what can be done to a cluster while it works.

use std::{
    fmt, io,
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::ValueEnum;
use futures_util::future::select_all;
use ostrakon::MemberStatus;
use ostrakon_tls::Role;
use rustix::process::Signal;

use super::{Chief, Child, Cluster, Line, Member};

/// Longer than every timeout of the cluster.
const LONG: Duration = Duration::from_secs(20);
/// How long a manager is away.
const AWAY: Duration = Duration::from_secs(5);

/// Something that is done to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// Kill the first node
    KillNode,
    /// Stop the first node for longer than every timeout, then let it go on
    PauseNode,
    /// Ask the first node to leave
    DrainNode,
    /// Start another node
    AddNode,
    /// Kill the first node and start it again
    ReplaceNode,
    /// Restart all nodes, one after the other, with a newer version
    RollNodes,
    /// Restart all nodes, one after the other, with an older version
    RollBack,
    /// Stop the manager that leads, or the node that does, until another one does, then let it go on
    PauseManager,
    /// Kill the manager that leads, or the node that does, and start it again after some seconds
    KillManager,
    /// Cut the first node off from the manager for longer than every timeout, but not from the other nodes; where nodes decide
    /// themselves, from all of them, but not from the tellers
    CutNode,
    /// The same, but what the first node says still arrives; with --plane peer --namespaces
    DeafenNode,
}

impl Fault {
    pub(super) async fn happen(self, cluster: &mut Cluster<'_>) -> anyhow::Result<()> {
        cluster.shift.blame.other_fault(Instant::now());
        match self {
            Self::KillNode => cluster.kill(0).await.map(drop),
            Self::ReplaceNode => cluster.replace_node(0, Duration::ZERO).await,
            Self::PauseNode => {
                let node = cluster.first()?;
                node.child.signal(Signal::STOP)?;
                tokio::time::sleep(LONG).await;
                node.child.signal(Signal::CONT)?;
                cluster.heal().await
            }
            Self::DrainNode => {
                let mut node = cluster.nodes.remove(0);
                node.child.end().await;
                Ok(())
            }
            Self::AddNode => cluster.add_one().await,
            Self::RollNodes => cluster.roll("2").await,
            Self::RollBack => cluster.roll("0").await,
            Self::PauseManager => {
                let leader = cluster.leader()?;
                leader.signal(Signal::STOP)?;
                tokio::time::sleep(LONG).await;
                leader.signal(Signal::CONT)?;
                cluster.heal().await
            }
            Self::KillManager if cluster.managers.is_empty() => {
                let leading = cluster.nodes.iter().position(Member::leads);
                cluster.replace_node(leading.unwrap_or(0), AWAY).await
            }
            Self::KillManager => cluster.replace_manager().await,
            Self::CutNode => {
                cluster.cut_first().await?;
                tokio::time::sleep(LONG).await;
                cluster.mend_first().await?;
                cluster.heal().await
            }
            Self::DeafenNode => {
                cluster.deafen_first().await?;
                tokio::time::sleep(LONG).await;
                cluster.mend_first().await?;
                cluster.heal().await
            }
        }
    }
}

impl Cluster<'_> {
    fn first(&mut self) -> anyhow::Result<&mut Member> {
        self.nodes.first_mut().context("there is no node left")
    }

    /// Returns the name of the node that is no more.
    pub(super) async fn kill(&mut self, number: usize) -> anyhow::Result<String> {
        self.first()?;
        self.shift.blame.node_is_killed();
        let mut node = self.nodes.remove(number);
        node.child.kill().await?;
        Ok(node.name)
    }

    async fn replace_node(&mut self, number: usize, away: Duration) -> anyhow::Result<()> {
        let name = self.kill(number).await?;
        tokio::time::sleep(away).await;
        let node = self.start_node(name, "1").await?;
        self.nodes.push(node);
        Ok(())
    }

    /// The process that decides: of the managers, the first leads unless it has been killed before.
    fn leader(&self) -> anyhow::Result<&Child> {
        let leading = self.nodes.iter().find(|node| node.leads());
        let leading = leading.map(|node| &node.child);
        let manager = self.managers.first().map(|manager| &manager.child);
        manager.or(leading).context("nobody leads")
    }

    /// Those from whom the first node is cut off.
    fn others(&self) -> Vec<&str> {
        let managers = self.managers.iter().map(|manager| manager.name.as_str());
        let peers = self.nodes.iter().skip(1).map(|node| node.name.as_str());
        match self.managers.is_empty() {
            true => peers.collect(),
            false => managers.collect(),
        }
    }

    async fn deafen_first(&self) -> anyhow::Result<()> {
        let node = self.nodes.first().context("there is no node left")?;
        let network = self.site.network();
        let network = network.context("that needs --namespaces")?;
        for other in self.others() {
            network.cut_one_way(other, &node.name).await?;
        }
        Ok(())
    }

    async fn cut_first(&self) -> anyhow::Result<()> {
        let node = self.nodes.first().context("there is no node left")?;
        node.lines.iter().for_each(Line::cut);
        if let Some(network) = self.site.network() {
            for other in self.others() {
                network.cut(&node.name, other).await?;
            }
        } else if node.lines.is_empty() {
            bail!("nodes can be cut off from each other with --namespaces only");
        }
        Ok(())
    }

    async fn mend_first(&self) -> anyhow::Result<()> {
        let node = self.nodes.first().context("there is no node left")?;
        node.lines.iter().for_each(Line::mend);
        if let Some(network) = self.site.network() {
            for other in self.others() {
                network.mend(&node.name, other).await?;
            }
        }
        Ok(())
    }

    /// Nothing is between the nodes any more: waits until all of them are members again, and notes how long that took.
    async fn heal(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        let healing = async {
            while let Some((ended, status)) = self.one_ends_before_all_are_up().await {
                let Member { name, .. } = self.nodes.remove(ended);
                let status = status.with_context(|| format!("nobody knows how {name} ended"))?;
                // If it was stopped within a handler, its lease was over when it went on: a node aborts itself then, and only then.
                if status.signal() != Some(Signal::ABORT.as_raw()) {
                    bail!("{name} ended with {status}");
                }
                eprintln!("{name} has ended itself and is started again");
                let node = self.start_node(name, "1").await?;
                self.nodes.push(node);
            }
            anyhow::Ok(())
        };
        let waited = tokio::time::timeout(LONG, healing).await;
        waited.with_context(|| format!("a node is no member {LONG:?} after it could be"))??;
        self.healed = self.healed.max(Some(began.elapsed()));
        Ok(())
    }

    /// `None`: all nodes are up.
    async fn one_ends_before_all_are_up(&mut self) -> Option<(usize, io::Result<ExitStatus>)> {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        let mut topology = self.client().subscribe_topology();
        let all_are_up = async {
            while let Some(snapshot) = topology.next().await {
                let is_up = |name: &String| {
                    let mut members = snapshot.members.iter();
                    members.any(|one| one.name.as_str() == name && one.status == MemberStatus::Up)
                };
                if names.iter().all(is_up) {
                    return;
                }
            }
        };
        let nodes = self.nodes.iter_mut();
        let one_ends = select_all(nodes.map(|node| Box::pin(node.child.ends())));
        tokio::select! {
            () = all_are_up => None,
            (status, ended, _) = one_ends => Some((ended, status)),
        }
    }

    async fn roll(&mut self, version: &str) -> anyhow::Result<()> {
        for _ in 0..self.nodes.len() {
            let mut old = self.nodes.remove(0);
            old.child.end().await;
            let node = self.start_node(old.name, version).await?;
            self.nodes.push(node);
        }
        Ok(())
    }

    /// The first of them leads, unless it has been killed before.
    async fn replace_manager(&mut self) -> anyhow::Result<()> {
        let leader = self.managers.first_mut().context("there is no manager")?;
        leader.child.kill().await?;
        let Chief { name, address, .. } = self.managers.remove(0);
        tokio::time::sleep(AWAY).await;
        let manager = Chief::start(self.options, &self.site, name, Some(address)).await?;
        self.managers.push(manager);
        Ok(())
    }

    /// A node that comes back is where it was.
    pub(super) async fn start_node(
        &mut self,
        name: String,
        version: &str,
    ) -> anyhow::Result<Member> {
        let is_new = self.homes.iter().all(|(of, _)| *of != name);
        if is_new && !self.homes.is_empty() {
            let place = self.site.place(Role::Node, &name).await?;
            self.homes.push((name.clone(), place.free_address()?));
        }
        let seeds = super::seeds(&self.homes);
        let deciders = super::deciders(&name, &self.managers, &self.homes, &seeds);
        Member::start(name, deciders, &self.site, version).await
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
