//! A cluster whose map comes from outside: for tests and measurements of what is below a plane.
//!
//! Nobody decides anything here: whoever calls [`adopt`] says who owns what, and when each node learns it.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ostrakon_core::{Epoch, GroupName, Incarnation, NodeName, ShardGroup, ShardId};
use ostrakon_tls::Role;
use tokio::net::TcpListener;

pub use ostrakon_core::{Assignment, ShardMap, Time, Version};

use crate::{
    Limits, Node, Security, StartError,
    builder::Services,
    lease::Lease,
    link::{Hub, HubParts, Me, bind},
    watchdog::{self, Watch},
};

pub use crate::watchdog::Strictness;

/// How a node takes part.
pub struct Fixed {
    /// The cluster's name.
    pub cluster: String,
    /// Where to listen, such as `127.0.0.1:0`.
    pub listen: String,
    /// How connections are protected.
    pub security: Security,
    /// What they may use.
    pub limits: Limits,
}

impl Fixed {
    /// A member of cluster `test` on a free loopback port, in plain text.
    pub fn plain() -> Self {
        Self {
            cluster: "test".to_owned(),
            listen: "127.0.0.1:0".to_owned(),
            security: Security::plaintext(),
            limits: Limits::default(),
        }
    }

    pub(crate) async fn open(
        self,
        name: &NodeName,
        groups: &[ShardGroup],
        services: &Services,
    ) -> Result<(Arc<Hub>, TcpListener), StartError> {
        let failed = |cause: std::io::Error| StartError::Listen {
            address: self.listen.clone(),
            cause: cause.to_string(),
        };
        let (listener, address) = bind(&self.listen).await.map_err(failed)?;
        self.security
            .check(&self.cluster, Role::Node, name.as_str(), address)?;
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let nanos = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
        let parts = HubParts {
            me: Me {
                cluster: self.cluster,
                name: name.clone(),
                incarnation: Incarnation::new(nanos),
                groups: groups.to_vec(),
                message: self.limits.message,
            },
            limits: self.limits,
            security: self.security,
            clock: services.clock,
            topology: Arc::clone(&services.topology),
            actors: Arc::clone(&services.actors),
        };
        Ok((Hub::new(parts, address), listener))
    }
}

fn hub(node: &Node) -> &Arc<Hub> {
    node.0.hub.as_ref().expect("a node of a fixed cluster")
}

/// Where a node listens.
pub fn address(node: &Node) -> SocketAddr {
    hub(node).address
}

/// Says where another node is reached.
pub fn introduce(node: &Node, peer: &str, address: &str) {
    let peer = NodeName::new(peer).expect("a valid name");
    hub(node).introduce(peer, address.to_owned());
}

/// Gives a node a newer map. Returns when it has stopped what is no longer its own.
pub async fn adopt(node: &Node, map: &ShardMap) {
    hub(node).adopt(map.clone()).await;
}

/// The map a node goes by.
pub fn map(node: &Node) -> ShardMap {
    ShardMap::clone(&hub(node).map.load())
}

/// The slowest heartbeat to any node since the last time this was called.
pub fn slowest_heartbeat(node: &Node) -> Option<Duration> {
    hub(node).counts.take_slowest_heartbeat()
}

/// The lease of a node, which nobody but the test extends or ends.
pub fn lease(node: &Node) -> LeaseControl {
    LeaseControl {
        lease: Arc::clone(&node.0.lease),
        node: node.name().to_string(),
    }
}

/// A hand on a node's lease.
#[derive(Clone)]
pub struct LeaseControl {
    lease: Arc<Lease>,
    node: String,
}

impl LeaseControl {
    /// The time by the clock of the lease.
    pub fn now(&self) -> Time {
        self.lease.clock().now()
    }

    /// Whether entities may not act.
    pub fn is_over(&self) -> bool {
        self.lease.is_over()
    }

    /// Entities may not act any more.
    pub fn end(&self) {
        self.lease.end();
    }

    /// Entities may act until then; `None` for ever.
    pub fn extend(&self, until: Option<Time>) {
        self.lease.extend(until);
    }

    /// Starts a watchdog, with exact clocks.
    pub fn watch(&self, slack: Duration, strictness: Strictness) {
        let watch = Watch {
            node: self.node.clone(),
            slack,
            drift_permille: 0,
            strictness,
        };
        watchdog::spawn(&self.lease, watch).expect("a thread");
    }
}

/// Ends all entities of a kind in a shard at once, as if the node had lost it. Returns when they are over.
pub async fn fence(node: &Node, kind: &str, shard: ShardId) {
    let hosted = node.0.hosts.iter().find(|hosted| hosted.kind == kind);
    hosted.expect("hosted").host.fence_shard(shard).await;
}

/// The same as far as the whole node is concerned: if its lease is over, what its entities had left to be sent is given up.
pub async fn lose(node: &Node, shard: ShardId) {
    hub(node).fence_shard(&GroupName::default(), shard).await;
}

/// A shard that was fenced is this node's again.
pub fn reopen(node: &Node, kind: &str, shard: ShardId, epoch: Epoch) {
    let hosted = node.0.hosts.iter().find(|hosted| hosted.kind == kind);
    hosted.expect("hosted").host.open_shard(shard, epoch);
}
