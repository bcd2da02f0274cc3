//! Nodes come, go and end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use ostrakon::{Node, Peers, Placement, Seeds, entity};

use super::cluster::{
    Resident, free_address, node, nodes, residents, until_free, until_members, visit,
};

const SOON: Duration = Duration::from_secs(20);

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
    let votes = |node: &Node| {
        let quorum = node.desk().unwrap().quorum();
        quorum.voters.iter().any(|voter| voter.as_str() == "node-1")
    };
    assert!(!nodes.iter().all(votes), "its vote was not taken back");
    drop(leaving);
    let living = residents(&nodes[0], 60).await;
    println!("all answer after {:?}: {living:?}", began.elapsed());
    assert!(!living.contains_key("node-1"), "{living:?}");
    until_members(&nodes[0], &["node-2", "node-3"]).await;
}

/// Nothing is waited for that has not to be: 2.1 to 2.5 s of pauses before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_nodes_leave_at_once_one_after_the_other_whoever_leads() {
    let (mut nodes, _) = nodes(3).await;
    for node in &nodes {
        tokio::time::timeout(SOON, node.until_members(3))
            .await
            .unwrap();
    }
    residents(&nodes[0], 60).await;
    while let Some(leaving) = nodes.pop() {
        let leads = *leaving.leading().unwrap().borrow();
        let began = Instant::now();
        leaving.leave().await.unwrap();
        let took = began.elapsed();
        println!("{} left after {took:?}; it led: {leads}", leaving.name());
        assert!(took < Duration::from_secs(1), "{took:?}");
        if let Some(node) = nodes.first() {
            residents(node, 60).await;
        }
    }
}

/// Counts while it is at it, for ever.
#[derive(Default)]
struct Restless;

static BEATS: AtomicU64 = AtomicU64::new(0);

#[entity(kind = "restless")]
impl Restless {
    async fn home(&self, ctx: &ostrakon::Context<Self>) -> String {
        ctx.node().name().to_string()
    }

    async fn beat(&mut self) {
        loop {
            BEATS.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The lease would last for 3.5 s and more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_dropped_stops_its_entities_and_others_take_over_at_once() {
    let addresses = [free_address(), free_address()];
    let start = async |number: usize| {
        let node = Node::builder(format!("node-{number}"));
        let node = node.peers(&addresses[number - 1], &addresses);
        node.host::<Restless>().start().await.unwrap()
    };
    let (stays, goes) = tokio::join!(start(1), start(2));
    let of_the_other = async |id: usize| {
        let restless = stays.entity::<Restless>(format!("restless-{id}"));
        (restless.home().await.unwrap() == "node-2").then_some(restless)
    };
    let mut restless = None;
    for id in 0..100 {
        if restless.is_none() {
            restless = of_the_other(id).await;
        }
    }
    let restless = restless.unwrap();
    restless.tell().beat().await.unwrap();
    while BEATS.load(Ordering::Relaxed) < 5 {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    drop(goes);
    assert_eq!(restless.home().await.unwrap(), "node-1");
    let took = began.elapsed();
    println!("taken over after {took:?}");
    let beats = BEATS.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(BEATS.load(Ordering::Relaxed), beats, "it goes on");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(stays.until_members(1).await.members.len(), 1);
}

/// As under one name for all, which at first answers everybody with itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_see_only_themselves_are_one_cluster_if_it_takes_two() {
    let addresses = [free_address(), free_address(), free_address()];
    let asked = Arc::new(AtomicU64::new(0));
    let starting = (1..).zip(&addresses).map(|(number, own)| {
        let (all, own, asked) = (addresses.clone(), own.clone(), Arc::clone(&asked));
        let seeds = Seeds::asked({
            let own = own.clone();
            move || {
                // Each has asked once or twice when all are named.
                let seeds = match asked.fetch_add(1, Ordering::Relaxed) < 6 {
                    true => vec![own.clone()],
                    false => all.to_vec(),
                };
                async move { seeds }
            }
        });
        let peers = Peers::at(own).seeds(seeds).forms_with(2);
        let node = Node::builder(format!("node-{number}")).peer(peers);
        node.host::<Resident>().start()
    });
    let nodes = futures_util::future::try_join_all(starting).await.unwrap();
    for node in &nodes {
        let members = tokio::time::timeout(SOON, node.until_members(3)).await;
        assert_eq!(members.unwrap().members.len(), 3);
    }
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
