//! `Fault`: what can be done to a cluster while it works.

use std::{fmt, time::Duration};

use anyhow::Context;
use clap::ValueEnum;
use rustix::process::Signal;

use super::{Chief, Cluster, Line, Member};

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
    /// Stop the manager that leads until another one does, then let it go on
    PauseManager,
    /// Kill the manager that leads, and start it again after some seconds
    KillManager,
    /// Cut the first node off from the manager for longer than every timeout, but not from the other nodes
    CutNode,
}

impl Fault {
    pub(super) async fn happen(self, cluster: &mut Cluster<'_>) -> anyhow::Result<()> {
        match self {
            Self::KillNode => cluster.kill_first().await.map(drop),
            Self::ReplaceNode => {
                let name = cluster.kill_first().await?;
                let node = cluster.start_node(name, "1").await?;
                cluster.nodes.push(node);
                Ok(())
            }
            Self::PauseNode => {
                let node = cluster.first()?;
                node.child.signal(Signal::STOP)?;
                tokio::time::sleep(LONG).await;
                node.child.signal(Signal::CONT)
            }
            Self::DrainNode => {
                let mut node = cluster.nodes.remove(0);
                node.child.end().await;
                Ok(())
            }
            Self::AddNode => {
                let name = format!("node-{}", cluster.nodes.len() + 1);
                let node = cluster.start_node(name, "1").await?;
                cluster.nodes.push(node);
                Ok(())
            }
            Self::RollNodes => cluster.roll("2").await,
            Self::RollBack => cluster.roll("0").await,
            Self::PauseManager => {
                let leader = cluster.managers.first().context("there is no manager")?;
                leader.child.signal(Signal::STOP)?;
                tokio::time::sleep(LONG).await;
                leader.child.signal(Signal::CONT)
            }
            Self::KillManager => cluster.replace_manager().await,
            Self::CutNode => {
                cluster.cut_first().await?;
                tokio::time::sleep(LONG).await;
                cluster.mend_first().await
            }
        }
    }
}

impl Cluster<'_> {
    fn first(&mut self) -> anyhow::Result<&mut Member> {
        self.nodes.first_mut().context("there is no node left")
    }

    /// Returns the name of the node that is no more.
    async fn kill_first(&mut self) -> anyhow::Result<String> {
        self.shift.node_is_killed();
        self.first()?.child.kill().await?;
        Ok(self.nodes.remove(0).name)
    }

    async fn cut_first(&self) -> anyhow::Result<()> {
        let node = self.nodes.first().context("there is no node left")?;
        node.lines.iter().for_each(Line::cut);
        if let Some(network) = self.site.network() {
            for manager in &self.managers {
                network.cut(&node.name, &manager.name).await?;
            }
        }
        Ok(())
    }

    async fn mend_first(&self) -> anyhow::Result<()> {
        let node = self.nodes.first().context("there is no node left")?;
        node.lines.iter().for_each(Line::mend);
        if let Some(network) = self.site.network() {
            for manager in &self.managers {
                network.mend(&node.name, &manager.name).await?;
            }
        }
        Ok(())
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

    async fn start_node(&self, name: String, version: &str) -> anyhow::Result<Member> {
        Member::start(name, &self.managers, &self.site, version).await
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
