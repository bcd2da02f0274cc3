//! One topology at a time, with literals; `simulation` has many at once, `properties` what holds for all.

use std::time::Duration;

use super::message::Body;
use super::segment::Segment;
use crate::{
    Address, ClusterId, ConnectFailure, Forming, Generation, InvalidPhiConfig,
    InvalidTopologyConfig, NodeName, Profile, Time, Topology, TopologyAction, TopologyConfig,
    TopologyInput, TopologyMember, TopologyMessage, TopologyRejection, TopologyStatus, VectorClock,
};

mod gathering;
mod network;
mod properties;
mod simulation;

fn node(text: &str) -> NodeName {
    NodeName::new(text).expect("the name is valid")
}

/// The node `n` is reached at `n:1`.
fn address(text: &str) -> Address {
    Address::new(format!("{text}:1")).expect("the address is valid")
}

fn config(name: &str, seeds: &[&str]) -> TopologyConfig {
    let seeds = seeds.iter().map(|seed| address(seed));
    TopologyConfig::new(node(name), address(name), 1).with_seeds(seeds)
}

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn record(name: &str, run: u64, revision: u64, status: TopologyStatus) -> TopologyMember {
    let mut record = TopologyMember::joining(node(name), address(name), run, Profile::default());
    record.generation = Generation { run, revision };
    record.status = status;
    record
}

/// A cluster of one.
fn alone(name: &str) -> Topology {
    let mut topology = Topology::new(Time::ZERO, config(name, &[])).expect("the config is valid");
    topology.step(Time::ZERO, TopologyInput::Tick);
    topology
}

/// A cluster of one that knows these as up.
fn with_peers(name: &str, peers: &[&str]) -> Topology {
    let mut topology = alone(name);
    let peers: Vec<_> = peers.iter().map(|peer| up(peer)).collect();
    tell_records(&mut topology, at(1), &peers);
    topology
}

fn up(name: &str) -> TopologyMember {
    record(name, 1, 1, TopologyStatus::Up)
}

/// Says something as one of the same cluster.
fn say(to: &mut Topology, now: Time, from: &str, body: Body) -> Vec<TopologyAction> {
    let cluster = to.cluster();
    say_in(cluster, to, now, from, body)
}

fn say_in(
    cluster: Option<ClusterId>,
    to: &mut Topology,
    now: Time,
    from: &str,
    body: Body,
) -> Vec<TopologyAction> {
    let message = TopologyMessage {
        cluster,
        from: node(from),
        run: 1,
        body,
    };
    let from = address(from);
    to.step(now, TopologyInput::Message { from, message })
}

/// What a node says that wants to join.
fn hello(name: &str) -> Body {
    let me = TopologyMember::joining(node(name), address(name), 1, Profile::default());
    Body::Hello(Box::new(me))
}

fn tell_records(to: &mut Topology, now: Time, records: &[TopologyMember]) -> Vec<TopologyAction> {
    let piece = |record: &TopologyMember| {
        let segment = Segment::of_records(VectorClock::default(), vec![record.clone()]);
        (Segment::of(&record.name), segment)
    };
    let segments = records.iter().map(piece).collect();
    let want = Vec::new();
    say(to, now, "gossip", Body::Records { segments, want })
}

fn known(topology: &Topology, name: &str) -> TopologyMember {
    let member = topology.member(&node(name));
    member.expect("it is known").clone()
}

fn status(topology: &Topology, name: &str) -> Option<TopologyStatus> {
    topology.member(&node(name)).map(|member| member.status)
}

fn sent_to<'a>(actions: &'a [TopologyAction], to: &str) -> Vec<&'a Body> {
    let mut sent = Vec::new();
    for action in actions {
        if let TopologyAction::Send {
            to: target,
            message,
        } = action
            && *target == address(to)
        {
            sent.push(&message.body);
        }
    }
    sent
}

