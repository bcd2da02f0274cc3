//! What holds for every allocator and every cluster, not only for the examples in `tests`.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::cluster::Cluster;
use super::*;
use crate::Incarnation;

proptest! {
    #[test]
    fn every_move_fits_the_view(cluster in any_cluster(), rule in any_rule()) {
        let view = cluster.view();
        let plan = rule.plan(&view);
        let shards = plan.moves.iter().map(|planned| planned.shard);
        prop_assert_eq!(BTreeSet::from_iter(shards).len(), plan.moves.len(), "a shard occurs twice");
        for planned in &plan.moves {
            let holding = cluster.shards[planned.shard.index()];
            let expected = planned.from.map_or(Holding::Unowned, Holding::Held);
            prop_assert_eq!(holding, expected, "{}", planned);
            prop_assert_eq!(stance(&cluster, planned.to), Some(Stance::Takes), "{}", planned);
            prop_assert_ne!(planned.from, Some(planned.to), "{}", planned);
            let from = planned.from.map(|from| stance(&cluster, from));
            let expected = match planned.reason {
                MoveReason::Unowned => None,
                MoveReason::Draining => Some(Some(Stance::Leaves)),
                MoveReason::Balance { .. } => Some(Some(Stance::Takes)),
            };
            prop_assert_eq!(from, expected, "{}", planned);
        }
    }

    #[test]
    fn nothing_that_can_be_placed_or_drained_is_left(cluster in any_cluster(), rule in any_balanced()) {
        let plan = rule.plan(&cluster.view());
        let any_takes = cluster.nodes.iter().any(|node| node.stance == Stance::Takes);
        let homeless = cluster.shards.iter().filter(|holding| match holding {
            Holding::Unowned => true,
            Holding::Held(node) => stance(&cluster, *node) == Some(Stance::Leaves),
            Holding::Moving(_) => false,
        });
        let expected = if any_takes { homeless.count() } else { 0 };
        let urgent = plan.moves.iter().take_while(|planned| !is_balance(planned));
        prop_assert_eq!(urgent.count(), expected);
        prop_assert!(plan.moves[expected..].iter().all(is_balance));
    }

    #[test]
    fn balancing_stays_within_the_rate(cluster in any_cluster(), rule in any_rule()) {
        let limit = rule.rate().of(cluster.shards.len()) as usize;
        let mut gets = BTreeMap::<_, usize>::new();
        for holding in &cluster.shards {
            if let Holding::Moving(node) = holding {
                *gets.entry(*node).or_default() += 1;
            }
        }
        for planned in &rule.plan(&cluster.view()).moves {
            let gets = gets.entry(planned.to).or_default();
            *gets += 1;
            prop_assert!(!is_balance(planned) || *gets <= limit, "{planned}: the {gets}th of {limit}");
        }
    }

    #[test]
    fn no_receiver_ends_above_its_share(cluster in any_cluster(), rule in any_rule()) {
        let plan = rule.plan(&cluster.view());
        let shares = shares(&cluster, rule.unowned(&cluster));
        let counts = counts_after(&cluster, &plan);
        for planned in &plan.moves {
            let (has, share) = (counts[&planned.to], shares[&planned.to]);
            prop_assert!(has <= share.most, "{planned}: has {has} in the end of {share:?}");
        }
    }

    #[test]
    fn only_one_version_is_balanced(cluster in any_cluster(), rule in any_rule()) {
        let takers = cluster.nodes.iter().filter(|node| node.stance == Stance::Takes);
        let versions = BTreeSet::from_iter(takers.map(|node| node.version.numbers()));
        let plan = rule.plan(&cluster.view());
        prop_assert!(versions.len() <= 1 || !plan.moves.iter().any(is_balance), "{versions:?}");
    }

    #[test]
    fn an_older_version_gets_nothing_while_a_newer_one_is_below_its_share(
        cluster in any_cluster().prop_map(without_leaving),
        rule in any_rule(),
    ) {
        let shares = shares(&cluster, rule.unowned(&cluster));
        let mut counts = counts_after(&cluster, &Plan::default());
        for planned in &rule.plan(&cluster.view()).moves {
            let to = node(&cluster, planned.to);
            for (other, share) in &shares {
                let newer = node(&cluster, *other).version.numbers() > to.version.numbers();
                prop_assert!(!newer || counts[other] >= share.least, "{planned}, {counts:?}");
            }
            *counts.entry(planned.to).or_default() += 1;
            if let Some(from) = planned.from {
                *counts.entry(from).or_default() -= 1;
            }
        }
    }

    #[test]
    fn the_same_view_gives_the_same_plan(
        cluster in any_cluster(),
        rule in any_rule(),
        order in any::<[Index; 8]>(),
    ) {
        let plan = rule.plan(&cluster.view());
        let mut shuffled = cluster;
        let last = shuffled.nodes.len();
        for (place, other) in order.iter().take(last).enumerate() {
            shuffled.nodes.swap(place, other.index(last));
        }
        prop_assert_eq!(rule.plan(&shuffled.view()), plan);
    }

    #[test]
    fn rounds_end_in_balance_after_no_more_moves_than_needed(
        cluster in any_cluster().prop_map(of_one_version),
        rule in any_rule(),
    ) {
        prop_assume!(rule.rate() > Rate::ZERO);
        let (unowned, needed) = (rule.unowned(&cluster), moves_needed(&cluster, rule.unowned(&cluster)));
        let shares = shares(&cluster, unowned);
        let mut settled = cluster.clone();
        let rounds = settled.settle(&rule);

        let counts = counts_after(&settled, &Plan::default());
        for (node, share) in &shares {
            let has = counts[node];
            prop_assert!((share.least..=share.most).contains(&has), "{node} has {has} of {share:?}");
        }
        prop_assert_eq!(settled.moved.iter().sum::<u32>() as usize, needed);
        prop_assert_eq!(rule.plan(&settled.view()), Plan::default());
        let limit = rule.rate().of(cluster.shards.len()) as usize;
        let most = shares.values().map(|share| share.most).max().unwrap_or(0);
        prop_assert!(rounds <= 1 + most.div_ceil(limit.max(1)), "{rounds} rounds");
    }

    #[test]
    fn equal_nodes_settle_within_one_of_each_other(
        cluster in any_cluster().prop_map(of_one_version).prop_map(of_one_weight),
    ) {
        let mut settled = cluster;
        settled.settle(&Balanced::default());
        let takers = settled.nodes.iter().filter(|node| node.stance == Stance::Takes);
        let counts = Vec::from_iter(takers.map(|node| settled.count(node.incarnation)));
        let (least, most) = (counts.iter().min(), counts.iter().max());
        prop_assert!(most.unwrap_or(&0) - least.unwrap_or(&0) <= 1, "{counts:?}");
    }

    #[test]
    fn an_update_that_starts_nodes_first_moves_each_shard_once(
        shards in 0..120_usize,
        nodes in 1..12_usize,
        surge in 1..4_usize,
        stop in select(&[Stop::Drain, Stop::Kill]),
        rule in any_balanced(),
    ) {
        let mut cluster = settled(shards, nodes);
        let old = Vec::from_iter(cluster.nodes.iter().map(|node| node.incarnation));
        for batch in old.chunks(surge) {
            replace(&mut cluster, batch, "2.0.0", stop, &rule);
        }
        prop_assert_eq!(&cluster.moved, &vec![1; shards]);
        prop_assert_eq!(rule.plan(&cluster.view()), Plan::default());
    }

    #[test]
    fn a_rollback_moves_only_what_the_new_nodes_have_and_that_once(
        shards in 0..120_usize,
        nodes in 1..12_usize,
        surge in 1..4_usize,
        rule in any_balanced(),
        part in any::<Index>(),
    ) {
        let mut cluster = settled(shards, nodes);
        let old = Vec::from_iter(cluster.nodes.iter().map(|node| node.incarnation));
        for node in &old[..part.index(nodes)] {
            replace(&mut cluster, &[*node], "2.0.0", Stop::Drain, &rule);
        }
        let stayed = |holding: &Holding| old.iter().any(|node| *holding == Holding::Held(*node));
        let expected = Vec::from_iter(cluster.shards.iter().map(|shard| u32::from(!stayed(shard))));
        cluster.forget_moves();
        let new = cluster.nodes.iter().map(|node| node.incarnation);
        let new = Vec::from_iter(new.filter(|node| !old.contains(node)));
        for batch in new.chunks(surge) {
            replace(&mut cluster, batch, "1.0.0", Stop::Drain, &rule);
        }
        prop_assert_eq!(&cluster.moved, &expected);
        prop_assert_eq!(rule.plan(&cluster.view()), Plan::default());
    }

    #[test]
    fn a_placed_shard_goes_to_the_emptiest_of_equal_nodes(
        cluster in any_cluster().prop_map(of_one_version).prop_map(of_one_weight),
    ) {
        let rule = LeastShards::default();
        for shard in cluster.view().unowned() {
            let takers = cluster.nodes.iter().filter(|node| node.stance == Stance::Takes);
            let fewest = takers.map(|node| cluster.count(node.incarnation)).min();
            let placed = rule.place(&cluster.view(), shard);
            prop_assert_eq!(placed.map(|node| cluster.count(node)), fewest);
        }
    }
}

