//! The lives of entities: what they know, what wakes them, and when they end.

use tokio::time::timeout;

use crate::{
    citizen::{Citizen, Sleeper},
    cluster::{Cluster, SOON},
    gate::Gate,
};

pub(crate) async fn a_timer_rings(cluster: Cluster) {
    for node in &cluster.nodes {
        for id in 0..4 {
            let citizen = node.entity::<Citizen>(format!("citizen-{id}"));
            let (gate, name) = Gate::new();
            citizen.remind(20, name).await.unwrap();
            gate.knocked(1).await;
            gate.open();
            citizen.notes().await.unwrap();
            assert_eq!(gate.knocks(), 1, "it rings once");
        }
    }
}

pub(crate) async fn an_idle_entity_stops_and_starts_anew(cluster: Cluster) {
    for node in &cluster.nodes {
        let (asleep, id) = Gate::new();
        let sleeper = node.entity::<Sleeper>(&id);
        assert_eq!(sleeper.visit().await, Ok(1));
        timeout(SOON, asleep.opened()).await.expect("its sleep");
        assert_eq!(sleeper.visit().await, Ok(1), "it has forgotten the first");
    }
}

pub(crate) async fn an_entity_knows_its_node_and_its_epoch(cluster: Cluster) {
    let names = cluster.names();
    for node in &cluster.nodes {
        for id in 0..20 {
            let id = format!("citizen-{id}");
            let citizen = node.entity::<Citizen>(&id);
            let lives_on = citizen.node().await.unwrap();
            assert!(names.contains(&lives_on), "{lives_on}");
            let place = node.locate("citizen", &id).unwrap();
            assert_eq!(place.node.as_str(), lives_on);
            assert_eq!(citizen.epoch().await, Ok(place.epoch.get()));
            assert!(place.epoch.get() > 0);
        }
    }
}
