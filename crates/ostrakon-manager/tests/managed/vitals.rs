//! What nodes say they are doing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ostrakon::{Managed, Node};
use ostrakon_control::{FromNode, HotShard, Seat, Vitals};
use ostrakon_core::{GroupName, ShardId, ShardKey};
use ostrakon_manager::{Manager, ManagerSettings, NodeVitals};
use ostrakon_storage::{Memory, Storage, StorageSettings};

use crate::{
    callers::Caller,
    cluster::{Counter, is_spread, manager, node, until},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// Asks until the manager knows of the node what is wanted: for what nodes say there is no event to wait for.
async fn until_it_is_said(
    manager: &Manager,
    node: &Node,
    wanted: impl Fn(&NodeVitals) -> bool,
) -> NodeVitals {
    let began = Instant::now();
    loop {
        for number in 0..200 {
            let id = match number % 4 {
                0 => format!("cold-{number}"),
                _ => "hot".to_owned(),
            };
            node.entity::<Counter>(id).add(1).await.unwrap();
        }
        let said = manager.desk().vitals();
        let named = said.iter().find(|said| said.name == *node.name());
        if let Some(found) = named.filter(|said| wanted(said)) {
            return found.clone();
        }
        assert!(began.elapsed() < PATIENCE, "not said in time: {said:?}");
    }
}

async fn until_nobody_says(manager: &Manager, name: &str) {
    let began = Instant::now();
    while manager
        .desk()
        .vitals()
        .iter()
        .any(|said| said.name.as_str() == name)
    {
        assert!(began.elapsed() < PATIENCE, "{name} is still heard");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hot_entity_and_its_shard_are_named_and_nothing_of_it_is_in_the_log() {
    let manager = manager().await;
    let one = node("node-1", &manager).await;
    until(&manager, "all shards", |view| {
        is_spread(view, &[("node-1", 300)])
    })
    .await;
    let before = manager.desk().view().state().applied();
    // Three of four messages are for it, as far as samples can tell.
    let is_right = |vitals: &Vitals| {
        let hot = vitals.hot_entities.first();
        let hot = hot.filter(|hot| hot.id.as_str() == "hot" && hot.kind.as_str() == "counter");
        let part = |rate: u64| rate as f64 / vitals.messages_per_1000s as f64;
        hot.is_some_and(|hot| (0.6..0.9).contains(&part(hot.messages_per_1000s)))
    };
    let said = until_it_is_said(&manager, &one, |said| {
        said.vitals.entities == 51 && is_right(&said.vitals)
    })
    .await;
    let vitals = &said.vitals;
    let shard = one.locate("counter", "hot").unwrap().shard;
    assert_eq!(vitals.hot_shards[0].shard.shard, shard);
    let hottest = vitals.hot_shards[0].messages_per_1000s;
    assert!(hottest >= vitals.messages_per_1000s / 2, "{vitals:?}");
    assert!(vitals.p50_ns.is_some() && vitals.p50_ns <= vitals.p99_ns);
    assert_eq!(said.lease_left(), None, "it lives by proof");
    assert!(said.ago < Duration::from_secs(5), "{:?}", said.ago);
    assert_eq!(manager.desk().view().state().applied(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_ends_is_not_shown_any_more() {
    let manager = manager().await;
    let (one, two) = tokio::join!(node("node-1", &manager), node("node-2", &manager));
    until_it_is_said(&manager, &one, |_| true).await;
    until_it_is_said(&manager, &two, |_| true).await;
    two.leave().await.unwrap();
    until_nobody_says(&manager, "node-2").await;
    drop(one);
    until_nobody_says(&manager, "node-1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_stands_by_is_told_as_well() {
    let storage: Arc<dyn Storage> = Arc::new(Memory::new(StorageSettings::default()));
    let start = |name: &str| {
        let settings = ManagerSettings {
            name: name.to_owned(),
            ..ManagerSettings::default()
        };
        Manager::start_over(Arc::clone(&storage), settings)
    };
    let (first, second) = tokio::join!(start("first"), start("second"));
    let managers = [first.unwrap(), second.unwrap()];
    let addresses = managers.each_ref().map(|manager| {
        let address = manager.address();
        address.unwrap().to_string()
    });
    let one = Node::builder("node-1")
        .managed(Managed::by(addresses))
        .host::<Counter>();
    let one = one.start().await.unwrap();
    for manager in &managers {
        until_it_is_said(manager, &one, |said| !said.vitals.hot_entities.is_empty()).await;
    }
    let leads = |manager: &Manager| {
        let leader = manager.desk().view().leader();
        leader.is_some_and(|leader| leader.is_me)
    };
    assert_eq!(managers.iter().filter(|manager| leads(manager)).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_say_nothing_of_the_kind_and_nodes_no_more_than_they_may() {
    let manager = manager().await;
    let hot = |number| HotShard {
        shard: ShardKey {
            group: GroupName::default(),
            shard: ShardId::new(number).unwrap(),
        },
        messages_per_1000s: 1,
    };
    let most = u32::try_from(Vitals::MOST_HOT).unwrap();
    let vitals = |shards| {
        FromNode::Vitals(Box::new(Vitals {
            hot_shards: (1..=shards).map(hot).collect(),
            ..Vitals::default()
        }))
    };
    let address = manager.address().unwrap();
    let client = Caller::call(address, "client", Seat::Client).await;
    client.mouth.say(vitals(0));
    client.ends().await;
    let node = Caller::call(address, "too-much", Seat::Node).await;
    node.mouth.say(vitals(most + 1));
    node.ends().await;
    assert_eq!(manager.desk().vitals(), []);
    let node = Caller::call(address, "well-behaved", Seat::Node).await;
    node.mouth.say(vitals(most));
    let began = Instant::now();
    while manager.desk().vitals().is_empty() {
        assert!(began.elapsed() < PATIENCE, "it is not heard");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(manager.desk().vitals()[0].name.as_str(), "well-behaved");
}
