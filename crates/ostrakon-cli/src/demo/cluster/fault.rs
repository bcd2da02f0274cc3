//! `Fault`: what can be done to a cluster while it works.

use std::{fmt, time::Duration};

use anyhow::Context;
use clap::ValueEnum;
use rustix::process::Signal;

use super::{Cluster, Member, start_manager};

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
    /// Restart all nodes, one after the other, with a newer version
    RollNodes,
    /// Kill the manager and start it again after some seconds
    KillManager,
    /// Cut the first node off from the manager for longer than every timeout, but not from the other nodes
    CutNode,
}

impl Fault {
    pub(super) async fn happen(self, cluster: &mut Cluster<'_>) -> anyhow::Result<()> {
        match self {
            Self::KillNode => cluster.first()?.child.kill().await,
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
                let node = cluster.start_node(&name, "1").await?;
                cluster.nodes.push(node);
                Ok(())
            }
            Self::RollNodes => {
                for number in 0..cluster.nodes.len() {
                    let name = cluster.nodes[number].name.clone();
                    cluster.nodes[number].child.end().await;
                    cluster.nodes[number] = cluster.start_node(&name, "2").await?;
                }
                Ok(())
            }
            Self::KillManager => {
                cluster.manager.kill().await?;
                tokio::time::sleep(AWAY).await;
                cluster.manager =
                    start_manager(cluster.options, &cluster.folder, &cluster.manager_address)
                        .await?;
                Ok(())
            }
            Self::CutNode => {
                cluster.first()?.line.cut();
                tokio::time::sleep(LONG).await;
                cluster.first()?.line.mend();
                Ok(())
            }
        }
    }
}

impl Cluster<'_> {
    fn first(&mut self) -> anyhow::Result<&mut Member> {
        self.nodes.first_mut().context("there is no node left")
    }

    async fn start_node(&self, name: &str, version: &str) -> anyhow::Result<Member> {
        Member::start(name, &self.manager_address, &self.folder.journal(), version).await
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
