//! A few nodes that know each other, and a map that the test decides on.

use std::time::Duration;

use ostrakon::{
    GroupName, Hosting, Node, NodeBuilder, NodeName, ShardCount, ShardGroup, ShardId,
    testing::{self, Assignment, Fixed, ShardMap, Version},
};
use tokio::net::TcpListener;

use crate::ledger::Ledger;

/// How long anything may take that is expected to happen at once.
pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) map: ShardMap,
}

pub(crate) const SHARDS: u32 = 12;

pub(crate) fn group() -> ShardGroup {
    ShardGroup {
        count: ShardCount::new(SHARDS).unwrap(),
        ..ShardGroup::default()
    }
}

pub(crate) fn builder(name: &str) -> NodeBuilder {
    Node::builder(name)
        .group(group())
        .host_as::<Ledger>(Hosting::default())
}

impl Cluster {
    /// Nodes `node-1` to `node-n` in plain text, each with every n-th shard.
    pub(crate) async fn of(size: usize) -> Self {
        let mut nodes = Vec::new();
        for n in 1..=size {
            let node = builder(&format!("node-{n}")).fixed(Fixed::plain());
            nodes.push(node.start().await.unwrap());
        }
        Self::connect(nodes).await
    }

    /// Makes these nodes a cluster.
    pub(crate) async fn connect(nodes: Vec<Node>) -> Self {
        for node in &nodes {
            for other in nodes.iter().filter(|other| other.name() != node.name()) {
                let address = testing::address(other).to_string();
                testing::introduce(node, other.name().as_str(), &address);
            }
        }
        let mut map = ShardMap::unowned(Version::new(1), [&group()]);
        for shard in group().count.iter() {
            let owner = &nodes[shard.index() % nodes.len()];
            map = map.with(&GroupName::default(), shard, owned(owner.name(), 1));
        }
        for node in &nodes {
            testing::adopt(node, &map).await;
        }
        Self { nodes, map }
    }

    /// The first node shall find this one here, where somebody else may answer.
    pub(crate) async fn instead_of(&self, node: &str) -> TcpListener {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        testing::introduce(&self.nodes[0], node, &address);
        listener
    }

    /// An id whose entity lives on the node with this index.
    pub(crate) fn id_on(&self, index: usize) -> String {
        self.ids_on(index).next().unwrap()
    }

    /// Ids whose entities live on the node with this index.
    pub(crate) fn ids_on(&self, index: usize) -> impl Iterator<Item = String> + '_ {
        let owner = self.nodes[index].name();
        (0..).map(|n| format!("ledger-{n}")).filter(move |id| {
            let shard = self.shard(id);
            self.map.owner(&GroupName::default(), shard).unwrap().owner == *owner
        })
    }

    pub(crate) fn shard(&self, id: &str) -> ShardId {
        group()
            .shard_of(&ostrakon::EntityId::new(id).unwrap())
            .unwrap()
    }

    /// A new map in which a shard belongs to another node; no node knows it yet.
    pub(crate) fn moved(&mut self, shard: ShardId, to: usize) -> &ShardMap {
        let group = GroupName::default();
        let epoch = self.map.owner(&group, shard).unwrap().epoch.get() + 1;
        let owner = owned(self.nodes[to].name(), epoch);
        self.map = self.map.with(&group, shard, owner);
        &self.map
    }

    /// A new map with this owner of a shard, or none; no node knows it yet.
    pub(crate) fn assigned(&mut self, shard: ShardId, to: Option<Assignment>) -> &ShardMap {
        self.map = self.map.with(&GroupName::default(), shard, to);
        &self.map
    }

    /// Lets every node know the present map, one after the other.
    pub(crate) async fn inform_all(&self) {
        for node in &self.nodes {
            testing::adopt(node, &self.map).await;
        }
    }

    /// Lets a node leave, and waits until another one has noticed.
    pub(crate) async fn lose(&self, gone: usize, seen_by: usize) {
        let mut changes = self.nodes[seen_by].subscribe_topology();
        self.nodes[gone].leave().await.unwrap();
        let is_down = |snapshot: ostrakon::TopologySnapshot| {
            let mut members = snapshot.members.into_iter();
            members.any(|member| {
                member.name == *self.nodes[gone].name()
                    && member.status == ostrakon::MemberStatus::Down
            })
        };
        while !is_down(changes.next().await.unwrap()) {}
    }

    pub(crate) async fn leave(self) {
        for node in self.nodes {
            node.leave().await.unwrap();
        }
    }
}

pub(crate) fn owned(node: &NodeName, epoch: u64) -> Option<Assignment> {
    Some(Assignment {
        owner: node.clone(),
        epoch: ostrakon::Epoch::new(epoch),
    })
}
