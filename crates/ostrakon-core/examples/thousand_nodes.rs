//! A thousand nodes register at once: how much the coordinator says, writes and thinks until every shard is served.
//!
//! `cargo run --release -p ostrakon-core --example thousand_nodes [NODES [SHARDS]]`

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an example reads clocks and prints"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    time::{Duration, Instant},
};

use ostrakon_core::{
    AppendOutcome, ConfirmOutcome, Coordinator, CoordinatorAction, CoordinatorInput, Entry,
    GroupName, GroupSpec, Index, NodeName, NodeVersion, Region, RegionAction, RegionInput,
    Registration, ShardCount, Time, ToCoordinator, ToRegion,
};

/// How long a message takes.
const HOP: Duration = Duration::from_millis(1);

struct Cluster {
    coordinator: Coordinator,
    log: Vec<Entry>,
    regions: BTreeMap<NodeName, Region>,
    to_coordinator: Vec<ToCoordinator>,
    to_regions: Vec<(NodeName, ToRegion)>,
    messages: usize,
    bytes: usize,
    /// The longest that the coordinator took for one step.
    slowest: Duration,
}

impl Cluster {
    fn new(nodes: u64, shards: u32) -> Result<Self, Box<dyn Error>> {
        let mut regions = BTreeMap::new();
        for number in 0..nodes {
            let region = Region::new(registration(number, shards)?, Duration::from_secs(1));
            regions.insert(region.name().clone(), region);
        }
        Ok(Self {
            coordinator: Coordinator::new(NodeName::new("manager")?, 1),
            log: Vec::new(),
            regions,
            to_coordinator: Vec::new(),
            to_regions: Vec::new(),
            messages: 0,
            bytes: 0,
            slowest: Duration::ZERO,
        })
    }

    fn tell(&mut self, now: Time, input: CoordinatorInput) {
        let began = Instant::now();
        let actions = self.coordinator.step(now, input);
        self.slowest = self.slowest.max(began.elapsed());
        for action in actions {
            match action {
                CoordinatorAction::Append { id, entries, .. } => self.append(now, id, entries),
                CoordinatorAction::Confirm { id } => {
                    let outcome = ConfirmOutcome::Confirmed;
                    self.tell(now, CoordinatorInput::ConfirmEnded { id, outcome });
                }
                CoordinatorAction::Send { to, message } => {
                    self.messages += 1;
                    self.bytes += postcard::to_allocvec(&message).map_or(0, |bytes| bytes.len());
                    self.to_regions.push((to.name, message));
                }
                CoordinatorAction::Read
                | CoordinatorAction::SendToRun { .. }
                | CoordinatorAction::Probe { .. } => {}
            }
        }
    }

    fn append(&mut self, now: Time, id: u64, entries: Vec<Entry>) {
        for entry in entries {
            self.log.push(entry.clone());
            let index = Index::new(self.log.len() as u64);
            self.tell(now, CoordinatorInput::Committed { index, entry });
        }
        let outcome = AppendOutcome::Done;
        self.tell(now, CoordinatorInput::AppendEnded { id, outcome });
    }

    /// One hop of all messages under way. Returns how many shards have been opened.
    fn round(&mut self, now: Time) -> usize {
        let mut opened = 0;
        let mut inputs: Vec<(NodeName, RegionInput)> = Vec::new();
        for (name, message) in std::mem::take(&mut self.to_regions) {
            inputs.push((name, RegionInput::Heard(message)));
        }
        for (name, region) in &self.regions {
            if region.next_wakeup().is_some_and(|time| time <= now) {
                inputs.push((name.clone(), RegionInput::Wake));
            }
        }
        for (name, input) in inputs {
            let Some(region) = self.regions.get_mut(&name) else {
                continue;
            };
            for action in region.step(now, input) {
                match action {
                    RegionAction::Send(message) => self.to_coordinator.push(message),
                    RegionAction::Open { .. } => opened += 1,
                    RegionAction::Drain { .. }
                    | RegionAction::Fence { .. }
                    | RegionAction::Refused { .. }
                    | RegionAction::Left => {}
                }
            }
        }
        for message in std::mem::take(&mut self.to_coordinator) {
            self.messages += 1;
            self.tell(now, CoordinatorInput::Heard(message));
        }
        if self
            .coordinator
            .next_wakeup()
            .is_some_and(|time| time <= now)
        {
            self.tell(now, CoordinatorInput::Wake);
        }
        opened
    }
}

fn registration(number: u64, shards: u32) -> Result<Registration, Box<dyn Error>> {
    Ok(Registration {
        name: NodeName::new(format!("node-{number}"))?,
        address: format!("10.0.{}.{}:25520", number / 250, number % 250),
        nonce: number,
        version: NodeVersion::new("1.0"),
        roles: BTreeSet::new(),
        place: std::collections::BTreeMap::new(),
        weight: 1,
        groups: vec![GroupSpec {
            name: GroupName::default(),
            count: ShardCount::new(shards)?,
            hash: "stable".to_owned(),
            role: None,
        }],
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes: u64 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let shards: u32 = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let mut cluster = Cluster::new(nodes, shards)?;
    let mut now = Time::ZERO + Duration::from_secs(1);
    let began = Instant::now();
    cluster.tell(now, CoordinatorInput::Lead);
    let mut opened = 0;
    let mut hops = 0;
    while opened < shards as usize && hops < 100_000 {
        opened += cluster.round(now);
        now = now + HOP;
        hops += 1;
    }
    let held: Vec<usize> = cluster
        .coordinator
        .state()
        .members()
        .map(|(run, _)| {
            let groups = cluster.coordinator.state().groups();
            let shards = groups.flat_map(|group| &group.shards);
            shards
                .filter(|ownership| ownership.owner().is_some_and(|(by, _)| by == run))
                .count()
        })
        .collect();
    println!(
        "{nodes} nodes registered at once; {opened} of {shards} shards served after {hops} hops"
    );
    println!(
        "shards of a node: {} to {}",
        held.iter().min().unwrap_or(&0),
        held.iter().max().unwrap_or(&0)
    );
    println!(
        "{} entries in the log, {} messages, {} bytes to nodes",
        cluster.log.len(),
        cluster.messages,
        cluster.bytes
    );
    println!(
        "{:?} of thinking in all, {:?} in the longest step",
        began.elapsed(),
        cluster.slowest
    );
    Ok(())
}
