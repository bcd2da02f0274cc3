use ostrakon_core::{Address, Generation, Profile};

use super::*;

/// A cluster as gossip, the log and the consensus see it.
struct Cluster {
    topology: TopologySnapshot,
    runs: BTreeMap<NodeName, Incarnation>,
    current: Members,
    leader: u64,
}

fn name(number: u64) -> NodeName {
    NodeName::new(format!("node-{number}")).unwrap()
}

fn voice(number: u64) -> Voice {
    Voice {
        id: number,
        name: name(number),
        address: address(number),
    }
}

fn address(number: u64) -> Address {
    Address::new(format!("127.0.0.1:{number}")).unwrap()
}

fn member(number: u64, duty: Duty) -> TopologyMember {
    let badge = Badge {
        voice: number,
        duty,
    };
    TopologyMember {
        name: name(number),
        address: address(number),
        generation: Generation::default(),
        status: TopologyStatus::Up,
        accusers: Vec::new(),
        profile: Profile::default().with_metadata(badge.to_bytes()).unwrap(),
    }
}

impl Cluster {
    /// Hosts 1 to `number`, all up and registered, of which those vote.
    fn of(number: u64, voters: &[u64]) -> Self {
        let all = 1..=number;
        let learners = all.clone().filter(|one| !voters.contains(one));
        Self {
            topology: TopologySnapshot {
                cluster: None,
                version: 1,
                members: all.clone().map(|one| member(one, Duty::Host)).collect(),
            },
            runs: all
                .clone()
                .map(|one| (name(one), Incarnation::new(one)))
                .collect(),
            current: Members {
                voters: voters.iter().map(|one| (*one, voice(*one))).collect(),
                learners: learners.map(|one| (one, voice(one))).collect(),
            },
            leader: voters[0],
        }
    }

    fn with_status(mut self, number: usize, status: TopologyStatus) -> Self {
        self.topology.members[number - 1].status = status;
        self
    }

    fn wanted(&self) -> (Vec<u64>, Vec<u64>) {
        let roster = Roster {
            topology: &self.topology,
            runs: &self.runs,
            current: &self.current,
            leader: self.leader,
        };
        let wanted = roster.wanted();
        let ids = |voices: BTreeMap<u64, Voice>| voices.into_keys().collect();
        (ids(wanted.voters), ids(wanted.learners))
    }
}

#[test]
fn everybody_learns_and_a_few_vote() {
    assert_eq!(Cluster::of(1, &[1]).wanted(), (vec![1], vec![]));
    assert_eq!(Cluster::of(2, &[1]).wanted(), (vec![1], vec![2]));
    assert_eq!(Cluster::of(3, &[1]).wanted(), (vec![1, 2, 3], vec![]));
    assert_eq!(Cluster::of(4, &[1]).wanted(), (vec![1, 2, 3], vec![4]));
}

#[test]
fn whoever_is_only_silent_keeps_its_vote() {
    let cluster = Cluster::of(4, &[1, 2, 3]).with_status(2, TopologyStatus::Down);
    assert_eq!(cluster.wanted(), (vec![1, 2, 3], vec![4]));
}

#[test]
fn whose_run_is_over_is_replaced() {
    let mut cluster = Cluster::of(4, &[1, 2, 3]).with_status(2, TopologyStatus::Down);
    cluster.runs.remove(&name(2));
    assert_eq!(cluster.wanted(), (vec![1, 3, 4], vec![]));
}

#[test]
fn a_later_run_under_its_name_replaces_a_voter() {
    let mut cluster = Cluster::of(3, &[1, 2, 3]);
    cluster.topology.members[1] = TopologyMember {
        name: name(2),
        ..member(22, Duty::Host)
    };
    assert_eq!(cluster.wanted(), (vec![1, 3, 22], vec![]));
}

#[test]
fn whoever_leaves_hands_its_vote_over() {
    let cluster = Cluster::of(4, &[1, 2, 3]).with_status(1, TopologyStatus::Leaving);
    assert_eq!(cluster.wanted(), (vec![2, 3, 4], vec![]));
    let two = Cluster::of(2, &[1]).with_status(1, TopologyStatus::Leaving);
    assert_eq!(two.wanted(), (vec![2], vec![]));
}

#[test]
fn voters_that_gossip_has_not_met_yet_stay() {
    let mut cluster = Cluster::of(3, &[1, 2, 3]);
    cluster.topology.members.truncate(1);
    assert_eq!(cluster.wanted(), (vec![1, 2, 3], vec![]));
}

#[test]
fn two_hosts_and_a_witness_vote_all_three() {
    let mut cluster = Cluster::of(2, &[1]);
    cluster.topology.members.push(member(3, Duty::Witness));
    assert_eq!(cluster.wanted(), (vec![1, 2, 3], vec![]));
}

#[test]
fn a_peer_without_a_badge_does_not_take_part_yet() {
    let mut cluster = Cluster::of(2, &[1]);
    cluster.topology.members[1].profile = Profile::default();
    assert_eq!(cluster.wanted(), (vec![1], vec![]));
}

#[test]
fn of_those_that_may_stay_the_leader_does() {
    let mut cluster = Cluster::of(3, &[1, 2, 3]).with_status(3, TopologyStatus::Leaving);
    assert_eq!(cluster.wanted(), (vec![1], vec![2]));
    cluster.leader = 2;
    assert_eq!(cluster.wanted(), (vec![2], vec![1]));
}
