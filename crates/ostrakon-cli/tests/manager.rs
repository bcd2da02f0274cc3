//! `ostrakon manager` and the verbs as an operator runs them: the built binary, real nodes, real files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use ostrakon::{Managed, Node, entity};
use ostrakon_core::{
    Command as Op, Entry, Failover, Granting, GroupName, GroupSpec, Incarnation, Index,
    NodeVersion, Policy, Registration, ShardCount, ShardKey, Term,
};
use ostrakon_storage::{Append, StorageSettings};
use serde_json::Value;

const TOKEN: &str = "0123456789abcdef-token";

#[derive(Default)]
struct Counter;

#[entity(kind = "counter")]
impl Counter {
    async fn add(&mut self, amount: u64) -> u64 {
        amount
    }
}

/// A folder to work in, gone when the test has passed.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = format!("manager-{}-{number}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(dir);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("token"), TOKEN).unwrap();
        Self(dir)
    }

    /// A command in this folder, with nothing of ours in its environment.
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
        command
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name
                .to_str()
                .is_some_and(|name| name.starts_with("OSTRAKON_"))
            {
                command.env_remove(name);
            }
        }
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs what must fail with `code`; returns the complaint.
    fn refuses(&self, arguments: &str, code: i32) -> String {
        complaint(&self.run(arguments), code)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }
}

fn complaint(output: &Output, code: i32) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

/// A running manager.
struct Manager<'f> {
    folder: &'f Folder,
    process: Child,
    nodes: SocketAddr,
    admin: String,
    /// The line it began with.
    said: String,
}

impl<'f> Manager<'f> {
    fn start(folder: &'f Folder) -> Self {
        let manager = Self::start_with(folder, "--admin-token-file token");
        manager.until("its lead", |status| status["leader"]["is_this"] == true);
        manager
    }

