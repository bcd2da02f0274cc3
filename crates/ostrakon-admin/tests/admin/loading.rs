//! What nodes are doing: real ones, with managers and without.

use std::{
    net::{SocketAddr, TcpListener},
    time::{Duration, Instant},
};

use ostrakon::{Managed, Node, entity};
use ostrakon_admin::{Admin, Front};
use serde_json::Value;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::{
    description,
    house::{House, read_reply, request, with_token},
};

const PATIENCE: Duration = Duration::from_secs(30);

/// Counts.
#[derive(Default)]
pub(crate) struct Account {
    balance: u64,
}

#[entity(kind = "account")]
impl Account {
    pub(crate) async fn add(&mut self, amount: u64) -> u64 {
        self.balance += amount;
        self.balance
    }
}

async fn admin(desk: impl Into<Front>) -> Admin {
    Admin::start(desk, with_token()).await.unwrap()
}

/// What is answered there, which must be as described.
async fn load(at: SocketAddr) -> Vec<Value> {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let request = request("GET", "/v1/load", &[], "");
    stream.write_all(request.as_bytes()).await.unwrap();
    let reply = read_reply(&mut stream).await;
    description::check("get", "/v1/load", &reply);
    reply.json()["nodes"].as_array().unwrap().clone()
}

/// Keeps `alice` busy until whoever is asked says what is wanted: for what nodes say there is no event to wait for.
async fn until(at: SocketAddr, node: &Node, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let began = Instant::now();
    loop {
        for _ in 0..200 {
            // While shards move it may have to be asked again.
            let _ = node.entity::<Account>("alice").add(1).await;
        }
        let nodes = load(at).await;
        if wanted(&nodes) {
            return nodes;
        }
        assert!(began.elapsed() < PATIENCE, "not in time: {nodes:?}");
    }
}

fn names(nodes: &[Value]) -> Vec<&str> {
    nodes
        .iter()
        .map(|node| node["name"].as_str().unwrap())
        .collect()
}

fn knows_alice(nodes: &[Value]) -> bool {
    let mut hot = nodes
        .iter()
        .flat_map(|node| node["hot_entities"].as_array().unwrap());
    hot.any(|hot| hot["kind"] == "account" && hot["id"] == "alice")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_names_what_is_hot_and_forgets_who_has_gone() {
    let storage = std::sync::Arc::new(ostrakon_storage::Memory::new(Default::default()));
    let house = House::over(storage, Default::default(), with_token()).await;
    assert_eq!(load(house.address()).await, [] as [Value; 0]);
    let start = |name: &str| {
        let manager = Managed::from(house.manager.address().unwrap());
        let node = Node::builder(name).managed(manager);
        node.host::<Account>().start()
    };
    let one = start("node-1").await.unwrap();
    let nodes = until(house.address(), &one, knows_alice).await;
    assert_eq!(names(&nodes), ["node-1"]);
    let node = &nodes[0];
    assert!(
        node["messages_per_second"].as_f64().unwrap() > 1.0,
        "{node}"
    );
    assert!(node["p50_us"].as_f64() <= node["p99_us"].as_f64(), "{node}");
    assert_eq!(node["entities"], 1);
    assert_eq!(node["lease_left_ms"], Value::Null, "it lives by proof");
    assert_eq!(node["phi"], Value::Null, "a manager has none");
    let shard = one.locate("account", "alice").unwrap().shard.get();
    assert_eq!(node["hot_shards"][0]["group"], "default");
    assert_eq!(node["hot_shards"][0]["shard"], shard);
    let two = start("node-2").await.unwrap();
    until(house.address(), &one, |nodes| names(nodes).len() == 2).await;
    two.leave().await.unwrap();
    until(house.address(), &one, |nodes| names(nodes) == ["node-1"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_peer_tells_what_all_of_them_do() {
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let addresses: Vec<_> = (0..4).map(|_| free().unwrap().to_string()).collect();
    let start = |number: usize| {
        let seeds = addresses.iter().map(String::as_str);
        let node = Node::builder(format!("node-{number}")).peers(&addresses[number - 1], seeds);
        node.host::<Account>().start()
    };
    let (one, two, three, four) = tokio::join!(start(1), start(2), start(3), start(4));
    let nodes = [one.unwrap(), two.unwrap(), three.unwrap(), four.unwrap()];
    let everybody = ["node-1", "node-2", "node-3", "node-4"];
    let mut voters = 0;
    for node in &nodes {
        let desk = node.desk().unwrap();
        let admin = admin(desk.clone()).await;
        // It hears of itself from nobody.
        let heard =
            |other: &Value| other["phi"].is_number() || other["name"] == node.name().as_str();
        let all = until(admin.address(), &nodes[0], |nodes| {
            names(nodes) == everybody && knows_alice(nodes) && nodes.iter().all(heard)
        })
        .await;
        for node in &all {
            assert!(
                node["lease_left_ms"]
                    .as_u64()
                    .is_some_and(|left| left < 60_000)
            );
            assert!(
                node["heard_ms_ago"]
                    .as_u64()
                    .is_some_and(|ago| ago < 15_000)
            );
        }
        voters += usize::from(desk.votes());
    }
    assert_eq!(
        voters, 3,
        "one of them only learns, and answers all the same"
    );
    let [one, two, three, four] = nodes;
    let admin = admin(one.desk().unwrap().clone()).await;
    drop(four);
    until(admin.address(), &two, |nodes| {
        names(nodes) == ["node-1", "node-2", "node-3"]
    })
    .await;
    drop(three);
}
