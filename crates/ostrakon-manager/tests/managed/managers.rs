//! Managers that come, go, and stand by.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use ostrakon::{Managed, Node};
use ostrakon_core::{
    DeathProof, Epoch, Failover, LeaseTiming, Liveness, NodeName, Policy, Registration, ShardKey,
};
use ostrakon_faults::Proxy;
use ostrakon_health::{BoxFuture, Health};
use ostrakon_manager::{Manager, ManagerSettings, OtherRules, View, Wish};
use ostrakon_storage::{Memory, Storage, StorageSettings};

use crate::cluster::{Counter, is_spread, node, spread, until};

fn epochs(view: &View) -> Vec<(ShardKey, Option<Epoch>)> {
    let shards = view.state().groups().flat_map(|group| group.iter());
    let epoch = |(shard, ownership): (ShardKey, ostrakon_core::Ownership)| {
        (shard, ownership.owner().map(|(_, epoch)| epoch))
    };
    shards.map(epoch).collect()
}

/// Asks without pause, until told to stop; returns the first that was not answered.
async fn keep_asking(
    node: Node,
    answered: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
) -> Option<String> {
    while !over.load(Ordering::Relaxed) {
        let id = answered.fetch_add(1, Ordering::Relaxed) % 100;
        let counter = node.entity::<Counter>(format!("counter-{id}"));
        if let Err(error) = counter.add(1).await {
            return Some(error.to_string());
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Waits until everybody has asked a hundred times more.
async fn asked_on(counts: &[Arc<AtomicU64>]) {
    let count = |count: &Arc<AtomicU64>| count.load(Ordering::Relaxed);
    let before: Vec<_> = counts.iter().map(count).collect();
    while counts
        .iter()
        .zip(&before)
        .any(|(now, before)| count(now) < before + 100)
    {
        tokio::task::yield_now().await;
    }
}

fn over_file(name: &str) -> (ManagerSettings, tempdir::Folder) {
    let folder = tempdir::Folder::new(name);
    let settings = ManagerSettings {
        storage: format!("file:{}", folder.path().join("log.redb").display()),
        ..ManagerSettings::default()
    };
    (settings, folder)
}

mod tempdir {
    use std::path::{Path, PathBuf};

    pub(super) struct Folder(PathBuf);

    impl Folder {
        pub(super) fn new(name: &str) -> Self {
            let name = format!("ostrakon-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        pub(super) fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_work_while_the_manager_is_away_and_keep_their_shards_when_it_is_back() {
    let (mut settings, _folder) = over_file("restart");
    settings.policy.rebalance_every = Duration::from_secs(3);
    let manager = Manager::start(settings.clone()).await.unwrap();
    settings.listen = manager.address().unwrap().to_string();
    let (one, two) = tokio::join!(node("node-1", &manager), node("node-2", &manager));
    let shares = [("node-1", 150), ("node-2", 150)];
    until(&manager, "equal shares", |view| is_spread(view, &shares)).await;
    let before = epochs(&manager.desk().view());
    manager.stop().await;
    for id in 0..100 {
        let id = format!("counter-{id}");
        assert_eq!(one.entity::<Counter>(&id).add(1).await.unwrap(), 1);
        assert_eq!(two.entity::<Counter>(&id).add(1).await.unwrap(), 2);
    }
    let manager = Manager::start(settings).await.unwrap();
    let three = node("node-3", &manager).await;
    assert_eq!(
        three.entity::<Counter>("counter-7").add(1).await.unwrap(),
        3
    );
    // The newcomer gets its share by and by, at 2 % of the shards a round; all others stay where they are.
    until(&manager, "the newcomer's first shards", |view| {
        let moved = before
            .iter()
            .zip(epochs(view))
            .filter(|(old, new)| *old != new);
        moved.count() == 6 && spread(view).contains(&("node-3".to_owned(), 6))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_leader_goes_another_takes_over_and_nobody_notices() {
    let storage: Arc<dyn Storage> = Arc::new(Memory::new(StorageSettings::default()));
    let settings = |name: &str| ManagerSettings {
        name: name.to_owned(),
        patience: Duration::from_millis(2500),
        ..ManagerSettings::default()
    };
    let first = Manager::start_over(Arc::clone(&storage), settings("first"))
        .await
        .unwrap();
    until(&first, "its lead", |view| {
        view.leader().is_some_and(|leader| leader.is_me)
    })
    .await;
    let second = Manager::start_over(storage, settings("second"))
        .await
        .unwrap();
    let managers = Managed::by([
        first.address().unwrap().to_string(),
        second.address().unwrap().to_string(),
    ]);
    let start = |name: &str| {
        Node::builder(name)
            .managed(managers.clone())
            .host::<Counter>()
            .start()
    };
    let (one, two) = tokio::join!(start("node-1"), start("node-2"));
    let (one, two) = (one.unwrap(), two.unwrap());
    let shares = [("node-1", 150), ("node-2", 150)];
    until(&second, "equal shares", |view| is_spread(view, &shares)).await;
    let before = epochs(&second.desk().view());

    let over = Arc::new(AtomicBool::new(false));
    let counts = [Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0))];
    let asking = [(one.clone(), &counts[0]), (two.clone(), &counts[1])]
        .map(|(node, count)| tokio::spawn(keep_asking(node, Arc::clone(count), Arc::clone(&over))));
    first.stop().await;
    until(&second, "its lead", |view| {
        view.leader().is_some_and(|leader| leader.is_me)
    })
    .await;
    let asked_on = tokio::time::timeout(Duration::from_secs(20), asked_on(&counts)).await;
    over.store(true, Ordering::Relaxed);
    for asking in asking {
        assert_eq!(asking.await.unwrap(), None);
    }
    assert!(asked_on.is_ok(), "nobody answers under the new leader");
    assert_eq!(epochs(&second.desk().view()), before);
    let wish = Wish::Drain {
        node: NodeName::new("node-1").unwrap(),
    };
    second.desk().wish(wish).await.unwrap();
    until(&second, "the move", |view| {
        is_spread(view, &[("node-1", 0), ("node-2", 300)])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_leaves_without_a_manager_and_does_not_hang() {
    let (settings, _folder) = over_file("farewell");
    let manager = Manager::start(settings).await.unwrap();
    let one = node("node-1", &manager).await;
    assert_eq!(one.entity::<Counter>("a").add(1).await.unwrap(), 1);
    manager.stop().await;
    let began = Instant::now();
    one.leave().await.unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_leases_nodes_rest_without_a_manager_and_go_on_with_all_they_had() {
    let (mut settings, _folder) = over_file("lease");
    settings.policy = Policy {
        failover: Failover::Lease(LeaseTiming::fast()),
        ..Policy::default()
    };
    let manager = Manager::start(settings.clone()).await.unwrap();
    settings.listen = manager.address().unwrap().to_string();
    let managed =
        Managed::from(manager.address().unwrap()).slack(LeaseTiming::fast().times().slack);
    let one = Node::builder("node-1")
        .managed(managed)
        .host::<Counter>()
        .start()
        .await
        .unwrap();
    let counter = one.entity::<Counter>("a");
    assert_eq!(counter.add(1).await.unwrap(), 1);
    manager.stop().await;
    // The lease was three seconds long at most.
    tokio::time::sleep(Duration::from_millis(3200)).await;
    let patient = tokio::spawn(async move { counter.add(1).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!patient.is_finished(), "it acts without a lease");
    let _manager = Manager::start(settings).await.unwrap();
    // The same life of the entity: it remembers.
    assert_eq!(patient.await.unwrap().unwrap(), 2);
}

/// Calls everybody dead who is asked for.
struct Liar;

impl Health for Liar {
    fn name(&self) -> &str {
        "liar"
    }

    fn probe<'a>(&'a self, _: &'a Registration) -> BoxFuture<'a, Liveness> {
        let proof = DeathProof::Operator("a test says so".to_owned());
        Box::pin(std::future::ready(Liveness::Dead(proof)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_called_dead_begins_anew_when_it_hears_of_it() {
    let manager = Manager::start(ManagerSettings {
        health: Arc::new(Liar),
        ..ManagerSettings::default()
    });
    let manager = manager.await.unwrap();
    let line = Proxy::to(manager.address().unwrap()).unwrap();
    let managed = Managed::from(line.address());
    let one = Node::builder("node-1")
        .managed(managed)
        .host::<Counter>()
        .start()
        .await
        .unwrap();
    let counter = one.entity::<Counter>("a");
    assert_eq!(counter.add(1).await.unwrap(), 1);
    let runs = |view: &View| {
        view.state()
            .members()
            .map(|(run, _)| run)
            .collect::<Vec<_>>()
    };
    let before = runs(&manager.desk().view());
    // The connection breaks, the manager asks whether the node is dead, and is told that it is.
    line.cut();
    line.pass();
    until(&manager, "another run", |view| {
        let now = runs(view);
        now.len() == 1 && now != before && is_spread(view, &[("node-1", 300)])
    })
    .await;
    // What it had in memory belonged to the run that is over.
    let until = Instant::now() + Duration::from_secs(10);
    while counter.add(1).await.unwrap() != 1 {
        assert!(Instant::now() < until, "its old state is still there");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_without_rules_of_its_own_keeps_those_it_finds() {
    let storage: Arc<dyn Storage> = Arc::new(Memory::new(StorageSettings::default()));
    let start = async |other_rules, pause| {
        let settings = ManagerSettings {
            patience: Duration::from_millis(100),
            policy: Policy {
                rebalance_every: Duration::from_secs(pause),
                ..Policy::default()
            },
            other_rules,
            ..ManagerSettings::default()
        };
        let started = Manager::start_over(Arc::clone(&storage), settings).await;
        let manager = started.unwrap();
        until(&manager, "its lead", |view| {
            view.leader().is_some_and(|leader| leader.is_me)
        })
        .await;
        manager
    };
    for (other_rules, pause, found) in [
        (OtherRules::Keep, 7, 7),
        (OtherRules::Keep, 8, 7),
        (OtherRules::Replace, 9, 9),
        (OtherRules::Keep, 10, 9),
    ] {
        let manager = start(other_rules, pause).await;
        until(&manager, "the rules", |view| {
            view.state().policy().rebalance_every == Duration::from_secs(found)
        })
        .await;
        manager.stop().await;
    }
}