#[test]
fn a_node_with_seeds_belongs_to_no_cluster_until_it_is_welcomed() {
    let mut joiner = Topology::new(Time::ZERO, config("b", &["a"])).unwrap();
    let actions = joiner.step(Time::ZERO, TopologyInput::Tick);
    assert_eq!(sent_to(&actions, "a"), [&hello("b")]);
    assert_eq!(
        (joiner.cluster(), joiner.snapshot().members.len()),
        (None, 0)
    );

    let mut seed = alone("a");
    let actions = say_in(None, &mut seed, at(1), "b", hello("b"));
    assert_eq!(status(&seed, "b"), Some(TopologyStatus::Joining));
    let [
        welcome @ Body::Welcome {
            known_as: None,
            members,
        },
    ] = sent_to(&actions, "b")[..]
    else {
        panic!("{actions:?}");
    };
    assert_eq!(members[..], [known(&seed, "a")]);

    let actions = say_in(seed.cluster(), &mut joiner, at(2), "a", welcome.clone());
    let (cluster, via) = (seed.cluster().unwrap(), node("a"));
    assert!(
        actions.contains(&TopologyAction::Joined { cluster, via }),
        "{actions:?}"
    );
    assert_eq!(status(&joiner, "b"), Some(TopologyStatus::Up));
    assert_eq!(status(&joiner, "a"), Some(TopologyStatus::Up));
}

#[test]
fn a_full_cluster_says_so() {
    let config = TopologyConfig {
        max_members: 1,
        ..config("a", &[])
    };
    let mut seed = Topology::new(Time::ZERO, config).unwrap();
    seed.step(Time::ZERO, TopologyInput::Tick);
    let actions = say_in(None, &mut seed, at(1), "b", hello("b"));
    assert_eq!(sent_to(&actions, "b"), [&Body::Full]);
    let (from, reason) = (address("gossip"), TopologyRejection::TooManyMembers);
    let actions = tell_records(&mut seed, at(2), &[up("c")]);
    assert_eq!(actions, [TopologyAction::Rejected { from, reason }]);
    assert_eq!(seed.snapshot().members.len(), 1);
}

#[test]
fn an_accused_node_answers_with_a_higher_generation() {
    let mut topology = with_peers("a", &["b"]);
    let mut accused = known(&topology, "a");
    accused.accuse(&node("b"));
    let actions = tell_records(&mut topology, at(2), &[accused.clone()]);
    let answer = known(&topology, "a");
    assert_eq!(answer.generation, accused.generation.next_revision());
    assert_eq!(
        (answer.status, answer.accusers.len()),
        (TopologyStatus::Up, 0)
    );
    assert!(!sent_to(&actions, "b").is_empty(), "it spreads at once");
    let late = tell_records(&mut topology, at(3), &[accused]);
    assert_eq!(late, [], "what it has answered does not come back");
}

#[test]
fn a_node_that_was_removed_while_it_was_away_comes_back_under_a_higher_generation() {
    let mut topology = alone("a");
    let mut removed = known(&topology, "a");
    removed.status = TopologyStatus::Removed;
    tell_records(&mut topology, at(1), &[removed.clone()]);
    let answer = known(&topology, "a");
    assert_eq!(
        (answer.status, answer.generation > removed.generation),
        (TopologyStatus::Up, true)
    );
}

#[test]
fn a_later_run_elsewhere_ends_this_one_and_an_earlier_one_here_is_outdone() {
    let mut topology = alone("a");
    tell_records(
        &mut topology,
        at(1),
        &[record("a", 7, 3, TopologyStatus::Up)],
    );
    assert_eq!(
        known(&topology, "a").generation.run,
        8,
        "the same address: it was this node"
    );
    let by = Address::new("elsewhere:1").unwrap();
    let mut other = record("a", 9, 0, TopologyStatus::Up);
    other.address = by.clone();
    let actions = tell_records(&mut topology, at(2), &[other]);
    assert!(
        actions.contains(&TopologyAction::Replaced { by }),
        "{actions:?}"
    );
    assert_eq!((topology.cluster(), topology.next_wakeup()), (None, None));
    assert_eq!(topology.step(at(9000), TopologyInput::Tick), []);
}

#[test]
fn gossip_that_is_late_does_not_bring_a_removed_member_back() {
    let mut topology = alone("a");
    let up = record("b", 1, 4, TopologyStatus::Up);
    tell_records(
        &mut topology,
        at(1),
        &[up.clone(), record("b", 1, 5, TopologyStatus::Removed)],
    );
    for revision in 0..=5 {
        for late in [
            TopologyStatus::Joining,
            TopologyStatus::Up,
            TopologyStatus::Down,
        ] {
            tell_records(&mut topology, at(2), &[record("b", 1, revision, late)]);
            assert_eq!(status(&topology, "b"), Some(TopologyStatus::Removed));
        }
    }
    assert_eq!(topology.snapshot().members.len(), 1);
}

