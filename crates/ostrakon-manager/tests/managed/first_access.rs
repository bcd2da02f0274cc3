//! Shards that get an owner when somebody first wants one.

use ostrakon::{GroupName, Node};
use ostrakon_core::{Placement, Policy};
use ostrakon_manager::{Manager, ManagerSettings};

use super::cluster::{Counter, node, spread};

async fn placing_at_first_access() -> Manager {
    let policy = Policy {
        placement: Placement::AtFirstAccess,
        ..Policy::default()
    };
    let settings = ManagerSettings {
        policy,
        ..ManagerSettings::default()
    };
    Manager::start(settings).await.unwrap()
}

fn owned(manager: &Manager) -> usize {
    spread(&manager.desk().view()).iter().map(|(_, n)| n).sum()
}

#[tokio::test]
async fn a_shard_gets_an_owner_when_a_node_first_asks_for_it() {
    let manager = placing_at_first_access().await;
    let node = node("a", &manager).await;
    assert_eq!(owned(&manager), 0, "nobody has asked for anything");
    assert_eq!(node.entity::<Counter>("one").add(1).await.unwrap(), 1);
    assert_eq!(owned(&manager), 1);
    assert_eq!(node.entity::<Counter>("one").add(1).await.unwrap(), 2);
    assert_eq!(owned(&manager), 1);
}

#[tokio::test]
async fn a_client_that_asks_gets_an_owner_as_well() {
    let manager = placing_at_first_access().await;
    let _node = node("a", &manager).await;
    let client = Node::builder("client-1")
        .managed(manager.address().unwrap())
        .reach::<Counter>(GroupName::default())
        .start()
        .await
        .unwrap();
    assert_eq!(client.entity::<Counter>("one").add(5).await.unwrap(), 5);
    assert_eq!(owned(&manager), 1);
}

#[tokio::test]
async fn shards_that_are_asked_for_one_after_the_other_go_to_the_node_with_the_fewest() {
    let manager = placing_at_first_access().await;
    let (a, b) = (node("a", &manager).await, node("b", &manager).await);
    for number in 0..40 {
        let by = if number % 2 == 0 { &a } else { &b };
        let id = format!("entity-{number}");
        by.entity::<Counter>(&*id).add(1).await.unwrap();
    }
    let spread = spread(&manager.desk().view());
    let (least, most) = (spread[0].1.min(spread[1].1), spread[0].1.max(spread[1].1));
    assert!(least > 0 && most - least <= 1, "{spread:?}");
}
