//! `Cluster`: nodes on one of the planes.

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use ostrakon::{GroupName, Hosting, Managed, MemberStatus, Node, NodeBuilder, TopologySnapshot};
use ostrakon_core::{Failover, LeaseTiming, Policy};
use ostrakon_manager::{Manager, ManagerSettings, Wish};
use tokio::time::timeout;

use crate::{
    citizen::{Citizen, Mayor, Sleeper},
    gate::Gate,
};

/// Longer than anything takes that happens at all.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// After how long a [`Sleeper`] sleeps.
const IDLE: Duration = Duration::from_millis(200);

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    plane: Plane,
    /// What the singleton is called, and where it knocks when it begins.
    pub(crate) mayor: String,
    pub(crate) mayor_begins: Arc<Gate>,
}

enum Plane {
    Solo,
    Managed(Box<Manager>),
    /// The addresses of the first nodes.
    Peers(Vec<String>),
}

impl Cluster {
    pub(crate) async fn solo() -> Self {
        Self::of(Plane::Solo, 1).await
    }

    pub(crate) async fn managed(nodes: usize) -> Self {
        let policy = Policy {
            failover: Failover::Lease(LeaseTiming::fast()),
            ..Policy::default()
        };
        let settings = ManagerSettings {
            policy,
            ..ManagerSettings::default()
        };
        let manager = Manager::start(settings).await.unwrap();
        Self::of(Plane::Managed(Box::new(manager)), nodes).await
    }

    pub(crate) async fn peer(nodes: usize) -> Self {
        let addresses = (0..nodes).map(|_| free_address()).collect();
        Self::of(Plane::Peers(addresses), nodes).await
    }

    /// So many nodes, `node-1` and so on, that know each other.
    async fn of(plane: Plane, number: usize) -> Self {
        log();
        let (mayor_begins, mayor) = Gate::new();
        let mut cluster = Self {
            nodes: Vec::new(),
            plane,
            mayor,
            mayor_begins,
        };
        let starting: Vec<_> = (0..number)
            .map(|number| tokio::spawn(cluster.member(number).start()))
            .collect();
        for node in starting {
            cluster.nodes.push(node.await.unwrap().unwrap());
        }
        let names = cluster.names();
        for node in &cluster.nodes {
            until_up(node, &names).await;
        }
        cluster
    }

    /// The next node, beside those that the cluster has.
    pub(crate) async fn join(&self) -> Node {
        self.member(self.nodes.len()).start().await.unwrap()
    }

    /// Has shards balanced now, where that can be asked for.
    pub(crate) async fn rebalance(&self) {
        if let Plane::Managed(manager) = &self.plane {
            manager.desk().wish(Wish::Rebalance).await.unwrap();
        }
    }

    /// What a node that hosts nothing begins with.
    pub(crate) fn client(&self) -> NodeBuilder {
        let client = Node::builder("client-1").reach::<Citizen>(GroupName::default());
        self.newcomer(client)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.nodes.iter().map(|node| node.name().to_string());
        names.collect()
    }

    fn member(&self, number: usize) -> NodeBuilder {
        let member = Node::builder(format!("node-{}", number + 1))
            .host::<Citizen>()
            .host_as::<Sleeper>(Hosting::default().idle_after(IDLE))
            .host::<Mayor>()
            .singleton::<Mayor>(&self.mayor);
        self.placed(member, number)
    }

    /// Takes part, beside the nodes that the cluster has.
    pub(crate) fn newcomer(&self, node: NodeBuilder) -> NodeBuilder {
        self.placed(node, self.nodes.len())
    }

    fn placed(&self, node: NodeBuilder, number: usize) -> NodeBuilder {
        match &self.plane {
            Plane::Solo => node,
            Plane::Managed(manager) => {
                let managed = Managed::from(manager.address().unwrap());
                node.managed(managed.slack(LeaseTiming::fast().times().slack))
            }
            Plane::Peers(addresses) => {
                let at = addresses.get(number).map_or("127.0.0.1:0", |at| at);
                node.peers(at, addresses)
            }
        }
    }
}

/// Waits until a node sees exactly these as members that are up.
pub(crate) async fn until_up(node: &Node, wanted: &[String]) {
    let mut snapshots = node.subscribe_topology();
    let seen = async { while up(&snapshots.next().await.unwrap()) != wanted {} };
    let seen = timeout(SOON, seen).await;
    assert!(seen.is_ok(), "{wanted:?} are not {:?}", node.topology());
}

/// The names of those that are up.
pub(crate) fn up(snapshot: &TopologySnapshot) -> Vec<String> {
    let members = snapshot.members.iter();
    let up = members.filter(|member| member.status == MemberStatus::Up);
    up.map(|member| member.name.to_string()).collect()
}

/// An address that nobody listens on. It is none of those that the system gives to whoever does not care, so nobody takes it until it
/// is used.
fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let begin = std::process::id() % 100;
    loop {
        let number = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 10_000 + (begin * 100 + number) % 10_000;
        let address = format!("127.0.0.1:{port}");
        if TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// Shows what the nodes log, with `OSTRAKON_LOG=1`.
fn log() {
    if std::env::var_os("OSTRAKON_LOG").is_some() {
        let _ = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::INFO)
            .try_init();
    }
}
