//! A hundred thousand sensors in 256 shards: each aggregates its own readings, and none of them is lost.
//!
//! Everything happens in one process here. Run it with `cargo run --release -p sensors`.

use std::{fs, time::Instant};

use anyhow::ensure;
use ostrakon::{Entity, GroupName, Hosting, Node, ShardCount, ShardGroup, ShardHash, entity};
use serde::{Deserialize, Serialize};

const SENSORS: u32 = 100_000;
const SHARDS: u32 = 256;
const ROUNDS: u32 = 10;
/// Tasks that bring the readings in, each those of its own part of the sensors.
const GATEWAYS: u32 = 4;

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
    // A group says into how many shards its entities are cut, and how. Kinds of one group are spread in the same way.
    let group = ShardGroup {
        name: GroupName::new("sensors")?,
        count: ShardCount::new(SHARDS)?,
        hash: ShardHash::Md5,
    };
    // A small mailbox: who sends faster than sensors can follow is told so, instead of filling the memory.
    let hosting = Hosting::default().group(group.name.clone()).mailbox(4);
    let node = Node::builder("node-1").group(group);
    let node = node.host_as::<Sensor>(hosting).start().await?;

    // The first message brings a sensor to life.
    let before = memory_kb();
    ask_all(&node, "sensors brought to life").await?;
    if let (Some(before), Some(now)) = (before, memory_kb()) {
        let each = now.saturating_sub(before) * 1024 / u64::from(SENSORS);
        println!("{each:>10} bytes of memory for each of them");
    }

    let began = Instant::now();
    let gateways = (0..GATEWAYS).map(|gateway| tokio::spawn(bring_in(node.clone(), gateway)));
    let mut retries = 0;
    for gateway in gateways.collect::<Vec<_>>() {
        retries += gateway.await??;
    }
    print_rate("readings told", SENSORS * ROUNDS, began);
    println!("{retries:>10} times a mailbox was full and the reading was sent again");

    // Asks wait behind what was told before: every reading has been handled when this is done.
    let sensors = ask_all(&node, "sensors asked for their summary").await?;
    print_shards(&node)?;
    print_hottest(&sensors);

    node.leave().await?;
    let wrong = sensors.iter().filter(|s| s.count != ROUNDS).count();
    ensure!(wrong == 0, "{wrong} sensors do not have {ROUNDS} readings");
    println!("\nEvery sensor has its {ROUNDS} readings: nothing was lost.");
    Ok(())
}

async fn ask_all(node: &Node, what: &str) -> anyhow::Result<Vec<Sensor>> {
    let began = Instant::now();
    let mut sensors = Vec::new();
    for number in 0..SENSORS {
        let sensor = node.entity::<Sensor>(id(number));
        let summary = loop {
            match sensor.summary().await {
                Err(error) if error.is_retryable() => tokio::task::yield_now().await,
                answered => break answered?,
            }
        };
        sensors.push(summary);
    }
    print_rate(what, SENSORS, began);
    Ok(sensors)
}

/// Tells each sensor of one gateway a reading per round; returns how often one had to be sent again.
async fn bring_in(node: Node, gateway: u32) -> anyhow::Result<u64> {
    let mut retries = 0;
    for round in 0..ROUNDS {
        for number in (gateway..SENSORS).step_by(GATEWAYS as usize) {
            let sensor = node.entity::<Sensor>(id(number));
            while let Err(error) = sensor.tell().report(celsius(number, round)).await {
                // `Overloaded` is the only refusal that a later attempt can change.
                ensure!(error.is_retryable(), error);
                retries += 1;
                tokio::task::yield_now().await;
            }
        }
    }
    Ok(retries)
}

fn id(number: u32) -> String {
    format!("sensor-{number}")
}

/// A made-up reading: between 0 and 40 degrees, different for each sensor and round.
fn celsius(number: u32, round: u32) -> f64 {
    let mixed = (number * ROUNDS + round).wrapping_mul(2_654_435_761) >> 8;
    f64::from(mixed % 4_000) / 100.0
}

fn print_rate(what: &str, count: u32, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    let rate = f64::from(count) / seconds;
    println!("{count:>10} {what} in {seconds:.2} s: {rate:.0} per second");
}

fn print_shards(node: &Node) -> anyhow::Result<()> {
    let mut shards = [0_usize; SHARDS as usize];
    for number in 0..SENSORS {
        shards[node.locate(Sensor::KIND, id(number))?.shard.index()] += 1;
    }
    shards.sort_unstable();
    let (least, most, mean) = (shards[0], shards[shards.len() - 1], SENSORS / SHARDS);
    println!("{SHARDS:>10} shards of {least} to {most} sensors, {mean} on average");
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

/// How much memory this process uses, where the system tells.
fn memory_kb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let used = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    used.split_whitespace().nth(1)?.parse().ok()
}
