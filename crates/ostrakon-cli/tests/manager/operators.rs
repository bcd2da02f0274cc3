//! What operators see and change.

use std::{
    io::{self, BufRead, BufReader},
    process::Stdio,
};

use super::{
    folder::Folder,
    nodes::{Nodes, is_settled},
    running::Manager,
};

#[test]
fn operators_see_what_is_and_why() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    assert!(
        manager
            .said
            .contains("log in file:ostrakon-data/ostrakon.redb"),
        "{}",
        manager.said
    );
    let _nodes = Nodes::start(&manager, &["node-1", "node-2"]);
    manager.until("all shards have owners", is_settled);

    let status = manager.does("status");
    assert!(
        status.contains("cluster ostrakon: manager manager leads"),
        "{status}"
    );
    assert!(
        status.contains("nodes 2, failover by proof, rebalancing on"),
        "{status}"
    );
    let nodes = manager.does("nodes");
    assert!(
        nodes.starts_with("NODE") && nodes.contains("node-1") && nodes.contains("active"),
        "{nodes}"
    );
    assert_eq!(manager.does("shards").lines().count(), 301);
    let own = manager.json("shards --node node-1")["shards"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(
        manager.does("shards --node node-1").lines().count(),
        own + 1
    );
    assert!(manager.refuses("shards --group nobody").contains("nobody"));

    let explained = manager.does("explain counter alice");
    assert!(
        explained.contains("entity alice is in shard default/"),
        "{explained}"
    );
    assert!(explained.contains("is owned by node-"), "{explained}");
    assert!(explained.contains("why: "), "{explained}");
    assert_eq!(manager.json("explain default alice")["entity"], "alice");
    assert!(
        manager
            .does("explain default --shard 300")
            .contains("default/300")
    );
    assert!(
        manager
            .refuses("explain default --shard 301")
            .contains("1 to 300")
    );

    let events = manager.does("events --since 0 --limit 1000");
    assert!(
        events.contains("joined") && events.contains("node=node-2"),
        "{events}"
    );
    assert_eq!(manager.does("events --limit 3").lines().count(), 3);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    // As in `ostrakon shards | head`.
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut unread = manager.verb("shards");
    let unread = unread
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&unread.stderr), "");
    assert!(unread.status.success());
}

#[test]
fn operators_change_what_shall_be() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    let _nodes = Nodes::start(&manager, &["node-1", "node-2"]);
    manager.until("all shards have owners", is_settled);
    let mut follower = manager
        .verb("events --follow")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();

    assert!(
        manager
            .does("rebalancing freeze")
            .contains("no shard is moved")
    );
    manager.until("frost", |status| status["rebalancing"] == "frozen");
    assert!(manager.does("status").contains("FROZEN"));
    assert!(manager.refuses("rebalance").contains("frozen"));
    assert!(manager.does("rebalance --dry-run").contains("frozen"));
    manager.does("rebalancing unfreeze");
    manager.until("thaw", |status| status["rebalancing"] == "on");
    manager.does("rebalance");
    assert!(manager.json("rebalance --dry-run")["moves"].is_array());

    let drained = manager.does("drain node-2 --wait");
    assert!(drained.contains("node-2 gives its shards up"), "{drained}");
    assert_eq!(
        manager.json("shards --node node-2")["shards"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    assert!(manager.refuses("drain node-9").contains("node-9"));

    let told = lines
        .find_map(|line| line.ok().filter(|line| line.contains("leaving")))
        .unwrap();
    assert!(told.contains("node=node-2"), "{told}");
    follower.kill().unwrap();
    follower.wait().unwrap();
}
