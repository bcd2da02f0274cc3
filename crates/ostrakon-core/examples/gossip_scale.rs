//! What membership costs with a thousand nodes, in virtual time: `cargo run --release -p ostrakon-core --example gossip_scale`.
//!
//! An argument gives another number of nodes. Bytes are those of the messages in postcard, without what the link adds.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "an example speaks to its reader"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use ostrakon_core::{
    Address, ConnectFailure, NodeName, NodeVersion, Profile, RoleName, Time, Topology,
    TopologyAction, TopologyConfig, TopologyInput, TopologyMessage, TopologyStatus,
};

#[path = "../src/membership/tests/network.rs"]
#[allow(dead_code, reason = "the tests of the crate use all of it")]
mod network;

use network::{Network, Refusals, Weather};

fn main() {
    let count: usize = std::env::args()
        .nth(1)
        .map_or(1000, |text| text.parse().expect("a number of nodes"));
    let mut network = machines(count);
    println!(
        "{count} nodes, all started at once, three of them the seeds of all; delays of 0.2 to 2 ms, no loss"
    );

    (0..count).for_each(|index| network.start(index));
    let joined = Stretch::begin(&network);
    network
        .run_until(Duration::from_secs(120), all_know_all)
        .expect("all know all within two minutes");
    joined.report(&network, "until all know all");

    network.run_for(Duration::from_secs(10));
    let idle = Stretch::begin(&network);
    network.run_for(Duration::from_secs(30));
    idle.report(&network, "idle");

    for (index, refusals, what) in [
        (
            count / 4,
            Refusals::Sent,
            "until a crash is known by all, its machine refusing connections",
        ),
        (
            count / 2,
            Refusals::Swallowed,
            "until a crash is known by all, its machine silent too",
        ),
    ] {
        network.weather.refusals = refusals;
        network.crash(index);
        let crash = Stretch::begin(&network);
        let gone = |network: &Network| everyone_sees(network, index, TopologyStatus::Down);
        network
            .run_until(Duration::from_secs(120), gone)
            .expect("the crash is known within two minutes");
        crash.report(&network, what);
    }

    network.start(count / 4);
    network.start(count / 2);
    let rejoin = Stretch::begin(&network);
    network
        .run_until(Duration::from_secs(120), all_know_all)
        .expect("the node is back within two minutes");
    rejoin.report(&network, "until its restart is known by all");

    network.input(count / 3, TopologyInput::Leave);
    let leave = Stretch::begin(&network);
    let gone = |network: &Network| everyone_sees(network, count / 3, TopologyStatus::Leaving);
    network
        .run_until(Duration::from_secs(120), gone)
        .expect("the leave is known within two minutes");
    leave.report(&network, "until a leave is known by all");
}

fn machines(count: usize) -> Network {
    let mut network = Network::new(1, Weather::fair());
    network.measure = |message| {
        postcard::to_stdvec(message)
            .expect("it can be encoded")
            .len()
    };
    let address =
        |index: usize| Address::new(format!("10.0.{}.{}:7000", index / 250, index % 250 + 1));
    let seeds: Vec<_> = (0..3)
        .map(|index| address(index).expect("the address is valid"))
        .collect();
    for index in 0..count {
        let name = NodeName::new(format!("node-{index}")).expect("the name is valid");
        let address = address(index).expect("the address is valid");
        // Milliseconds since 1970, as a real node would take.
        let mut config =
            TopologyConfig::new(name, address, 1_800_000_000_000).with_seeds(seeds.clone());
        config.profile = Profile::default()
            .with_roles([RoleName::new("worker").expect("the role is valid")])
            .and_then(|profile| profile.with_version(NodeVersion::new("1.4.2")))
            .and_then(|profile| profile.with_metadata([0; 8]))
            .expect("the profile is within its bounds");
        network.add(config);
    }
    network
}

fn all_know_all(network: &Network) -> bool {
    let count = network.running().count();
    let up = |topology: &Topology| {
        let members = network
            .nodes
            .iter()
            .filter_map(|node| topology.member(&node.config.name));
        members
            .filter(|member| member.status == TopologyStatus::Up && member.accusers.is_empty())
            .count()
    };
    network.running().all(|(_, topology)| up(topology) == count)
}

fn everyone_sees(network: &Network, index: usize, status: TopologyStatus) -> bool {
    let name = network.name(index);
    let sees = |topology: &Topology| {
        topology
            .member(name)
            .is_some_and(|member| member.status == status)
    };
    network
        .running()
        .filter(|(other, _)| *other != index)
        .all(|(_, topology)| sees(topology))
}

/// A stretch of virtual time, and what was sent before it.
struct Stretch {
    began: Time,
    sent: BTreeMap<&'static str, (u64, u64)>,
}

impl Stretch {
    fn begin(network: &Network) -> Self {
        Self {
            began: network.now,
            sent: network.sent.clone(),
        }
    }

    fn report(&self, network: &Network, what: &str) {
        let seconds = network.now.saturating_since(self.began).as_secs_f64();
        let node_seconds = network.nodes.len() as f64 * seconds;
        let (mut messages, mut bytes, mut kinds) = (0, 0, String::new());
        for (kind, (count, size)) in &network.sent {
            let (count_before, size_before) = self.sent.get(kind).copied().unwrap_or_default();
            let (count, size) = (count - count_before, size - size_before);
            if count > 0 {
                kinds += &format!(" {kind} {:.0},", size as f64 / node_seconds);
            }
            messages += count;
            bytes += size;
        }
        println!(
            "{what}: {seconds:.1} s ({seconds:.1} gossip rounds); per node and second: {:.1} messages, {:.0} bytes ({})",
            messages as f64 / node_seconds,
            bytes as f64 / node_seconds,
            kinds.trim_start().trim_end_matches(','),
        );
    }
}