/// The allocators there are, as one.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Balanced(Balanced),
    LeastShards(LeastShards),
}

impl Allocator for Rule {
    fn plan(&self, view: &AllocationView<'_>) -> Plan {
        match self {
            Self::Balanced(rule) => rule.plan(view),
            Self::LeastShards(rule) => rule.plan(view),
        }
    }
}

impl Rule {
    fn rate(&self) -> Rate {
        match self {
            Self::Balanced(rule) => rule.rebalance_rate,
            Self::LeastShards(rule) => rule.balanced.rebalance_rate,
        }
    }

    /// How many shards it finds nodes for.
    fn unowned(&self, cluster: &Cluster) -> usize {
        match self {
            Self::Balanced(_) => cluster.view().unowned().count(),
            Self::LeastShards(_) => 0,
        }
    }
}

fn any_balanced() -> impl Strategy<Value = Balanced> {
    let rate = select(&[0.0, 0.01, 0.02, 0.1, 0.5, 1.0]);
    let rate = rate.prop_map(|rate| Rate::new(rate).expect("a part of one"));
    (rate, any::<u64>()).prop_map(|(rebalance_rate, seed)| Balanced {
        rebalance_rate,
        seed,
    })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    any_balanced().prop_flat_map(|balanced| {
        let least = LeastShards { balanced };
        select(vec![Rule::Balanced(balanced), Rule::LeastShards(least)])
    })
}

