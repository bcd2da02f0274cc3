//! What everybody can see.

use std::time::Duration;

use ostrakon_manager::ManagerSettings;

use crate::house::{House, log_of, manager_settings, with_token, written_log};

#[tokio::test]
async fn the_status_says_who_leads_and_how_many_there_are() {
    let house = House::with_two_nodes().await;
    let status = house.get("/v1/status").await.json();
    assert_eq!(status["leader"]["manager"], "manager");
    assert_eq!(status["leader"]["is_this"], true);
    assert_eq!(status["nodes"], 2);
    assert_eq!(status["rebalancing"], "on");
    assert_eq!(status["failover"], "proof");
    let group = &status["groups"][0];
    assert_eq!(group["name"], "default");
    assert_eq!(group["shards"], 10);
    assert_eq!(group["unowned"], 0);
}

#[tokio::test]
async fn nodes_are_listed_with_their_shards() {
    let house = House::with_two_nodes().await;
    let all = house.get("/v1/nodes").await.json();
    assert_eq!(all["nodes"].as_array().unwrap().len(), 2);
    let one = house.get("/v1/nodes/node-1").await.json();
    assert_eq!(one["nodes"][0]["name"], "node-1");
    assert_eq!(one["nodes"][0]["shards"], 10);
    assert_eq!(one["nodes"][0]["state"], "active");
    assert_eq!(one["nodes"][0]["silent"], false);
    let nobody = house.get("/v1/nodes/node-9").await;
    assert!(nobody.problem(404).contains("node-9"));
}

