//! Clusters that it takes several nodes to form, however little each of them is told about the others.

use super::network::{Network, Weather};
use super::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn machine(network: &mut Network, number: usize, forms_with: usize, seeds: &[&str]) {
    let config = config(&format!("n{number}"), seeds);
    network.add(TopologyConfig {
        forms_with,
        ..config
    });
}

fn formed(network: &Network) -> usize {
    let decisions = network.decisions.iter();
    decisions
        .filter(|(_, _, action)| matches!(action, TopologyAction::Formed { .. }))
        .count()
}

fn are_one(network: &Network) -> bool {
    let mut clusters = network.running().map(|(_, topology)| topology.cluster());
    let first = clusters.next().flatten();
    first.is_some() && clusters.all(|cluster| cluster == first)
}

/// Five nodes under one name, which tells each of them of the others in any order and whenever it likes.
fn one_name(seed_value: u64, forms_with: usize, weather: Weather) -> Network {
    const NODES: usize = 5;
    let mut network = Network::new(seed_value, weather);
    let mut starts = Vec::new();
    let mut told = Vec::new();
    for number in 0..NODES {
        machine(&mut network, number, forms_with, &[&format!("n{number}")]);
        starts.push(network.random() % 3_000);
        told.push([(); NODES].map(|()| network.random() % 8_000));
    }
    for tick in (0..10_000).step_by(100) {
        for number in 0..NODES {
            if starts[number] / 100 == tick / 100 {
                network.start(number);
            }
            if tick >= starts[number] && tick % 1_000 == 0 {
                let known = (0..NODES).filter(|other| {
                    *other == number || tick >= starts[*other] + told[number][*other]
                });
                let known = known.map(|other| address(&format!("n{other}"))).collect();
                network.input(number, TopologyInput::Seeds(known));
            }
        }
        if network.random().is_multiple_of(20) {
            let (who, long) = (network.random() % NODES as u64, network.random() % 8_000);
            network.pause(who as usize, ms(long));
        }
        network.run_for(ms(100));
    }
    network
}

#[test]
fn more_than_half_under_one_name_form_one_cluster_whatever_the_name_answers() {
    for weather in [Weather::fair(), Weather::foul()] {
        let mut apart = 0;
        for seed_value in 0..200 {
            let mut network = one_name(seed_value, 3, weather.clone());
            let took = network.run_until(ms(60_000), are_one);
            assert!(took.is_some(), "seed value {seed_value}: they do not meet");
            assert_eq!(formed(&network), 1, "seed value {seed_value}");
            apart += usize::from(formed(&one_name(seed_value, 1, weather.clone())) > 1);
        }
        assert!(apart > 100, "without it they would be apart: {apart}");
    }
}

#[test]
fn too_few_form_nothing_and_say_whom_they_wait_for() {
    let mut network = Network::new(1, Weather::fair());
    for number in 0..3 {
        machine(&mut network, number, 3, &["n0", "n1", "n2"]);
    }
    network.start(1);
    network.start(2);
    network.run_for(ms(60_000));
    assert_eq!(formed(&network), 0);
    let said = |index: usize| {
        let topology = network.nodes[index].topology.as_ref().unwrap();
        topology.gathering().unwrap().to_string()
    };
    assert_eq!(
        said(1),
        "this peer is to form a cluster, and 2 of 3 are there: n1, n2"
    );
    assert_eq!(
        said(2),
        "the peer at n1:1 is to form a cluster when 3 peers have told it that they are there"
    );
    network.start(0);
    let took = network.run_until(ms(10_000), are_one);
    assert!(took.is_some(), "the third is there");
    let topology = network.nodes[0].topology.as_ref().unwrap();
    assert_eq!(topology.gathering(), None);
}

#[test]
fn enough_form_a_cluster_without_the_lowest() {
    for weather in [Weather::fair(), Weather::foul()] {
        let mut network = Network::new(1, weather);
        for number in 0..3 {
            machine(&mut network, number, 2, &["n0", "n1", "n2"]);
        }
        network.start(1);
        network.start(2);
        let took = network.run_until(ms(10_000), are_one);
        assert!(took.is_some(), "two of three are there");
        network.start(0);
        let took = network.run_until(ms(10_000), are_one);
        assert!(took.is_some(), "the third joins");
        assert_eq!(formed(&network), 1);
    }
}

/// Nobody else is anybody's seed, and all others have lower addresses.
#[test]
fn nodes_with_one_seed_gather_around_it() {
    for first in [0, 3] {
        let mut network = Network::new(1, Weather::fair());
        for number in 0..3 {
            machine(&mut network, number, 3, &["n3"]);
        }
        machine(&mut network, 3, 3, &[]);
        for number in 0..4 {
            network.start((first + number) % 4);
            network.run_for(ms(700));
        }
        let took = network.run_until(ms(10_000), are_one);
        assert!(took.is_some(), "n{first} came first");
        assert_eq!(formed(&network), 1);
    }
}

#[test]
fn nodes_that_see_each_other_form_a_cluster_within_a_blink() {
    let mut network = Network::new(1, Weather::fair());
    for number in 0..3 {
        machine(&mut network, number, 3, &["n0", "n1", "n2"]);
    }
    (0..3).for_each(|number| network.start(number));
    assert!(network.run_until(ms(100), are_one).is_some());
}

#[test]
fn it_takes_at_least_one_and_time_to_know() {
    let none = TopologyConfig {
        forms_with: 0,
        ..config("a", &[])
    };
    let hasty = TopologyConfig {
        forms_with: 2,
        form_after: ms(1_999),
        ..config("a", &[])
    };
    for (config, words) in [(none, "forms_with is zero"), (hasty, "1.999s")] {
        let error = Topology::new(Time::ZERO, config).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
