//! Where entities are, and which nodes there are.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon::MemberStatus;
use tokio::time::timeout;

use crate::{
    citizen::Citizen,
    cluster::{Cluster, SOON, until_up, up},
};

pub(crate) async fn every_entity_lives_exactly_once(cluster: Cluster) {
    let mut lives_on = BTreeMap::new();
    for (before, node) in (0..).zip(&cluster.nodes) {
        for id in 0..200 {
            let citizen = node.entity::<Citizen>(format!("citizen-{id}"));
            let visits = citizen.note(before).await;
            assert_eq!(visits, Ok(before + 1), "all visits are of the same one");
            let here = citizen.node().await.unwrap();
            let place = lives_on.entry(id).or_insert_with(|| here.clone());
            assert_eq!(*place, here, "{id} seen by {}", node.name());
        }
    }
    let used: BTreeSet<String> = lives_on.into_values().collect();
    assert!(used.into_iter().eq(cluster.names()), "each node has some");
    let active = cluster.nodes.iter().map(|node| node.active("citizen"));
    assert_eq!(active.sum::<Result<usize, _>>(), Ok(200));
}

pub(crate) async fn the_topology_lists_all_nodes(cluster: Cluster) {
    for node in &cluster.nodes {
        assert_eq!(up(&node.topology()), cluster.names());
        assert_eq!(node.topology().members.len(), cluster.nodes.len());
        let mut snapshots = node.subscribe_topology();
        assert_eq!(snapshots.next().await, Some(node.topology()));
    }
}

pub(crate) async fn the_topology_changes_when_a_node_leaves(mut cluster: Cluster) {
    let leaving = cluster.nodes.remove(1);
    let mut snapshots = cluster.nodes[0].subscribe_topology();
    assert_eq!(up(&snapshots.next().await.unwrap()).len(), 3);
    let gone = async {
        loop {
            let snapshot = snapshots.next().await.unwrap();
            let mut members = snapshot.members.iter();
            let member = members.find(|member| member.name == *leaving.name());
            if member.is_none_or(|member| member.status == MemberStatus::Down) {
                return up(&snapshot);
            }
        }
    };
    let (left, gone) = tokio::join!(leaving.leave(), timeout(SOON, gone));
    assert_eq!(left, Ok(()));
    assert_eq!(gone.expect("its absence"), cluster.names());
    until_up(&cluster.nodes[1], &cluster.names()).await;
}
