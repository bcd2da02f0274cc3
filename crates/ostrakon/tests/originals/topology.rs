//! The topology of a cluster of one.

use std::time::Duration;

use ostrakon::{Hosting, MemberStatus, TopologySnapshot};
use tokio::time::timeout;

use crate::{
    Setup,
    counter::{Counter, counters},
};

twice! {
    a_subscriber_gets_a_snapshot_with_this_node_at_once,
    without_a_change_nothing_follows_the_first_snapshot,
}

fn statuses(snapshot: &TopologySnapshot) -> Vec<(&str, MemberStatus)> {
    let members = snapshot.members.iter();
    members.map(|m| (m.name.as_str(), m.status)).collect()
}

// Casty, cluster and topology actor: a single node is up, and a subscription begins with a snapshot that has it.
async fn a_subscriber_gets_a_snapshot_with_this_node_at_once(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let mut changes = node.subscribe_topology();
    let first = changes.next().await.unwrap();
    assert_eq!(statuses(&first), [("solo", MemberStatus::Up)]);
    assert_eq!(first, node.topology());
    node.leave().await.unwrap();
}

// Casty, topology actor: a check that finds nothing new pushes nothing; a real change is pushed.
async fn without_a_change_nothing_follows_the_first_snapshot(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let mut changes = node.subscribe_topology();
    changes.next().await.unwrap();
    node.entity::<Counter>("c1").add(1).await.unwrap();
    node.spawn("tally", Counter::default()).unwrap();
    let quiet = timeout(Duration::from_secs(60), changes.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    node.leave().await.unwrap();
    let last = changes.next().await.unwrap();
    assert_eq!(statuses(&last), [("solo", MemberStatus::Down)]);
}
