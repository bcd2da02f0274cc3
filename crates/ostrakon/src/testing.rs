//! A cluster whose map comes from outside: for tests and measurements of what is below a plane.
//!
//! Nobody decides anything here: whoever calls [`adopt`] says who owns what, and when each node learns it.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ostrakon_core::{Incarnation, NodeName, ShardGroup};
use tokio::net::TcpListener;

pub use ostrakon_core::{Assignment, ShardMap, Version};

use crate::{
    Limits, Node, Security, StartError,
    builder::Services,
    link::{Hub, HubParts, Me, bind},
};

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
        self.security.check(&self.cluster, name, address)?;
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