#[test]
fn a_tombstone_is_forgotten_in_time_and_not_learned_from_others_again() {
    let mut topology = alone("a");
    let removed = record("b", 1, 5, TopologyStatus::Removed);
    tell_records(
        &mut topology,
        at(1),
        &[record("b", 1, 4, TopologyStatus::Up), removed.clone()],
    );
    run_alone(&mut topology, Duration::from_secs(899));
    assert_eq!(status(&topology, "b"), Some(TopologyStatus::Removed));
    run_alone(&mut topology, Duration::from_secs(902));
    assert_eq!(status(&topology, "b"), None);
    tell_records(&mut topology, at(902_000), &[removed]);
    assert_eq!(status(&topology, "b"), None);
}

/// Steps it whenever it wants to be, until `end` after the origin.
fn run_alone(topology: &mut Topology, end: Duration) {
    while let Some(next) = topology
        .next_wakeup()
        .filter(|next| *next <= Time::ZERO + end)
    {
        topology.step(next, TopologyInput::Tick);
    }
}

#[test]
fn one_observer_accuses_and_a_second_puts_down() {
    let mut topology = with_peers("a", &["b", "c", "d"]);
    run_with(&mut topology, at(20_000), &["c", "d"]);
    let accused = known(&topology, "b");
    assert_eq!(
        (accused.status, &accused.accusers[..]),
        (TopologyStatus::Up, &[node("a")][..])
    );
    let mut confirmed = up("b");
    confirmed.accuse(&node("c"));
    tell_records(&mut topology, at(20_000), &[confirmed]);
    assert_eq!(status(&topology, "b"), Some(TopologyStatus::Down));
    assert_eq!(status(&topology, "c"), Some(TopologyStatus::Up));
}

/// Steps it until `end`, while each of `answering` answers its pings at once.
fn run_with(topology: &mut Topology, end: Time, answering: &[&str]) {
    while let Some(next) = topology.next_wakeup().filter(|next| *next < end) {
        let actions = topology.step(next, TopologyInput::Tick);
        for name in answering {
            for body in sent_to(&actions, name) {
                if let Body::Ping(number) = body {
                    say(topology, next, name, Body::Pong(*number));
                }
            }
        }
    }
}

fn accused(topology: &Topology) -> Vec<NodeName> {
    let members = topology.snapshot().members;
    let accused = members
        .into_iter()
        .filter(|member| !member.accusers.is_empty());
    accused.map(|member| member.name).collect()
}

/// With one neighbour only, nothing but its own lateness tells it that the silence was its own.
#[test]
fn an_observer_that_slept_accuses_nobody_for_it() {
    let mut topology = with_peers("a", &["b"]);
    run_with(&mut topology, at(20_000), &["b"]);
    topology.step(at(60_000), TopologyInput::Tick);
    run_with(&mut topology, at(63_000), &[]);
    assert_eq!(accused(&topology), []);
    run_with(&mut topology, at(70_000), &[]);
    assert_eq!(accused(&topology), [node("b")]);
}

#[test]
fn an_observer_that_hears_most_fall_silent_at_once_waits_longer() {
    let silent_for_4_s = |answering: &[&str]| {
        let mut topology = with_peers("a", &["b", "c", "d", "e"]);
        run_with(&mut topology, at(20_000), &["b", "c", "d", "e"]);
        run_with(&mut topology, at(24_000), answering);
        accused(&topology)
    };
    assert_eq!(silent_for_4_s(&["b", "c"]), [node("d"), node("e")]);
    assert_eq!(silent_for_4_s(&["b"]), []);
}

#[test]
fn only_a_change_of_its_own_bumps_a_clock() {
    let mut topology = alone("a");
    let clock = |topology: &Topology, name: &str| {
        let segment = topology.view.segment(Segment::of(&node(name)));
        segment
            .unwrap()
            .clock
            .iter()
            .map(|(_, count)| count)
            .sum::<u64>()
    };
    let heard = up("b");
    for _ in 0..3 {
        tell_records(&mut topology, at(1), std::slice::from_ref(&heard));
    }
    assert_eq!((clock(&topology, "a"), clock(&topology, "b")), (1, 0));
    topology.speak();
    assert_eq!(clock(&topology, "a"), 1, "it said nothing new");
    let profile = Profile::default().with_weight(7);
    topology.step(at(1), TopologyInput::Describe(profile));
    assert_eq!(clock(&topology, "a"), 2);
}

