//! `TopologySnapshot`: the members of a cluster as one node sees them at one moment.
//!
//! A copy that never changes, for whoever chooses peers or shows the cluster. It may be behind the truth and may differ from
//! node to node for a while. It is advice: who owns a shard is decided in the control log and nowhere else.

use super::{ClusterId, TopologyMember};
use crate::NodeName;

/// The members as one node sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologySnapshot {
    /// Which cluster; none as long as the node looks for one, and it must serve nothing until then.
    pub cluster: Option<ClusterId>,
    /// Higher for every change that this node, in this run, has seen. Not comparable between nodes.
    pub version: u64,
    /// Sorted by name, without those that are removed.
    pub members: Vec<TopologyMember>,
}

impl TopologySnapshot {
    /// The member of this name.
    pub fn get(&self, name: &NodeName) -> Option<&TopologyMember> {
        let found = self
            .members
            .binary_search_by(|member| member.name.cmp(name));
        found.ok().map(|at| &self.members[at])
    }

    /// Those that may be spoken to.
    pub fn live(&self) -> impl Iterator<Item = &TopologyMember> {
        self.members.iter().filter(|member| member.is_live())
    }
}