/// Up to eight nodes of any kind; shards that lie anywhere, at the nodes in sight more often than not.
fn any_cluster() -> impl Strategy<Value = Cluster> {
    let stance = prop_oneof![
        4 => Just(Stance::Takes),
        1 => Just(Stance::Keeps),
        1 => Just(Stance::Leaves),
    ];
    let node = (
        select(&["1.9", "1.10", "1.10-rc", "2.0", "sha"]),
        0..5_u32,
        stance,
    );
    let holder = prop_oneof![0..12_u64, 0..3_u64];
    let holding = prop_oneof![
        1 => Just(Holding::Unowned),
        4 => holder.clone().prop_map(|node| Holding::Held(Incarnation::new(node))),
        1 => holder.prop_map(|node| Holding::Moving(Incarnation::new(node))),
    ];
    let nodes = prop::collection::vec(node, 0..8);
    let shards = prop::collection::vec(holding, 0..60);
    (nodes, shards).prop_map(|(nodes, shards)| {
        let mut cluster = Cluster::of(shards.len());
        for (version, weight, stance) in nodes {
            let node = cluster.join_weighing(version, weight);
            cluster.set_stance(node, stance);
        }
        cluster.shards = shards;
        cluster
    })
}

fn without_leaving(mut cluster: Cluster) -> Cluster {
    for node in &mut cluster.nodes {
        if node.stance == Stance::Leaves {
            node.stance = Stance::Keeps;
        }
    }
    cluster
}

/// Of one version, with all moves done.
fn of_one_version(mut cluster: Cluster) -> Cluster {
    for node in &mut cluster.nodes {
        node.version = NodeVersion::default();
    }
    for holding in &mut cluster.shards {
        if let Holding::Moving(node) = holding {
            *holding = Holding::Held(*node);
        }
    }
    cluster
}

