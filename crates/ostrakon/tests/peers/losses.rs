//! Nodes come, go and end.

use std::time::{Duration, Instant};

use ostrakon::{Node, Peers, Placement, Seeds};

use super::cluster::{
    Resident, free_address, node, nodes, residents, until_free, until_members, visit,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_together_find_each_other_and_share_the_shards() {
    let (nodes, _) = nodes(3).await;
    let living = residents(&nodes[0], 60).await;
    assert_eq!(living.len(), 3, "{living:?}");
    for node in &nodes {
        assert_eq!(residents(node, 60).await, living, "all see the same");
        until_members(node, &["node-1", "node-2", "node-3"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_hands_its_shards_over_first() {
    let (mut nodes, _) = nodes(3).await;
    residents(&nodes[0], 60).await;
    let leaving = nodes.remove(0);
    let began = Instant::now();
    leaving.leave().await.unwrap();
    println!("left after {:?}", began.elapsed());
    drop(leaving);
    let living = residents(&nodes[0], 60).await;
    println!("all answer after {:?}: {living:?}", began.elapsed());
    assert!(!living.contains_key("node-1"), "{living:?}");
    until_members(&nodes[0], &["node-2", "node-3"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_node_ends_others_take_its_shards_whoever_led() {
    for lost in [0, 2] {
        let (mut nodes, _) = nodes(3).await;
        residents(&nodes[0], 60).await;
        let lost = nodes.remove(lost);
        let name = lost.name().to_string();
        let began = Instant::now();
        drop(lost);
        let living = residents(&nodes[0], 60).await;
        println!("{name} is replaced after {:?}: {living:?}", began.elapsed());
        assert!(!living.contains_key(&name), "{living:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_comes_back_on_its_address_is_a_member_again() {
    let (mut nodes, addresses) = nodes(3).await;
    residents(&nodes[0], 60).await;
    drop(nodes.remove(2));
    until_free(&addresses[2]).await;
    let seeds: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let began = Instant::now();
    let back = node("node-3", seeds[2], &seeds).await;
    println!("back after {:?}", began.elapsed());
    residents(&back, 60).await;
    println!("all answer after {:?}", began.elapsed());
    assert_eq!(visit(&nodes[0], 0).await.0, visit(&back, 0).await.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_finds_whoever_decides_by_any_of_the_nodes() {
    let (mut nodes, addresses) = nodes(4).await;
    for seed in &addresses {
        let client = ostrakon::Node::builder("client-1")
            .peers("127.0.0.1:0", [seed])
            .reach::<super::cluster::Resident>(ostrakon::GroupName::default())
            .start()
            .await
            .unwrap();
        let living = residents(&client, 40).await;
        assert_eq!(living, residents(&nodes[0], 40).await);
        client.leave().await.unwrap();
    }
    nodes.clear();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_ended_as_a_whole_goes_on_from_its_data_directories() {
    let folder = std::env::temp_dir().join(format!("ostrakon-peers-{}", std::process::id()));
    let addresses = [free_address(), free_address(), free_address()];
    let start = async || {
        let starting = (1..).zip(&addresses).map(async |(number, at)| {
            let began = Instant::now();
            loop {
                let peers = Peers::at(at)
                    .seeds(Seeds::new(addresses.clone()))
                    .data(folder.join(number.to_string()));
                let node = Node::builder(format!("node-{number}")).peer(peers);
                match node.host::<Resident>().start().await {
                    Ok(node) => return node,
                    // Whoever was dropped lets its port and its directory go a moment later.
                    Err(error) => assert!(began.elapsed() < Duration::from_secs(20), "{error}"),
                }
            }
        });
        futures_util::future::join_all(starting).await
    };
    let nodes = start().await;
    residents(&nodes[0], 30).await;
    drop(nodes);
    let began = Instant::now();
    let nodes = start().await;
    println!("back after {:?}", began.elapsed());
    let living = residents(&nodes[0], 30).await;
    println!("all answer after {:?}", began.elapsed());
    assert_eq!(residents(&nodes[2], 30).await, living, "it is one cluster");
    drop(nodes);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newcomer_has_its_share_within_seconds() {
    let (nodes, addresses) = nodes(2).await;
    residents(&nodes[0], 120).await;
    let at = free_address();
    let seeds: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let began = Instant::now();
    let newcomer = node("newcomer", &at, &seeds).await;
    let share = loop {
        let living = residents(&newcomer, 120).await;
        let share = living.get("newcomer").copied().unwrap_or_default();
        if share >= 30 {
            break share;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{living:?}");
    };
    println!("{share} of 120 after {:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shards_are_placed_at_once_where_nodes_say_so() {
    let peers = Peers::at("127.0.0.1:0").placement(Placement::AtOnce);
    let node = Node::builder("eager").peer(peers).host::<Resident>();
    let node = node.start().await.unwrap();
    let desk = node.desk().unwrap().own();
    let placed = || {
        let view = desk.view();
        let mut shards = view.state().groups().flat_map(|group| group.iter());
        shards.all(|(_, ownership)| ownership.owner().is_some())
    };
    let mut events = desk.follow();
    let waiting = async {
        while !placed() {
            events.changed().await.unwrap();
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    assert!(waited.is_ok(), "nobody wanted them, and they have no owner");
}

#[tokio::test]
async fn to_balance_without_a_pause_is_refused() {
    let peers = Peers::at("127.0.0.1:0").rebalance_every(Duration::ZERO);
    let node = Node::builder("restless").peer(peers).host::<Resident>();
    let error = node.start().await.unwrap_err();
    assert!(error.to_string().contains("rebalance_every"), "{error}");
}
