//! Agreement: when all is well, all nodes see the same members, and those are the nodes that run and hear.

use ostrakon_core::{TopologyMember, TopologyStatus};

use super::World;
use crate::invariant::Checked;

impl World {
    /// Whether gossip has told everybody of everybody.
    pub(super) fn all_agree(&self) -> Checked {
        if self.setup.gossip.is_none() {
            return Ok(());
        }
        let clusters = self.hearing().map(|node| {
            let topology = self.topology(node);
            (node, topology.and_then(|topology| topology.cluster()))
        });
        let clusters: Vec<_> = clusters.collect();
        for (node, cluster) in &clusters {
            if cluster.is_none() {
                return Err(format!("node-{node} is in no cluster"));
            }
            if *cluster != clusters[0].1 {
                let first = clusters[0].0;
                return Err(format!(
                    "node-{first} and node-{node} are in different clusters"
                ));
            }
        }
        for (node, _) in &clusters {
            self.sees_those_that_run(*node)?;
        }
        Ok(())
    }

    fn sees_those_that_run(&self, node: usize) -> Checked {
        for other in 0..self.setup.nodes {
            let runs = self.hearing().any(|hearing| hearing == other);
            let seen = self.record(node, other);
            let is_up = seen.is_some_and(|seen| seen.status == TopologyStatus::Up);
            let said = self.record(other, other).map(|said| said.generation);
            let is_new = seen.map(|seen| seen.generation) == said;
            let how = match (runs, is_up) {
                (true, true) if is_new => continue,
                (false, false) => continue,
                (true, true) => "which has spoken since",
                (true, false) => "which runs and hears",
                (false, true) => "which does not run, or hears nothing",
            };
            return Err(format!(
                "node-{node} sees node-{other} as {}, {how}",
                words(seen)
            ));
        }
        Ok(())
    }
}

fn words(seen: Option<&TopologyMember>) -> String {
    match seen {
        None => "unknown".to_owned(),
        Some(seen) => format!("{} at {}", seen.status, seen.generation),
    }
}
