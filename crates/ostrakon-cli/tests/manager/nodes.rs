//! Nodes for a manager to look after.

use std::time::Duration;

use ostrakon::{Managed, Node, entity};
use serde_json::Value;

use super::running::Manager;

#[derive(Default)]
struct Counter;

#[entity(kind = "counter")]
impl Counter {
    async fn add(&mut self, amount: u64) -> u64 {
        amount
    }
}

/// Nodes of this process, with a runtime to live in.
pub(crate) struct Nodes {
    runtime: tokio::runtime::Runtime,
    nodes: Vec<Node>,
}

impl Nodes {
    pub(crate) fn start(manager: &Manager<'_>, names: &[&str]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let start = |name: &&str| {
            let builder = Node::builder(*name)
                .managed(Managed::from(manager.nodes))
                .host::<Counter>();
            runtime.block_on(builder.start()).unwrap()
        };
        let nodes = names.iter().map(start).collect();
        Self { runtime, nodes }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in self.nodes.drain(..) {
            let _ = self.runtime.block_on(async {
                tokio::time::timeout(Duration::from_secs(5), node.leave()).await
            });
        }
    }
}

pub(crate) fn is_settled(status: &Value) -> bool {
    status["groups"][0]["owned"] == 300
}
