//! `ostrakon witness`, clusters of two with and without it, and operators who ask any peer.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    time::{Duration, Instant},
};

use ostrakon_admin::{Admin, AdminSettings};
use ostrakon_core::NodeName;
use ostrakon_manager::Wish;
use serde_json::{Value, json};

use super::{folder::Folder, peers::PeerNodes, running::Manager};

fn three_vote(status: &Value) -> bool {
    status["peers"]["voters"] == json!(["node-1", "node-2", "w1"])
}

#[test]
fn with_a_witness_either_of_two_nodes_may_end() {
    let folder = Folder::new();
    let mut cluster = PeerNodes::start(2);
    let witness = Manager::witness(&folder, &cluster.addresses);
    let status = witness.until("three vote", three_vote);
    assert_eq!(status["peers"]["witnesses"], json!(["w1"]));
    assert_eq!(status["peers"]["warning"], Value::Null);
    assert!(cluster.homes(0, 40).contains(&"node-2".to_owned()));
    let leader = cluster.leader();
    let lost = cluster.nodes[leader].name().to_string();
    let began = Instant::now();
    cluster.lose(leader);
    let homes = cluster.homes(0, 40);
    println!("{lost} is replaced after {:?}", began.elapsed());
    assert!(!homes.contains(&lost), "{homes:?}");
    let status = witness.until("another leader", |status| {
        let leader = &status["peers"]["leader"];
        leader.is_string() && *leader != lost
    });
    assert_eq!(status["nodes"], 1, "{status:#}");
}

#[test]
fn without_a_witness_the_second_node_rests_when_the_first_ends() {
    let mut cluster = PeerNodes::start(2);
    let leader = cluster.leader();
    let (name, other) = (cluster.nodes[leader].name().clone(), 1 - leader);
    cluster.until(other, "both are known", |quorum| quorum.hosts.len() == 2);
    let quorum = cluster.nodes[other].desk().unwrap().quorum();
    assert_eq!(quorum.voters, std::slice::from_ref(&name));
    let weakness = quorum.weakness().unwrap();
    assert!(weakness.contains(&format!("{name} alone decides")));
    assert!(weakness.contains("ostrakon witness"), "{weakness}");
    let there = cluster.nodes[other].name().to_string();
    let homes = cluster.homes(0, 40).into_iter().zip(0..);
    let own: Vec<usize> = homes
        .filter_map(|(home, resident)| (home == there).then_some(resident))
        .collect();
    assert!(!own.is_empty(), "the second node hosts nothing");
    cluster.lose(leader);
    let began = Instant::now();
    let answers = |cluster: &PeerNodes| {
        let visits = cluster.visit_all(0, &own);
        visits.iter().filter(|visit| visit.is_ok()).count()
    };
    while answers(&cluster) > 0 {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it goes on without knowing that it may"
        );
    }
    println!("it rests after {:?}", began.elapsed());
}

#[test]
fn a_witness_that_is_told_to_stop_gives_its_vote_back() {
    let folder = Folder::new();
    let cluster = PeerNodes::start(2);
    let witness = Manager::witness(&folder, &cluster.addresses);
    witness.until("three vote", three_vote);
    let began = Instant::now();
    assert_eq!(witness.stop("-TERM"), Some(0));
    println!("it has left after {:?}", began.elapsed());
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "it was waited for"
    );
    cluster.until(cluster.leader(), "one votes", |quorum| {
        quorum.voters.len() == 1 && quorum.witnesses.is_empty()
    });
    assert_eq!(cluster.homes(0, 40), cluster.homes(1, 40));
}

#[test]
fn operators_ask_a_witness_as_they_ask_a_manager() {
    let folder = Folder::new();
    let cluster = PeerNodes::start(2);
    let witness = Manager::witness(&folder, &cluster.addresses);
    witness.until("three vote", three_vote);
    cluster.homes(0, 40);

    let status = witness.does("status");
    assert!(
        status.contains("voters: node-1, node-2, w1; witnesses: w1; w1 answers"),
        "{status}"
    );
    assert!(status.contains("nodes 2, failover by lease"), "{status}");
    assert!(witness.does("nodes").contains("node-2"));
    assert!(witness.does("shards").lines().count() > 1);
    let explained = witness.does("explain resident resident-1");
    assert!(explained.contains("is owned by node-"), "{explained}");
    assert!(witness.does("events --since 0").contains("joined"));

    let mut follower = witness
        .verb("events --follow")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    witness.does("rebalancing freeze");
    witness.until("frost", |status| status["rebalancing"] == "frozen");
    assert!(witness.refuses("rebalance").contains("frozen"));
    witness.does("rebalancing unfreeze");
    assert!(witness.json("rebalance --dry-run")["moves"].is_array());
    let dead = "nodes confirm-dead --word gone --yes";
    let refused = witness.refuses(&format!("{dead} node-1"));
    assert!(refused.contains("has been heard a moment ago"), "{refused}");
    assert!(witness.refuses("drain node-9").contains("node-9"));
    witness.does("drain node-2 --wait");
    let told = lines
        .find_map(|line| line.ok().filter(|line| line.contains("leaving")))
        .unwrap();
    assert!(told.contains("node=node-2"), "{told}");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn what_is_wished_at_any_node_takes_effect() {
    let folder = Folder::new();
    let cluster = PeerNodes::start(3);
    cluster.homes(0, 60);
    let leader = cluster.leader();
    let (follower, third) = ((leader + 1) % 3, (leader + 2) % 3);
    cluster.until(follower, "three vote", |quorum| quorum.voters.len() == 3);
    let desk = cluster.nodes[follower].desk().unwrap();
    let own = cluster.runtime.block_on(desk.own().plan());
    assert!(own.is_err(), "it does not lead: {own:?}");
    let name: NodeName = cluster.nodes[third].name().clone();
    cluster
        .runtime
        .block_on(desk.wish(Wish::Drain { node: name.clone() }))
        .unwrap();
    cluster.runtime.block_on(desk.plan()).unwrap();
    let admin = Admin::start(desk.clone(), AdminSettings::default());
    let admin = cluster.runtime.block_on(admin).unwrap();
    let at = admin.address();
    let began = Instant::now();
    let left = || {
        let asked = folder.run(&format!("shards --node {name} --json --peer http://{at}"));
        let shards: Value = serde_json::from_slice(&asked.stdout).unwrap();
        shards["shards"].as_array().unwrap().len()
    };
    while left() > 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "{name} stays");
    }
    cluster.runtime.block_on(admin.stop());
}

#[test]
fn options_of_a_witness_that_make_no_sense_are_refused() {
    let folder = Folder::new();
    let seed = "--seed 127.0.0.1:1";
    for (arguments, reason) in [
        ("--name w1 --listen 127.0.0.1:0".to_owned(), "--seed"),
        (format!("--listen 127.0.0.1:0 {seed}"), "--name"),
        (format!("--name w1 --listen here {seed}"), "HOST:PORT"),
        (format!("--name w/1 --listen 127.0.0.1:0 {seed}"), "--name"),
        (
            format!("--name w1 --listen 127.0.0.1:0 {seed} --forms-with 1"),
            "1 is not in 2..",
        ),
        (
            format!("--name w1 --listen 127.0.0.1:0 {seed} --tls-ca ca.pem"),
            "--tls-certificate",
        ),
    ] {
        let refused = folder.refuses(&format!("witness {arguments}"), 2);
        assert!(refused.contains(reason), "{arguments}: {refused}");
    }
    let open = folder.refuses(&format!("witness --name w1 --listen 0.0.0.0:0 {seed}"), 1);
    assert!(open.contains("TLS"), "{open}");
}