#[tokio::test]
async fn shards_are_listed_by_node_and_by_group() {
    let house = House::with_two_nodes().await;
    let count = |path: &'static str| {
        let house = &house;
        async move {
            house.get(path).await.json()["shards"]
                .as_array()
                .unwrap()
                .len()
        }
    };
    assert_eq!(count("/v1/shards").await, 10);
    assert_eq!(count("/v1/shards?node=node-1").await, 10);
    assert_eq!(count("/v1/shards?node=node-2").await, 0);
    assert_eq!(count("/v1/shards?group=default").await, 10);
    assert!(
        house
            .get("/v1/shards?group=other")
            .await
            .problem(404)
            .contains("other")
    );
    assert!(
        house
            .get("/v1/shards?nod=node-1")
            .await
            .problem(400)
            .contains("nod")
    );
    let assignments = house.get("/v1/assignments").await.json();
    let own = &assignments["groups"]["default"]["nodes"]["node-1"];
    assert_eq!(own.as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn a_shard_is_explained_by_the_events_that_made_it_so() {
    let house = House::with_two_nodes().await;
    let shard = house.get("/v1/explain/default/10").await.json();
    assert_eq!(shard["owner"], "node-1");
    assert_eq!(shard["epoch"], 5);
    assert!(
        shard["why"].as_str().unwrap().contains("nobody had it"),
        "{shard}"
    );
    assert!(shard["since_event"].is_number());
    assert!(
        house
            .get("/v1/explain/default/11")
            .await
            .problem(404)
            .contains("1 to 10")
    );
    assert!(
        house
            .get("/v1/explain/default/0")
            .await
            .problem(404)
            .contains("no shard 0")
    );
    house.get("/v1/explain/default/x").await.problem(400);
    house.get("/v1/explain/other/1").await.problem(404);
}

#[tokio::test]
async fn a_move_is_explained_while_it_lasts() {
    let house = House::with_two_nodes().await;
    assert_eq!(house.post("/v1/rebalance", "").await.status, 202);
    house
        .until("a move", |view| is_moving(view).is_some())
        .await;
    let number = is_moving(&house.manager.desk().view()).unwrap();
    let shard = house
        .get(&format!("/v1/explain/default/{number}"))
        .await
        .json();
    assert_eq!(shard["state"], "moving");
    assert_eq!(shard["to"], "node-2");
    assert_eq!(shard["next"], "it goes to node-2: balance");
}

fn is_moving(view: &ostrakon_manager::View) -> Option<u32> {
    let mut shards = view.state().groups().flat_map(|group| group.iter());
    let moving = shards
        .find(|(_, ownership)| matches!(ownership, ostrakon_core::Ownership::Releasing { .. }));
    moving.map(|(key, _)| key.shard.get())
}

#[tokio::test]
async fn an_entity_is_found_by_the_hash_of_its_group() {
    let house = House::with_two_nodes().await;
    let id = ostrakon_core::EntityId::new("guild 1").unwrap();
    let count = ostrakon_core::ShardCount::new(10).unwrap();
    let shard = ostrakon_core::shard_of(&id, count, &ostrakon_core::ShardHash::Stable).unwrap();
    for path in [
        "/v1/explain?group=default&id=guild%201",
        "/v1/explain?id=guild+1",
    ] {
        let found = house.get(path).await.json();
        assert_eq!(found["shard"], shard.get());
        assert_eq!(found["entity"], "guild 1");
    }
    assert!(
        house
            .get("/v1/explain?group=default")
            .await
            .problem(400)
            .contains("id")
    );
}

#[tokio::test]
async fn an_entity_whose_place_only_its_nodes_know_is_not_guessed() {
    let spec = ostrakon_core::GroupSpec {
        name: ostrakon_core::GroupName::default(),
        count: ostrakon_core::ShardCount::new(10).unwrap(),
        hash: "mine".to_owned(),
        role: None,
    };
    let storage = log_of([ostrakon_core::Command::CreateGroup(spec)]).await;
    let house = House::over(storage, manager_settings(), with_token()).await;
    let problem = house.get("/v1/explain?id=a").await.problem(400);
    assert!(problem.contains("`mine`"), "{problem}");
    let shard = house.get("/v1/explain/default/1").await.json();
    assert_eq!(shard["state"], "unowned");
    assert!(
        shard["why"].as_str().unwrap().contains("waits for a node"),
        "{shard}"
    );
}

#[tokio::test]
async fn a_manager_that_stands_by_can_be_looked_at_and_says_who_leads() {
    let patient = ManagerSettings {
        name: "second".to_owned(),
        patience: Duration::from_secs(3600),
        ..ManagerSettings::default()
    };
    let house = House::standing_by(written_log().await, patient, with_token()).await;
    house
        .until("it has read", |view| view.state().members().len() == 2)
        .await;
    let status = house.get("/v1/status").await.json();
    assert_eq!(status["leader"]["manager"], "former");
    assert_eq!(status["leader"]["is_this"], false);
    assert_eq!(
        status["silent"],
        serde_json::Value::Null,
        "only who leads knows"
    );
    assert_eq!(
        house.get("/v1/nodes/node-1").await.json()["nodes"][0]["silent"],
        serde_json::Value::Null
    );
    for path in [
        "/v1/nodes/node-1/drain",
        "/v1/rebalance",
        "/v1/rebalance?dry_run=true",
        "/v1/rebalancing/freeze",
    ] {
        let reply = house.post(path, "").await;
        assert!(reply.problem(421).contains("former"), "{path}: {reply:?}");
        assert_eq!(reply.json()["leader"], "former");
    }
}

#[tokio::test]
async fn probes_and_metrics_are_plain_text() {
    let house = House::with_two_nodes().await;
    assert_eq!(house.get("/healthz").await.body, "ok\n");
    assert_eq!(house.get("/readyz").await.body, "ready\n");
    assert!(
        house
            .get("/metrics")
            .await
            .body
            .contains("ostrakon_manager_leads 1")
    );
}

#[tokio::test]
async fn a_manager_that_has_stopped_is_neither_alive_nor_ready() {
    let House {
        manager,
        admin,
        storage,
    } = House::with_two_nodes().await;
    let second = manager.desk().clone();
    manager.stop().await;
    let other = ostrakon_manager::Manager::start_over(storage.clone(), manager_settings())
        .await
        .unwrap();
    let house = House {
        manager: other,
        admin,
        storage,
    };
    house.get("/healthz").await.problem(503);
    house.get("/readyz").await.problem(503);
    assert!(second.knock().await.is_err());
}
