//! A cluster of peers under test.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use ostrakon::{Node, NodeBuilder, entity};

/// Says on which node it lives.
#[derive(Default)]
pub(crate) struct Resident {
    visits: u64,
}

#[entity(kind = "resident")]
impl Resident {
    pub(crate) async fn visit(&mut self, ctx: &ostrakon::Context<Self>) -> (String, u64) {
        self.visits += 1;
        (ctx.node().name().to_string(), self.visits)
    }
}

/// An address at which nothing listens. It is none of those that the system gives to whoever asks for any: somebody else would have it before long.
pub(crate) fn free_address() -> String {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id() * 131 + TAKEN.fetch_add(1, Ordering::Relaxed);
        let address = format!("127.0.0.1:{}", 10_000 + number % 20_000);
        if std::net::TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

pub(crate) fn builder(name: &str, at: &str, seeds: &[&str]) -> NodeBuilder {
    Node::builder(name)
        .peers(at, seeds.iter().copied())
        .host::<Resident>()
}

pub(crate) async fn node(name: &str, at: &str, seeds: &[&str]) -> Node {
    builder(name, at, seeds).start().await.unwrap()
}

/// So many nodes, `node-1` and so on, which have found each other, and where they are.
pub(crate) async fn nodes(number: usize) -> (Vec<Node>, Vec<String>) {
    log();
    let addresses: Vec<String> = (0..number).map(|_| free_address()).collect();
    let seeds: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let starting = (1..).zip(&addresses).map(|(number, at)| {
        let name = format!("node-{number}");
        let builder = builder(&name, at, &seeds);
        tokio::spawn(async move { builder.start().await.unwrap() })
    });
    let starting: Vec<_> = starting.collect();
    let mut nodes = Vec::new();
    for node in starting {
        nodes.push(node.await.unwrap());
    }
    (nodes, addresses)
}

/// Visits entities until they answer; returns how many live where.
pub(crate) async fn residents(from: &Node, number: usize) -> BTreeMap<String, usize> {
    let mut living = BTreeMap::new();
    for number in 0..number {
        let (place, _) = visit(from, number).await;
        *living.entry(place).or_default() += 1;
    }
    living
}

/// Visits one, however long it takes until somebody has it.
pub(crate) async fn visit(from: &Node, number: usize) -> (String, u64) {
    let id = format!("resident-{number}");
    let began = Instant::now();
    loop {
        match from.entity::<Resident>(&*id).visit().await {
            Ok(visited) => return visited,
            Err(error) => assert!(
                began.elapsed() < Duration::from_secs(30),
                "{id} does not answer: {error}"
            ),
        }
    }
}

/// Waits until a node knows exactly these.
pub(crate) async fn until_members(node: &Node, wanted: &[&str]) {
    let wanted: BTreeSet<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    let mut topology = node.subscribe_topology();
    let waiting = async {
        while let Some(snapshot) = topology.next().await {
            let up = snapshot.members.iter();
            let up = up.filter(|member| member.status == ostrakon::MemberStatus::Up);
            let up: BTreeSet<String> = up.map(|member| member.name.to_string()).collect();
            if up == wanted {
                return;
            }
        }
    };
    let within = Duration::from_secs(30);
    let met = tokio::time::timeout(within, waiting).await;
    assert!(met.is_ok(), "{wanted:?} are not {:?}", node.topology());
}

/// Waits until a port that belonged to a node that has just ended can be used again.
pub(crate) async fn until_free(address: &str) {
    let began = Instant::now();
    while tokio::net::TcpListener::bind(address).await.is_err() {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{address} stays taken"
        );
        tokio::task::yield_now().await;
    }
}

/// Shows what the nodes log, with `OSTRAKON_LOG=1`.
pub(crate) fn log() {
    if std::env::var_os("OSTRAKON_LOG").is_some() {
        let _ = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::INFO)
            .try_init();
    }
}