    fn start_with(folder: &'f Folder, arguments: &str) -> Self {
        let arguments = format!(
            "manager --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --log warn {arguments}"
        );
        let mut process = folder
            .command(&arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        let part = |before: &str| {
            said.split_once(before)
                .unwrap_or_else(|| panic!("{said:?}"))
                .1
                .split([';', '\n'])
                .next()
                .unwrap()
        };
        Self {
            nodes: part("nodes connect to ").parse().unwrap(),
            admin: part("admin API at ").to_owned(),
            folder,
            process,
            said: said.clone(),
        }
    }

    /// A verb of this manager's operators.
    fn verb(&self, arguments: &str) -> Command {
        let mut command = self.folder.command(arguments);
        command
            .env("OSTRAKON_ADMIN", &self.admin)
            .env("OSTRAKON_ADMIN_TOKEN_FILE", "token");
        command
    }

    /// Runs what must succeed; returns what it says.
    fn does(&self, arguments: &str) -> String {
        let output = self.verb(arguments).output().unwrap();
        complaint(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &str) -> Value {
        let text = self.does(&format!("{arguments} --json"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn refuses(&self, arguments: &str) -> String {
        complaint(&self.verb(arguments).output().unwrap(), 1)
    }

    /// Waits until the status is as wanted.
    fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let status = self.json("status");
            if wanted(&status) {
                return status;
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{what} did not happen in time: {status:#}"
            );
        }
    }

    /// Asks it to stop, and waits until it has.
    fn stop(mut self, signal: &str) -> Option<i32> {
        let id = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        self.process.wait().unwrap().code()
    }
}

impl Drop for Manager<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Nodes of this process, with a runtime to live in.
struct Nodes {
    runtime: tokio::runtime::Runtime,
    nodes: Vec<Node>,
}

impl Nodes {
    fn start(manager: &Manager<'_>, names: &[&str]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let start = |name: &&str| {
            let builder = Node::builder(*name)
                .managed(Managed::from(manager.nodes))
                .host::<Counter>();
            runtime.block_on(builder.start()).unwrap()
        };
        let nodes = names.iter().map(start).collect();
        Self { runtime, nodes }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in self.nodes.drain(..) {
            let _ = self.runtime.block_on(async {
                tokio::time::timeout(Duration::from_secs(5), node.leave()).await
            });
        }
    }
}

fn is_settled(status: &Value) -> bool {
    status["groups"][0]["owned"] == 300
}

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

#[test]
fn who_has_no_token_may_only_look() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    let without = |arguments: &str| {
        let output = manager
            .verb(arguments)
            .env_remove("OSTRAKON_ADMIN_TOKEN_FILE")
            .output()
            .unwrap();
        complaint(&output, 1)
    };
    assert!(without("rebalancing freeze").contains("OSTRAKON_ADMIN_TOKEN"));
    assert!(
        without("rebalancing freeze --token 0123456789abcdef-wrong")
            .contains("not the admin token")
    );
    let unset = Folder::new();
    let open = Manager::start_with(&unset, "");
    assert!(
        open.refuses("rebalancing freeze")
            .contains("--admin-token-file")
    );
    assert_eq!(open.json("status")["rebalancing"], "on");
}

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

#[test]
fn a_manager_stops_when_it_is_told_and_goes_on_where_it_was() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    manager.does("rebalancing freeze");
    let before = manager.until("frost", |status| status["rebalancing"] == "frozen");
    assert_eq!(manager.stop("-TERM"), Some(0));
    let manager = Manager::start(&folder);
    let after = manager.until("a leader", |status| status["leader"]["is_this"] == true);
    assert!(after["log_index"].as_u64() > before["log_index"].as_u64());
    assert_eq!(after["rebalancing"], "frozen");
    assert_eq!(manager.stop("-INT"), Some(0));
    assert!(
        folder
            .refuses("status --manager http://127.0.0.1:1", 1)
            .contains("is it running?")
    );
}

#[test]
fn two_managers_do_not_share_a_file_or_a_port() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    let same_file = folder.refuses("manager --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0", 1);
    assert!(same_file.contains("ostrakon.redb"), "{same_file}");
    let port = manager.admin.trim_start_matches("http://").to_owned();
    let same_port = folder.refuses(
        &format!("manager --storage memory: --listen 127.0.0.1:0 --admin-listen {port}"),
        1,
    );
    assert!(same_port.contains(&port), "{same_port}");
}