#[test]
fn a_node_that_slept_too_long_drops_what_it_knew_and_asks_anew() {
    let mut topology = with_peers("a", &["b"]);
    let before = known(&topology, "a").generation;
    let actions = topology.step(at(451_000), TopologyInput::Tick);
    assert_eq!(status(&topology, "b"), None);
    assert!(
        matches!(sent_to(&actions, "b")[..], [Body::Digest(_)]),
        "{actions:?}"
    );
    assert!(known(&topology, "a").generation > before);
}

#[test]
fn equal_views_have_nothing_to_say_to_each_other() {
    let mut topology = alone("a");
    let digest = topology.view.digest();
    assert_eq!(say(&mut topology, at(1), "b", Body::Digest(digest)), []);
    let actions = say(&mut topology, at(1), "b", Body::Digest(digest + 1));
    assert!(
        matches!(sent_to(&actions, "b")[..], [Body::Segments(_)]),
        "{actions:?}"
    );
}

#[test]
fn the_view_that_has_seen_less_asks_and_the_other_tells() {
    let (mut a, index) = (alone("a"), Segment::of(&node("a")));
    let mine = a.view.segment(index).unwrap().clock.clone();
    let mut newer = mine.clone();
    newer.bump(&crate::Author {
        name: node("b"),
        run: 1,
    });
    let rows = [
        (VectorClock::default(), 1, vec![]),
        (newer, 0, vec![index]),
        (mine, 1, vec![index]),
    ];
    for (theirs, told, wanted) in rows {
        let actions = say(&mut a, at(1), "b", Body::Clocks(vec![(index, theirs)]));
        let [Body::Records { segments, want }] = sent_to(&actions, "b")[..] else {
            panic!("{actions:?}");
        };
        assert_eq!((segments.len(), want), (told, &wanted));
    }
}

#[test]
fn what_a_node_says_about_itself_later_is_a_change_and_the_same_again_is_not() {
    let mut topology = alone("a");
    let profile = Profile::default().with_metadata([9]).unwrap();
    let actions = topology.step(at(1), TopologyInput::Describe(profile.clone()));
    assert_eq!(actions, [TopologyAction::Changed { version: 2 }]);
    assert_eq!(known(&topology, "a").profile, profile);
    assert_eq!(topology.step(at(1), TopologyInput::Describe(profile)), []);
}

#[test]
fn a_refused_connection_shortens_the_wait() {
    let silent_for = |failure| {
        let mut topology = with_peers("b", &["a"]);
        while let Some(next) = topology
            .next_wakeup()
            .filter(|_| status(&topology, "a") == Some(TopologyStatus::Up))
        {
            topology.step(next, TopologyInput::Tick);
            topology.step(
                next,
                TopologyInput::Unreachable {
                    address: address("a"),
                    failure,
                },
            );
        }
        topology.now.saturating_since(at(1))
    };
    assert!(silent_for(ConnectFailure::Refused) <= Duration::from_millis(1500));
    assert!(silent_for(ConnectFailure::NoAnswer) > Duration::from_millis(3300));
}

#[test]
fn time_never_turns_back() {
    let mut topology = alone("a");
    run_alone(&mut topology, Duration::from_secs(10));
    let next = topology.next_wakeup();
    assert_eq!(topology.step(at(3), TopologyInput::Tick), []);
    assert_eq!(topology.next_wakeup(), next);
}

#[test]
fn settings_that_cannot_work_are_refused_with_their_numbers() {
    let refusal = |change: fn(&mut TopologyConfig)| {
        let mut config = config("a", &[]);
        change(&mut config);
        Topology::new(Time::ZERO, config).unwrap_err()
    };
    assert_eq!(
        refusal(|config| config.phi.window = 0),
        InvalidTopologyConfig::Phi(InvalidPhiConfig::Window(0))
    );
    assert_eq!(
        refusal(|config| config.fanout = 0),
        InvalidTopologyConfig::Zero("fanout")
    );
    assert_eq!(
        refusal(|config| config.gossip_every = Duration::ZERO),
        InvalidTopologyConfig::Zero("gossip_every")
    );
    assert_eq!(
        refusal(|config| config.max_message = 100).to_string(),
        "max_message is 100 bytes: it must be at least 4096"
    );
    assert_eq!(
        refusal(|config| config.forget_after = Duration::from_secs(479)).to_string(),
        "forget_after is 479s: it must be at least four times remove_after, which is 120s"
    );
}