fn of_one_weight(mut cluster: Cluster) -> Cluster {
    for node in &mut cluster.nodes {
        node.weight = 3;
    }
    cluster
}

/// A balanced cluster in which nothing has moved.
fn settled(shards: usize, nodes: usize) -> Cluster {
    let mut cluster = Cluster::of(shards);
    for _ in 0..nodes {
        cluster.join("1.0.0");
    }
    cluster.round(&Balanced::default());
    cluster.forget_moves();
    cluster
}

/// How a node is stopped.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Drain,
    Kill,
}

/// Starts as many nodes as `old` has, then stops those, one by one.
fn replace(cluster: &mut Cluster, old: &[Incarnation], version: &str, stop: Stop, rule: &Balanced) {
    for _ in old {
        cluster.join(version);
        cluster.round(rule);
    }
    for node in old {
        match stop {
            Stop::Drain => cluster.leave(*node, rule),
            Stop::Kill => cluster.lose(*node),
        }
        cluster.round(rule);
    }
}

/// How many shards a node should have, rounded down and up.
#[derive(Clone, Copy, Debug)]
struct Share {
    least: usize,
    most: usize,
}

/// The shares of the nodes that take.
fn shares(cluster: &Cluster, unowned: usize) -> BTreeMap<Incarnation, Share> {
    let sharing = cluster
        .nodes
        .iter()
        .filter(|node| node.stance != Stance::Keeps);
    let owned = sharing
        .map(|node| cluster.count(node.incarnation))
        .sum::<usize>();
    let takers = cluster
        .nodes
        .iter()
        .filter(|node| node.stance == Stance::Takes);
    let weight = |node: &NodeView| node.weight.max(1) as usize;
    let weights = takers.clone().map(weight).sum::<usize>();
    let share = |node: &NodeView| {
        let exact = (owned + unowned) * weight(node);
        Share {
            least: exact / weights,
            most: exact.div_ceil(weights),
        }
    };
    takers.map(|node| (node.incarnation, share(node))).collect()
}

/// The fewest moves after which every node can have its share, by what must leave nodes that have too many and what
/// must reach nodes that have too few.
fn moves_needed(cluster: &Cluster, unowned: usize) -> usize {
    let shares = shares(cluster, unowned);
    if shares.is_empty() {
        return 0;
    }
    let leaving = cluster
        .nodes
        .iter()
        .filter(|node| node.stance == Stance::Leaves);
    let drained = leaving
        .map(|node| cluster.count(node.incarnation))
        .sum::<usize>();
    let (mut too_many, mut too_few) = (0, 0);
    for (node, share) in shares {
        let has = cluster.count(node);
        too_many += has.saturating_sub(share.most);
        too_few += share.least.saturating_sub(has);
    }
    let urgent = unowned + drained;
    urgent + too_many.max(too_few.saturating_sub(urgent))
}

fn counts_after(cluster: &Cluster, plan: &Plan) -> BTreeMap<Incarnation, usize> {
    let nodes = cluster.nodes.iter().map(|node| node.incarnation);
    let mut counts = BTreeMap::from_iter(nodes.map(|node| (node, cluster.count(node))));
    for planned in &plan.moves {
        *counts.entry(planned.to).or_default() += 1;
        if let Some(from) = planned.from {
            *counts.entry(from).or_default() -= 1;
        }
    }
    counts
}

fn stance(cluster: &Cluster, node: Incarnation) -> Option<Stance> {
    let mut nodes = cluster.nodes.iter();
    let found = nodes.find(|view| view.incarnation == node);
    found.map(|view| view.stance)
}

fn node(cluster: &Cluster, node: Incarnation) -> &NodeView {
    let mut nodes = cluster.nodes.iter();
    let found = nodes.find(|view| view.incarnation == node);
    found.expect("the node is there")
}

fn is_balance(planned: &Move) -> bool {
    match planned.reason {
        MoveReason::Balance { .. } => true,
        MoveReason::Unowned | MoveReason::Draining => false,
    }
}
