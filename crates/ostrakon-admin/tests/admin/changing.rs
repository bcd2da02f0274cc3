//! What operators can change.

use ostrakon_core::{Command, Entry, MemberState, Ownership, Policy, Rebalancing};
use ostrakon_manager::{ManagerSettings, View};

use crate::house::{House, manager_settings, with_token};

#[tokio::test]
async fn a_node_that_is_drained_leaves() {
    let house = House::with_two_nodes().await;
    let reply = house.post("/v1/nodes/node-2/drain", "").await;
    assert_eq!(reply.status, 202, "{reply:?}");
    house
        .until("it leaves", |view| {
            view.state()
                .members()
                .any(|(_, member)| member.state == MemberState::Leaving)
        })
        .await;
    assert_eq!(
        house.get("/v1/nodes/node-2").await.json()["nodes"][0]["state"],
        "leaving"
    );
    house.post("/v1/nodes/node-9/drain", "").await.problem(404);
}

#[tokio::test]
async fn a_silent_node_is_shown_with_its_remedy_until_somebody_says_that_it_is_dead() {
    let house = House::with_two_nodes().await;
    let notice = r#"{"word": "its host has burnt down"}"#;
    let path = "/v1/nodes/node-1/confirm-dead";
    let refused = house.post(path, notice).await.problem(409);
    assert!(refused.contains("has been heard"), "{refused}");

    house
        .until("silence", |view| view.silences().count() == 2)
        .await;
    let status = house.get("/v1/status").await.json();
    let silent = &status["silent"][0];
    assert_eq!(silent["node"], "node-1");
    assert_eq!(silent["shards"], 10);
    let remedy = silent["remedy"].as_str().unwrap();
    assert!(
        remedy.contains("ostrakon nodes confirm-dead node-1"),
        "{remedy}"
    );

    assert_eq!(house.post(path, notice).await.status, 202);
    house
        .until("its end", |view| view.state().members().len() == 1)
        .await;
    let status = house.get("/v1/status").await.json();
    assert_eq!(status["silent"].as_array().unwrap().len(), 1);
    assert_eq!(status["groups"][0]["unowned"], 10);
    let shard = house.get("/v1/explain/default/1").await.json();
    let why = shard["why"].as_str().unwrap();
    assert!(
        why.contains("node-1 is gone") && why.contains("its host has burnt down"),
        "{why}"
    );
}

#[tokio::test]
async fn a_dry_run_names_moves_and_reasons_and_changes_nothing() {
    let house = House::with_two_nodes().await;
    let log = house.get("/v1/status").await.json()["log_index"].clone();
    let round = house.post("/v1/rebalance?dry_run=true", "").await;
    assert_eq!(round.status, 200);
    let round = round.json();
    assert_eq!(round["rebalancing"], "on");
    let moves = round["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 1, "2 % of ten shards, rounded up: {round}");
    assert_eq!(moves[0]["from"], "node-1");
    assert_eq!(moves[0]["to"], "node-2");
    assert_eq!(moves[0]["reason"], "balance");
    assert_eq!(
        moves[0]["because"],
        "its node has 10 and should have 5, the other has 0 of 5"
    );
    assert_eq!(
        house.get("/v1/status").await.json()["log_index"],
        log,
        "nothing has changed"
    );

    assert_eq!(house.post("/v1/rebalance", "").await.status, 202);
    house
        .until("what was planned", |view| moving(view) == 1)
        .await;
}

fn moving(view: &View) -> usize {
    let shards = view.state().groups().flat_map(|group| group.iter());
    shards
        .filter(|(_, ownership)| matches!(ownership, Ownership::Releasing { .. }))
        .count()
}

#[tokio::test]
async fn frozen_balancing_stays_so_with_the_next_manager_until_it_is_unfrozen() {
    let house = House::with_two_nodes().await;
    assert_eq!(house.post("/v1/rebalancing/freeze", "").await.status, 202);
    let is = |wanted: Rebalancing| move |view: &View| view.state().policy().rebalancing == wanted;
    house.until("frost", is(Rebalancing::Frozen)).await;
    let refused = house.post("/v1/rebalance", "").await.problem(409);
    assert!(refused.contains("unfreeze"), "{refused}");

    let storage = house.storage.clone();
    house.manager.stop().await;
    let next = ManagerSettings {
        name: "next".to_owned(),
        policy: Policy {
            most_moving: 3,
            ..manager_settings().policy
        },
        ..manager_settings()
    };
    let house = House::over(storage, next, with_token()).await;
    house
        .until("its own rules", |view| {
            view.state().policy().most_moving == 3
        })
        .await;
    assert_eq!(
        house.get("/v1/status").await.json()["rebalancing"],
        "frozen"
    );
    assert_eq!(house.post("/v1/rebalancing/unfreeze", "").await.status, 202);
    house.until("thaw", is(Rebalancing::On)).await;
    assert_eq!(house.post("/v1/rebalance", "").await.status, 202);
    let read = house
        .storage
        .read(ostrakon_core::Index::default())
        .await
        .unwrap();
    let is_policy = |entry: &Entry| matches!(&entry.command, Command::SetPolicy(_));
    assert!(
        read.entries
            .iter()
            .filter(|(_, entry)| is_policy(entry))
            .count()
            >= 3
    );
}
