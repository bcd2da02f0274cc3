//! Nodes that share the storage with their managers.

use std::{sync::Arc, time::Duration};

use ostrakon::{Managed, Node};
use ostrakon_core::{Failover, LeaseTiming, Policy};
use ostrakon_manager::{Manager, ManagerSettings};
use ostrakon_storage::{Memory, Storage, StorageSettings};

use crate::cluster::{Counter, is_spread, until};

/// A storage, and managers and nodes that use it.
struct Shop {
    storage: Arc<dyn Storage>,
    settings: ManagerSettings,
}

impl Shop {
    async fn open() -> (Self, Manager) {
        let storage: Arc<dyn Storage> = Arc::new(Memory::new(StorageSettings::default()));
        let settings = ManagerSettings {
            policy: Policy {
                failover: Failover::Lease(LeaseTiming::fast()),
                rebalance_every: Duration::from_secs(1),
                ..Policy::default()
            },
            ..ManagerSettings::default()
        };
        let mut shop = Self { storage, settings };
        let manager = shop.manager().await;
        shop.settings.listen = manager.address().unwrap().to_string();
        (shop, manager)
    }

    async fn manager(&self) -> Manager {
        let storage = Arc::clone(&self.storage);
        Manager::start_over(storage, self.settings.clone())
            .await
            .unwrap()
    }

    async fn node(&self, name: &str) -> Node {
        let managed = Managed::by([self.settings.listen.clone()])
            .slack(LeaseTiming::fast().times().slack)
            .storage(Arc::clone(&self.storage));
        let node = Node::builder(name).managed(managed).host::<Counter>();
        node.start().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_in_the_storage_outlive_the_managers() {
    let (shop, manager) = Shop::open().await;
    let one = shop.node("node-1").await;
    until(&manager, "all shards", |view| {
        is_spread(view, &[("node-1", 300)])
    })
    .await;
    let counter = one.entity::<Counter>("a");
    assert_eq!(counter.add(1).await.unwrap(), 1);
    manager.stop().await;
    // More than twice as long as a lease: without the storage the node would rest by now.
    for second in 0..7 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let asked = tokio::time::timeout(Duration::from_millis(500), counter.add(1));
        assert_eq!(asked.await.expect("an answer at once").unwrap(), second + 2);
    }
    let manager = shop.manager().await;
    until(&manager, "its lead", |view| {
        view.leader().is_some_and(|leader| leader.is_me)
    })
    .await;
    assert_eq!(counter.add(1).await.unwrap(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_starts_while_the_managers_are_away_and_gets_shards_when_one_is_back() {
    let (shop, manager) = Shop::open().await;
    let one = shop.node("node-1").await;
    until(&manager, "all shards", |view| {
        is_spread(view, &[("node-1", 300)])
    })
    .await;
    manager.stop().await;
    let two = shop.node("node-2").await;
    assert_eq!(two.entity::<Counter>("a").add(1).await.unwrap(), 1);
    assert_eq!(one.entity::<Counter>("a").add(1).await.unwrap(), 2);
    let manager = shop.manager().await;
    until(&manager, "its share", |view| {
        crate::cluster::spread(view)
            .iter()
            .any(|(name, share)| name == "node-2" && *share > 0)
    })
    .await;
    assert_eq!(two.entity::<Counter>("b").add(1).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_counts_no_more_loses_its_shards_when_its_lease_has_run_out() {
    let (shop, manager) = Shop::open().await;
    let (one, two) = tokio::join!(shop.node("node-1"), shop.node("node-2"));
    let shares = [("node-1", 150), ("node-2", 150)];
    until(&manager, "equal shares", |view| is_spread(view, &shares)).await;
    // Its process would be proof; here it is this one, which lives.
    drop(two);
    until(&manager, "the end of its lease", |view| {
        is_spread(view, &[("node-1", 300)])
    })
    .await;
    for id in 0..20 {
        let counter = one.entity::<Counter>(format!("counter-{id}"));
        assert_eq!(counter.add(1).await.unwrap(), 1);
    }
}
