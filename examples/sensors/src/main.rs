//! Two thousand sensors in 256 shards on three nodes: each aggregates its own readings, and none of them is lost.
//!
//! All nodes are in one process here, and talk to each other as if they were not: `cargo run --release -p sensors`. For nodes that are
//! processes, and one that is killed: `ostrakon demo --plane peer --nodes 8 --sensors 100000`.

use std::{collections::BTreeMap, time::Instant};

use anyhow::ensure;
use ostrakon::{Entity, GroupName, Hosting, Node, ShardCount, ShardGroup, ShardHash, entity};
use serde::{Deserialize, Serialize};

const SENSORS: u32 = 2_000;
const SHARDS: u32 = 256;
const ROUNDS: u32 = 5;
const NODES: [(&str, &str); 3] = [
    ("node-1", "127.0.0.1:25530"),
    ("node-2", "127.0.0.1:25531"),
    ("node-3", "127.0.0.1:25532"),
];

/// What a sensor knows of its readings. The readings themselves are not kept.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Sensor {
    count: u32,
    sum: f64,
    max: f64,
}

#[entity(kind = "sensor")]
impl Sensor {
    async fn report(&mut self, celsius: f64) {
        self.count += 1;
        self.sum += celsius;
        self.max = self.max.max(celsius);
    }

    /// An answer may be any value that serde can write, also the entity's own state.
    async fn summary(&self) -> Self {
        *self
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut nodes = Vec::new();
    for (name, address) in NODES {
        nodes.push(start(name, address).await?);
    }

    // Each node brings the readings of a part of the sensors in, wherever they live.
    let began = Instant::now();
    let gateways = (0..).zip(&nodes);
    let gateways = gateways.map(|(part, node)| tokio::spawn(bring_in(node.clone(), part)));
    for gateway in gateways.collect::<Vec<_>>() {
        gateway.await??;
    }
    let (readings, took) = (SENSORS * ROUNDS, began.elapsed().as_secs_f64());
    println!("{readings} readings in {took:.2} s");

    // Any node can be asked for all of them.
    let mut sensors = Vec::new();
    for number in 0..SENSORS {
        sensors.push(nodes[0].entity::<Sensor>(id(number)).summary().await?);
    }
    print_shards(&nodes[0])?;
    print_hottest(&sensors);
    let wrong = sensors.iter().filter(|s| s.count != ROUNDS).count();
    ensure!(wrong == 0, "{wrong} sensors do not have {ROUNDS} readings");
    println!("\nEvery sensor has its {ROUNDS} readings: nothing was lost.");
    Ok(())
}

async fn start(name: &str, address: &str) -> anyhow::Result<Node> {
    // A group says into how many shards its entities are cut, and how. Kinds of one group are spread in the same way.
    let group = ShardGroup {
        name: GroupName::new("sensors")?,
        count: ShardCount::new(SHARDS)?,
        hash: ShardHash::Md5,
    };
    let hosting = Hosting::default().group(group.name.clone());
    let seeds = NODES.map(|(_, address)| address);
    let node = Node::builder(name).peers(address, seeds).group(group);
    Ok(node.host_as::<Sensor>(hosting).start().await?)
}

/// Asks each sensor of one part to take a reading per round. To ask is to know that it was taken.
async fn bring_in(node: Node, part: u32) -> anyhow::Result<()> {
    for round in 0..ROUNDS {
        for number in (part..SENSORS).step_by(NODES.len()) {
            let sensor = node.entity::<Sensor>(id(number));
            sensor.report(celsius(number, round)).await?;
        }
    }
    Ok(())
}

fn id(number: u32) -> String {
    format!("sensor-{number}")
}

/// A made-up reading: between 0 and 40 degrees, different for each sensor and round.
fn celsius(number: u32, round: u32) -> f64 {
    let mixed = (number * ROUNDS + round).wrapping_mul(2_654_435_761) >> 8;
    f64::from(mixed % 4_000) / 100.0
}

fn print_shards(node: &Node) -> anyhow::Result<()> {
    let mut owners = BTreeMap::new();
    for number in 0..SENSORS {
        let location = node.locate(Sensor::KIND, id(number))?;
        owners.insert(location.shard, location.node);
    }
    for (name, _) in NODES {
        let shards = owners.values().filter(|owner| owner.as_str() == name);
        println!("{name} has {} shards", shards.count());
    }
    Ok(())
}

fn print_hottest(sensors: &[Sensor]) {
    let mut hottest: Vec<_> = sensors.iter().enumerate().collect();
    hottest.sort_by(|(_, a), (_, b)| b.sum.total_cmp(&a.sum));
    println!("\nThe ten hottest:");
    for (number, Sensor { count, sum, max }) in hottest.into_iter().take(10) {
        let mean = sum / f64::from(*count);
        println!("{number:>10}  mean {mean:.1} °C, max {max:.1} °C");
    }
}
