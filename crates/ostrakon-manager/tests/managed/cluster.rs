//! A cluster under test: a manager, nodes, and an entity that counts.

use std::time::{Duration, Instant};

use ostrakon::{Managed, Node, NodeBuilder, entity};
use ostrakon_manager::{Manager, ManagerSettings, View};

/// Counts, and remembers on which node it does.
#[derive(Default)]
pub(crate) struct Counter {
    count: u64,
}

#[entity(kind = "counter")]
impl Counter {
    pub(crate) async fn add(&mut self, amount: u64) -> u64 {
        self.count += amount;
        self.count
    }

    pub(crate) async fn place(&self, ctx: &ostrakon::Context<Self>) -> String {
        ctx.node().name().to_string()
    }
}

pub(crate) async fn manager() -> Manager {
    Manager::start(ManagerSettings::default()).await.unwrap()
}

pub(crate) fn builder(name: &str, manager: &Manager) -> NodeBuilder {
    Node::builder(name)
        .managed(Managed::from(manager.address()))
        .host::<Counter>()
}

pub(crate) async fn node(name: &str, manager: &Manager) -> Node {
    builder(name, manager).start().await.unwrap()
}

/// Waits until the view of a manager is as wanted.
pub(crate) async fn until(manager: &Manager, what: &str, wanted: impl Fn(&View) -> bool) {
    let mut events = manager.desk().follow();
    let began = Instant::now();
    while !wanted(&manager.desk().view()) {
        let patience = Duration::from_secs(20).saturating_sub(began.elapsed());
        let news = tokio::time::timeout(patience, events.changed()).await;
        let spread = spread(&manager.desk().view());
        assert!(
            news.is_ok_and(|news| news.is_ok()),
            "{what} did not happen in time: {spread:?}"
        );
    }
}

/// How many shards each node owns.
pub(crate) fn spread(view: &View) -> Vec<(String, usize)> {
    let mut spread = Vec::new();
    for (incarnation, member) in view.state().members() {
        let shards = view.state().groups().flat_map(|group| group.iter());
        let own = shards
            .filter(|(_, ownership)| ownership.owner().is_some_and(|(by, _)| by == incarnation));
        spread.push((member.registration.name.to_string(), own.count()));
    }
    spread.sort();
    spread
}

/// Whether the shards are spread so.
pub(crate) fn is_spread(view: &View, wanted: &[(&str, usize)]) -> bool {
    let wanted = wanted
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count));
    spread(view) == wanted.collect::<Vec<_>>()
}
