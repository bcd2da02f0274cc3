//! Sensors on several nodes: each reports once a second, a node is killed and another one joins, and no reading may be lost.
//!
//! It runs in the [cluster](super::cluster) of the bank: real processes, with this one as their client. The client sends all readings and
//! notes which were acknowledged; in the end every sensor is asked what its readings come to, and the [ledgers](ledger) are read for lives
//! that overlapped.

mod audit;
mod gateway;
mod ledger;
mod phase;
mod report;
mod sensor;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use ostrakon::{Entity, EntityId, Node};

use self::{
    audit::Audit,
    gateway::Gateway,
    phase::{Phase, Plan},
    report::Part,
};
pub(crate) use self::{
    ledger::Ledger,
    report::Report,
    sensor::{SHARDS, Sensor, group, hosting},
};
use super::{
    Options,
    cluster::Cluster,
    progress::{Progress, Sample},
};

/// The shortest time in which each sensor reports in each phase.
pub(crate) const SHORTEST: Duration = Duration::from_secs(4);

/// Lets so many sensors report and says what came of it.
pub(crate) async fn run(options: &Options, sensors: u32) -> anyhow::Result<Report> {
    let mut cluster = Cluster::open(options).await?;
    let gateway = Arc::new(Gateway::new(cluster.client(), sensors));
    // The first message brings a sensor to life; that is not what is measured.
    let awake = gateway.check().await;
    anyhow::ensure!(
        awake.unchecked == 0,
        "{} sensors did not start",
        awake.unchecked
    );
    let plan = Plan {
        began: Instant::now(),
        run_for: options.run_for(),
    };
    let reporting = tokio::spawn(Arc::clone(&gateway).bring_in(plan));
    let disturbed = tokio::select! {
        disturbed = disturb(&mut cluster, &plan) => disturbed?,
        () = show_progress(options, &gateway, &plan) => anyhow::bail!("nothing is shown any more"),
        _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
    };
    reporting.await?.context("cannot send readings")?;
    let findings = gateway.check().await;
    let last = shares(&cluster);
    // Nobody writes any more: every reading is answered or given up, and so is every question.
    let audit = Audit::of(&cluster.journal()).context("cannot read the ledgers")?;
    let part = |phase, shares| Part::of(&gateway, &plan, phase, shares);
    let parts = [
        part(Phase::Before, disturbed.before),
        part(Phase::During, disturbed.during),
        part(Phase::After, last),
    ];
    Ok(Report {
        sensors,
        killed_leader: disturbed.killed_leader,
        joined_after_ms: disturbed.joined_after.as_secs_f64() * 1e3,
        ..Report::of(options, parts, &findings, &audit)
    })
}

/// What was done to the cluster, and who had which shards before and after it.
struct Disturbed {
    before: BTreeMap<String, usize>,
    during: BTreeMap<String, usize>,
    killed_leader: bool,
    joined_after: Duration,
}

async fn disturb(cluster: &mut Cluster<'_>, plan: &Plan) -> anyhow::Result<Disturbed> {
    tokio::time::sleep_until(plan.end(Phase::Before).into()).await;
    let before = shares(cluster);
    let killed_leader = cluster.kill_first().await?;
    let killed = Instant::now();
    cluster.add_one().await?;
    let joined_after = killed.elapsed();
    tokio::time::sleep_until(plan.end(Phase::During).into()).await;
    let during = shares(cluster);
    tokio::time::sleep_until(plan.ends().into()).await;
    Ok(Disturbed {
        before,
        during,
        killed_leader,
        joined_after,
    })
}

/// How many shards each node has, as far as this process knows. Who has none is there as well.
fn shares(cluster: &Cluster<'_>) -> BTreeMap<String, usize> {
    let members = cluster.names().map(|name| (name.to_owned(), 0));
    let mut shares: BTreeMap<String, usize> = members.collect();
    for owner in owners(cluster.client()) {
        *shares.entry(owner).or_default() += 1;
    }
    shares
}

/// Who owns each shard that has an owner: found by an id of each, whether there is such a sensor or not.
fn owners(client: &Node) -> impl Iterator<Item = String> {
    let mut ids: BTreeMap<usize, String> = BTreeMap::new();
    for number in 0.. {
        let id = sensor::id(number);
        let shard = EntityId::new(&id)
            .ok()
            .and_then(|id| group().shard_of(&id).ok());
        if let Some(shard) = shard {
            ids.entry(shard.index()).or_insert(id);
        }
        if ids.len() == SHARDS as usize {
            break;
        }
    }
    let found = ids.into_values();
    found.filter_map(|id| Some(client.locate(Sensor::KIND, id).ok()?.node.to_string()))
}

async fn show_progress(options: &Options, gateway: &Gateway, plan: &Plan) {
    let mut progress = Progress::new(options);
    loop {
        tokio::time::sleep(progress.period()).await;
        let phases = [Phase::Before, Phase::During, Phase::After];
        let now = plan.phase(Instant::now()).unwrap_or(Phase::After);
        let messages = phases.map(|phase| gateway.figures(phase).tally.acknowledged);
        let figures = gateway.figures(now);
        progress.show(&Sample {
            messages: messages.iter().sum(),
            entities: None,
            p50_us: figures.tally.latency_us(0.50),
            p99_us: figures.tally.latency_us(0.99),
        });
    }
}
