//! Nodes that are not heard, and who says that they are dead.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    process::Stdio,
};

use ostrakon_core::{
    Command as Op, Entry, Failover, Granting, GroupName, GroupSpec, Incarnation, Index,
    NodeVersion, Policy, Registration, ShardCount, ShardKey, Term,
};
use ostrakon_storage::{Append, StorageSettings};

use super::{
    folder::{Folder, complaint},
    nodes::Nodes,
    running::Manager,
};

#[test]
fn nobody_is_declared_dead_by_accident() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    let _nodes = Nodes::start(&manager, &["node-1"]);
    let refused = manager.refuses("nodes confirm-dead node-1 --word gone --yes");
    assert!(refused.contains("has been heard a moment ago"), "{refused}");
    let mut asked = manager
        .verb("nodes confirm-dead node-1 --word gone")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    asked.stdin.take().unwrap().write_all(b"yes\n").unwrap();
    let answer = asked.wait_with_output().unwrap();
    assert!(complaint(&answer, 1).contains("nothing has changed"));
    assert_eq!(manager.json("nodes")["nodes"].as_array().unwrap().len(), 1);
}

/// A log in which a node has all four shards of a group, and which nobody is.
fn write_log_of_a_ghost(folder: &Folder) {
    let group = GroupSpec {
        name: GroupName::default(),
        count: ShardCount::new(4).unwrap(),
        hash: "stable".to_owned(),
        role: None,
    };
    let ghost = Registration {
        name: "ghost".parse().unwrap(),
        address: "127.0.0.1:1".to_owned(),
        nonce: 1,
        version: NodeVersion::new("1.0"),
        roles: BTreeSet::new(),
        weight: 1,
        groups: vec![group.clone()],
        place: BTreeMap::new(),
    };
    let shards = group.count.iter().map(|shard| Granting {
        shard: ShardKey {
            group: GroupName::default(),
            shard,
        },
        to: Incarnation::new(4),
    });
    let commands = [
        Op::Takeover {
            grantor: "former".parse().unwrap(),
            run: 1,
        },
        Op::SetPolicy(Policy {
            failover: Failover::Proof,
            ..Policy::default()
        }),
        Op::CreateGroup(group.clone()),
        Op::Register(ghost),
        Op::Grant(shards.collect()),
    ];
    let terms = [0, 1, 1, 1, 1].map(Term::new);
    let entries: Vec<_> = terms
        .into_iter()
        .zip(commands)
        .map(|(term, command)| Entry { term, command })
        .collect();
    let file = folder.0.join("ghost.redb");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let url = format!("file:{}", file.display());
        let storage = ostrakon_storage::open(&url, "ostrakon", StorageSettings::default())
            .await
            .unwrap();
        storage
            .append(Append::behind(Index::default(), &entries))
            .await
            .unwrap();
    });
}

#[test]
fn a_silent_node_is_shown_loudly_and_its_shards_wait_for_an_operators_word() {
    let folder = Folder::new();
    write_log_of_a_ghost(&folder);
    let manager = Manager::start_with(
        &folder,
        "--admin-token-file token --storage file:ghost.redb",
    );
    manager.until("silence", |status| {
        status["silent"]
            .as_array()
            .is_some_and(|silent| silent.len() == 1)
    });
    let status = manager.does("status");
    assert!(
        status.contains("!!! node ghost (run i4) is SILENT") && status.contains("keeps 4 shards"),
        "{status}"
    );
    assert!(
        status.contains("ostrakon nodes confirm-dead ghost"),
        "{status}"
    );
    assert!(manager.does("nodes").contains("SILENT"));

    let mut asked = manager
        .verb("nodes confirm-dead ghost --word unplugged")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    asked.stdin.take().unwrap().write_all(b"ghost\n").unwrap();
    assert!(asked.wait().unwrap().success());
    let status = manager.until("its end", |status| status["nodes"] == 0);
    assert_eq!(status["groups"][0]["unowned"], 4);
    let why = manager.does("explain default --shard 1");
    assert!(why.contains("an operator says so: unplugged"), "{why}");
}