#[test]
fn settings_come_from_the_file_the_environment_and_flags() {
    let folder = Folder::new();
    folder.write("a.toml", "name = \"from-file\"\ncluster = \"from-file\"\nlisten = \"127.0.0.1:1\"\nrebalance_rate = 0.5\n");
    let output = folder
        .command("manager --config a.toml --name from-flag --print-config")
        .env("OSTRAKON_NAME", "from-environment")
        .env("OSTRAKON_CLUSTER", "from-environment")
        .output()
        .unwrap();
    complaint(&output, 0);
    let printed = String::from_utf8(output.stdout).unwrap();
    for line in [
        "name = \"from-flag\"",
        "cluster = \"from-environment\"",
        "listen = \"127.0.0.1:1\"",
        "rebalance_rate = 0.5",
    ] {
        assert!(
            printed.lines().any(|printed| printed == line),
            "{line}: {printed}"
        );
    }
    folder.write("b.toml", &printed);
    let again = folder.run("manager --config b.toml --print-config");
    assert_eq!(String::from_utf8(again.stdout).unwrap(), printed);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_key_and_the_reason() {
    let folder = Folder::new();
    for (text, key, reason) in [
        ("lisen = \"127.0.0.1:1\"", "lisen", "unknown field"),
        ("number_of_shards = 300", "number_of_shards", "nodes"),
        ("rebalance_rate = 7.0", "rebalance_rate", "0 (never) to 1"),
        (
            "rebalance_interval = \"soon\"",
            "rebalance_interval",
            "500ms, 20s or 2m",
        ),
        (
            "failover = \"lease\"\n[lease]\nwait = \"1s\"",
            "lease",
            "set wait to at least 12.1s",
        ),
        ("name = ", "bad.toml", "line 1"),
    ] {
        folder.write("bad.toml", text);
        let refused = folder.refuses("manager --config bad.toml", 2);
        assert!(
            refused.contains(key) && refused.contains(reason),
            "{text}: {refused}"
        );
    }
    assert!(
        folder
            .refuses("manager --config nowhere.toml", 2)
            .contains("nowhere.toml")
    );
    assert!(
        folder
            .refuses("manager --rebalance-interval soon", 2)
            .contains("--rebalance-interval")
    );
    assert!(
        folder
            .refuses("manager --surprise", 2)
            .contains("--surprise")
    );
    let output = folder
        .command("manager")
        .env("OSTRAKON_LISEN", "127.0.0.1:1")
        .output()
        .unwrap();
    assert!(complaint(&output, 2).contains("OSTRAKON_LISEN"));
    let output = folder
        .command("manager")
        .env("OSTRAKON_PING_TIMEOUT", "1h")
        .output()
        .unwrap();
    assert!(complaint(&output, 2).contains("--ping-timeout"));
}

#[test]
fn what_cannot_be_started_says_why() {
    let folder = Folder::new();
    for (arguments, reason) in [
        ("--listen 0.0.0.0:0 --storage memory:", "need TLS"),
        // Built without it, or nobody there.
        ("--storage postgres://me:secret@127.0.0.1:1/x", "ostgre"),
        ("--storage etcd://127.0.0.1:1", "etcd"),
        ("--storage memory: --health kubernetes", "kubernetes"),
        ("--storage floppy:a", "floppy"),
        ("--storage memory: --admin-token-file nowhere", "nowhere"),
        ("--storage memory: --tls-dir nowhere", "nowhere"),
    ] {
        let refused = folder.refuses(
            &format!("manager --admin-listen 127.0.0.1:0 --log error {arguments}"),
            1,
        );
        assert!(refused.contains(reason), "{arguments}: {refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
    let output = folder
        .command("manager --storage memory: --listen 127.0.0.1:0")
        .env("OSTRAKON_ADMIN_TOKEN", "short")
        .output()
        .unwrap();
    assert!(complaint(&output, 1).contains("at least 16"));
}

#[test]
fn with_certificates_an_admin_needs_no_token() {
    let folder = Folder::new();
    for make in [
        "ca --cluster ostrakon",
        "manager manager",
        "admin alice",
        "client shop",
    ] {
        complaint(&folder.run(&format!("certs {make}")), 0);
    }
    let manager = Manager::start_with(&folder, "--tls-dir certs");
    assert!(manager.admin.starts_with("https://"), "{}", manager.said);
    let status: Value = serde_json::from_str(&manager.does("status --as shop --json")).unwrap();
    assert_eq!(status["cluster"], "ostrakon");
    assert!(
        manager
            .refuses("rebalancing freeze --as shop --token-file /dev/null")
            .contains("16")
    );
    assert!(
        manager
            .does("rebalancing freeze --as alice")
            .contains("no shard")
    );
    assert!(manager.refuses("status").contains("--as NAME"));
    let plain = manager.admin.replace("https", "http");
    assert!(
        manager
            .refuses(&format!("status --manager {plain}"))
            .contains("https://")
    );
}

#[test]
fn an_address_that_is_none_is_refused() {
    let folder = Folder::new();
    for address in [
        "here",
        "http://here",
        "http://here/v1",
        "ftp://127.0.0.1:9471",
        "http://127.0.0.1:9471/v1",
    ] {
        assert!(
            folder
                .refuses(&format!("status --manager {address}"), 1)
                .contains("http://HOST:PORT"),
            "{address}"
        );
    }
}
