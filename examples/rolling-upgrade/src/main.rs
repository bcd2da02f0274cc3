//! Three nodes of version 1.0.0 are replaced by three of version 2.0.0, one by one, while four clients ask as fast as they can. No ask
//! fails, and none is counted twice: `cargo run --release -p rolling-upgrade`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::ensure;
use ostrakon::{Context, GroupName, Hosting, Node, Peers, Seeds, entity};
use tokio::sync::watch;

const OLD: [(&str, &str); 3] = [("old-1", "25580"), ("old-2", "25581"), ("old-3", "25582")];
const NEW: [(&str, &str); 3] = [("new-1", "25583"), ("new-2", "25584"), ("new-3", "25585")];
const COUNTERS: u64 = 300;
/// How many answers there are before the update begins, and after it has ended.
const QUIET: u64 = 2_000;

/// Stands for a database.
type Table = Arc<Mutex<HashMap<String, u64>>>;

struct Counter {
    value: u64,
    table: Table,
    version: &'static str,
}

#[entity(kind = "counter")]
impl Counter {
    /// Runs before the first message on whichever node has it now …
    #[start]
    async fn load(&mut self, ctx: &Context<Self>) {
        let table = self.table.lock().expect("nobody panics with it open");
        self.value = table.get(ctx.id().as_str()).copied().unwrap_or_default();
    }

    /// … and this after the last one, before another node may begin.
    #[stop]
    async fn save(&mut self, ctx: &Context<Self>) {
        let mut table = self.table.lock().expect("nobody panics with it open");
        table.insert(ctx.id().to_string(), self.value);
    }

    /// Says which version has counted.
    async fn increment(&mut self) -> String {
        self.value += 1;
        self.version.to_owned()
    }

    async fn value(&self) -> u64 {
        self.value
    }
}

/// What the clients have seen.
#[derive(Default)]
struct Seen {
    by_old: u64,
    by_new: u64,
    failed: Vec<String>,
    longest: Duration,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let table = Table::default();
    let mut old = Vec::new();
    for (name, port) in OLD {
        old.push(start(name, port, "1.0.0", &table).await?);
    }
    let client = Node::builder("client").peer(peers("0", "1.0.0"));
    let client = client.reach::<Counter>(GroupName::default());
    let client = client.start().await?;

    let seen = Arc::new(watch::Sender::new(Seen::default()));
    let asking: Vec<_> = (0..4)
        .map(|part| tokio::spawn(ask_on(client.clone(), part, Arc::clone(&seen))))
        .collect();
    let mut progress = seen.subscribe();
    progress.wait_for(|seen| seen.by_old >= QUIET).await?;

    let began = Instant::now();
    let mut new = Vec::new();
    for ((name, port), leaving) in NEW.into_iter().zip(&old) {
        new.push(start(name, port, "2.0.0", &table).await?);
        leaving.leave().await?;
        println!("{name} has come, and {} has gone", leaving.name());
    }
    let took = began.elapsed();
    let enough = progress.borrow().by_new + QUIET;
    progress.wait_for(|seen| seen.by_new >= enough).await?;
    drop(progress);
    for client in asking {
        client.await?;
    }

    report(&client, &seen.send_replace(Seen::default()), took).await
}

fn peers(port: &str, version: &str) -> Peers {
    let address = |port: &str| format!("127.0.0.1:{port}");
    let seeds = OLD.iter().chain(&NEW).map(|(_, port)| address(port));
    Peers::at(address(port))
        .seeds(Seeds::new(seeds))
        .version(version)
}

async fn start(
    name: &str,
    port: &str,
    version: &'static str,
    table: &Table,
) -> anyhow::Result<Node> {
    let table = Arc::clone(table);
    let make = move |_: &_| Counter {
        value: 0,
        table: Arc::clone(&table),
        version,
    };
    let node = Node::builder(name).peer(peers(port, version));
    Ok(node.host_with(Hosting::default(), make).start().await?)
}

/// Asks one counter after the other until nobody looks at the progress any more. No ask is tried twice.
async fn ask_on(client: Node, part: u64, seen: Arc<watch::Sender<Seen>>) {
    let mut number = part;
    while seen.receiver_count() > 0 {
        number += 1;
        let counter = client.entity::<Counter>(id(number % COUNTERS));
        let began = Instant::now();
        let answer = counter.increment().await;
        let took = began.elapsed();
        seen.send_modify(|seen| {
            seen.longest = seen.longest.max(took);
            match answer.as_deref() {
                Ok("1.0.0") => seen.by_old += 1,
                Ok(_) => seen.by_new += 1,
                Err(error) => seen.failed.push(error.to_string()),
            }
        });
    }
}

fn id(number: u64) -> String {
    format!("counter-{number}")
}

async fn report(client: &Node, seen: &Seen, took: Duration) -> anyhow::Result<()> {
    let mut counted = 0;
    for number in 0..COUNTERS {
        counted += client.entity::<Counter>(id(number)).value().await?;
    }
    let (old, new) = (seen.by_old, seen.by_new);
    println!("the update took {:.1} s under load", took.as_secs_f64());
    println!("{old} asks answered by 1.0.0, {new} by 2.0.0");
    println!("{} asks failed", seen.failed.len());
    println!("the longest ask took {} ms", seen.longest.as_millis());
    ensure!(seen.failed.is_empty(), "asks failed: {:?}", seen.failed);
    ensure!(counted == old + new, "{counted} counted");
    println!("the counters have {counted}: nothing was lost or counted twice");
    Ok(())
}
