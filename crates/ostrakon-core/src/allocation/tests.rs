//! The allocators on named examples: those of Shardcake's own tests, and the stories of updates, rollbacks and drains.

use super::cluster::Cluster;
use super::*;
use crate::{Incarnation, ShardId};

const ALL_AT_ONCE: Balanced = Balanced {
    rebalance_rate: Rate::ALL,
    seed: 1,
};

/// The defaults of Shardcake: 2 %.
fn by_default() -> Balanced {
    Balanced::default()
}

fn i(number: u64) -> Incarnation {
    Incarnation::new(number)
}

/// `(from, to)` of every move.
fn routes(plan: &Plan) -> Vec<(Option<Incarnation>, Incarnation)> {
    plan.moves
        .iter()
        .map(|planned| (planned.from, planned.to))
        .collect()
}

/// One round without a limit on `version` with these counts.
fn planned(counts: &[usize]) -> Vec<(Option<Incarnation>, Incarnation)> {
    routes(&Cluster::with("1.0.0", counts).round(&ALL_AT_ONCE))
}

#[test]
fn an_empty_node_gets_one_of_two_shards() {
    assert_eq!(planned(&[2, 0]), [(Some(i(1)), i(2))]);
}

#[test]
fn mixed_versions_are_not_balanced() {
    let mut cluster = Cluster::with("1.0.0", &[2]);
    cluster.join("0.1.2");
    assert_eq!(cluster.round(&ALL_AT_ONCE), Plan::default());
    let mut cluster = Cluster::with("1.0.0", &[20]);
    cluster.join("1.0.1");
    assert_eq!(cluster.round(&ALL_AT_ONCE), Plan::default());
}

#[test]
fn a_balanced_cluster_is_left_alone() {
    assert_eq!(planned(&[1, 1]), []);
}

#[test]
fn a_difference_of_one_is_not_moved() {
    assert_eq!(planned(&[2, 1]), []);
    assert_eq!(planned(&[15, 16, 15, 16, 16]), []);
}

#[test]
fn a_difference_of_two_is_moved() {
    assert_eq!(planned(&[3, 1]), [(Some(i(1)), i(2))]);
}

#[test]
fn the_fullest_node_gives_to_the_emptiest() {
    assert_eq!(planned(&[2, 1, 0]), [(Some(i(1)), i(3))]);
}

#[test]
fn without_nodes_nothing_is_planned() {
    let mut cluster = Cluster::with("1.0.0", &[1]);
    cluster.nodes.clear();
    assert_eq!(cluster.round(&ALL_AT_ONCE), Plan::default());
}

#[test]
fn thirty_nodes_that_come_one_by_one_have_ten_each_of_300() {
    let mut cluster = Cluster::of(300);
    for _ in 0..30 {
        cluster.join("v1");
        cluster.round(&ALL_AT_ONCE);
    }
    assert_eq!(cluster.counts(), [10; 30]);
}

#[test]
fn scaling_out_gives_each_new_node_six_per_round_until_all_have_twelve() {
    let mut cluster = Cluster::of(300);
    for _ in 0..20 {
        cluster.join("1.0.0");
        cluster.round(&by_default());
    }
    let rounds_in_ten_minutes = 30;
    assert!(cluster.settle(&by_default()) <= rounds_in_ten_minutes);
    assert_eq!(cluster.counts(), [15; 20]);

    for _ in 0..5 {
        cluster.join("1.0.0");
    }
    cluster.round(&by_default());
    assert_eq!(cluster.counts()[20..], [6; 5]);
    cluster.round(&by_default());
    assert_eq!(cluster.counts(), [12; 25]);
    assert_eq!(cluster.round(&by_default()), Plan::default());
}

#[test]
fn scaling_in_gives_twenty_nodes_fifteen_each_at_once() {
    let full = Cluster::with("1.0.0", &[12; 25]);
    let mut lost = full.clone();
    for node in 21..=25 {
        lost.lose(i(node));
    }
    lost.round(&by_default());
    assert_eq!(lost.counts(), [15; 20]);

    let mut left = full;
    for node in 21..=25 {
        left.set_stance(i(node), Stance::Leaves);
    }
    left.round(&by_default());
    assert_eq!(left.counts()[..20], [15; 20]);
    assert_eq!(left.counts()[20..], [0; 5]);
}

#[test]
fn all_shards_of_a_group_are_dealt_out_in_the_first_round() {
    let mut cluster = Cluster::of(300);
    for _ in 0..20 {
        cluster.join("1.0.0");
    }
    let plan = cluster.round(&by_default());
    assert_eq!(cluster.counts(), [15; 20]);
    let unowned = |planned: &Move| planned.reason == MoveReason::Unowned;
    assert!(plan.moves.iter().all(unowned));
}

#[test]
fn unowned_shards_come_first_then_draining_ones_then_extra_ones() {
    let mut cluster = Cluster::with("1.0.0", &[6, 2, 0]);
    cluster.shards.extend([Holding::Unowned; 2]);
    cluster.moved.extend([0; 2]);
    cluster.set_stance(i(2), Stance::Leaves);
    use MoveReason::{Draining, Unowned};
    let plan = cluster.round(&ALL_AT_ONCE);
    let balance = MoveReason::Balance {
        from_has: 6,
        from_share: 5,
        to_has: 4,
        to_share: 5,
    };
    let reasons = Vec::from_iter(plan.moves.iter().map(|planned| planned.reason));
    assert_eq!(reasons, [Unowned, Unowned, Draining, Draining, balance]);
    let froms = Vec::from_iter(plan.moves.iter().map(|planned| planned.from));
    let (one, two) = (Some(i(1)), Some(i(2)));
    assert_eq!(froms, [None, None, two, two, one]);
}

#[test]
fn extra_shards_come_from_the_fullest_node_then_from_the_first() {
    let mut cluster = Cluster::with("1.0.0", &[6, 8, 6, 0, 0]);
    let plan = cluster.round(&ALL_AT_ONCE);
    let froms = Vec::from_iter(plan.moves.iter().filter_map(|planned| planned.from));
    assert_eq!(froms, [2, 2, 2, 2, 1, 1, 3, 3].map(i));
}

#[test]
fn only_the_seed_decides_which_shards_are_picked() {
    let picked = |seed| {
        let rule = Balanced {
            seed,
            ..ALL_AT_ONCE
        };
        let plan = rule.plan(&Cluster::with("1.0.0", &[100, 90]).view());
        Vec::from_iter(plan.moves.iter().map(|planned| planned.shard))
    };
    assert_eq!(picked(1), picked(1));
    assert_ne!(picked(1), picked(2));
    assert_eq!(picked(1).len(), picked(2).len());
}

#[test]
fn shards_on_their_way_count_where_they_go_and_use_up_the_rate() {
    let mut cluster = Cluster::with("1.0.0", &[100, 0]);
    for holding in &mut cluster.shards[..2] {
        *holding = Holding::Moving(i(2));
    }
    let rate = Rate::new(0.03).unwrap();
    let limited = Balanced {
        rebalance_rate: rate,
        seed: 1,
    };
    let plan = limited.plan(&cluster.view());
    assert_eq!(plan.moves.len(), 1);
    let plan = ALL_AT_ONCE.plan(&cluster.view());
    assert_eq!(plan.moves.len(), 48);
    let under_way = |planned: &Move| planned.shard.index() < 2;
    assert!(!plan.moves.iter().any(under_way));
}

#[test]
fn a_rate_of_zero_switches_balancing_off_and_nothing_else() {
    let off = Balanced {
        rebalance_rate: Rate::ZERO,
        seed: 1,
    };
    let mut cluster = Cluster::with("1.0.0", &[10, 0]);
    assert_eq!(cluster.round(&off), Plan::default());
    cluster.set_stance(i(1), Stance::Leaves);
    cluster.round(&off);
    assert_eq!(cluster.counts(), [0, 10]);
}

#[test]
fn shards_of_a_node_out_of_sight_stay_where_they_are() {
    let mut cluster = Cluster::with("1.0.0", &[6, 0]);
    cluster.shards.extend([Holding::Held(i(99)); 30]);
    let plan = ALL_AT_ONCE.plan(&cluster.view());
    assert_eq!(routes(&plan), [(Some(i(1)), i(2)); 3]);
}

// Draining.

#[test]
fn a_drain_is_one_plan_whatever_the_rate() {
    let mut cluster = Cluster::with("1.0.0", &[150, 150]);
    cluster.set_stance(i(1), Stance::Leaves);
    let plan = cluster.round(&by_default());
    assert_eq!(cluster.counts(), [0, 300]);
    assert!(
        plan.moves
            .iter()
            .all(|planned| planned.from == Some(i(1)) && planned.reason == MoveReason::Draining)
    );
}

#[test]
fn neighbours_in_a_drain_go_to_different_nodes() {
    let mut cluster = Cluster::with("1.0.0", &[12; 5]);
    cluster.set_stance(i(5), Stance::Leaves);
    let plan = cluster.round(&by_default());
    let to = Vec::from_iter(plan.moves.iter().map(|planned| planned.to));
    assert_eq!(to, [1, 2, 3, 4].map(i).repeat(3));
}

#[test]
fn when_everybody_leaves_nothing_is_planned() {
    let mut cluster = Cluster::with("1.0.0", &[5, 5]);
    cluster.set_stance(i(1), Stance::Leaves);
    cluster.set_stance(i(2), Stance::Leaves);
    assert_eq!(cluster.round(&by_default()), Plan::default());
}

#[test]
fn what_a_drain_brings_counts_towards_the_rate() {
    // Node 2 gets four of a drain and could have one more; node 1 has one too many.
    let mut cluster = Cluster::with("1.0.0", &[6, 0, 4]);
    cluster.set_stance(i(3), Stance::Leaves);
    let rule = Balanced {
        rebalance_rate: Rate::new(0.4).unwrap(),
        seed: 1,
    };
    cluster.round(&rule);
    assert_eq!(cluster.counts(), [6, 4, 0]);
    cluster.round(&rule);
    assert_eq!(cluster.counts(), [5, 5, 0]);
}

// Nodes that only keep.

#[test]
fn a_node_that_keeps_neither_gets_nor_gives() {
    let mut cluster = Cluster::with("1.0.0", &[30, 10, 0, 0]);
    cluster.set_stance(i(1), Stance::Keeps);
    cluster.set_stance(i(4), Stance::Keeps);
    cluster.settle(&ALL_AT_ONCE);
    assert_eq!(cluster.counts(), [30, 5, 5, 0]);
}

#[test]
fn the_version_of_a_node_that_keeps_does_not_matter() {
    let mut cluster = Cluster::with("1.0.0", &[10, 0]);
    let other = cluster.join("2.0.0");
    cluster.set_stance(other, Stance::Keeps);
    cluster.settle(&ALL_AT_ONCE);
    assert_eq!(cluster.counts(), [5, 5, 0]);
}

// Weights.

#[test]
fn shares_are_proportional_to_weights() {
    let mut cluster = Cluster::of(70);
    cluster.join_weighing("1.0.0", 1);
    cluster.join_weighing("1.0.0", 2);
    cluster.join_weighing("1.0.0", 4);
    cluster.round(&by_default());
    assert_eq!(cluster.counts(), [10, 20, 40]);
    cluster.join_weighing("1.0.0", 3);
    cluster.settle(&by_default());
    assert_eq!(cluster.counts(), [7, 14, 28, 21]);
}

#[test]
fn the_fewest_shards_are_those_for_the_weight() {
    let mut cluster = Cluster::of(8);
    cluster.join_weighing("1.0.0", 1);
    cluster.join_weighing("1.0.0", 3);
    let plan = cluster.round(&by_default());
    let to = Vec::from_iter(plan.moves.iter().map(|planned| planned.to));
    assert_eq!(to, [1, 2, 2, 2, 1, 2, 2, 2].map(i));
}

#[test]
fn a_weight_of_zero_counts_as_one() {
    let mut cluster = Cluster::of(10);
    cluster.join_weighing("1.0.0", 0);
    cluster.join_weighing("1.0.0", 1);
    cluster.round(&by_default());
    assert_eq!(cluster.counts(), [5, 5]);
}

#[test]
fn equal_weights_are_no_weights() {
    let counts = [40, 3, 17, 0, 9];
    let plain = Cluster::with("1.0.0", &counts);
    let mut weighed = plain.clone();
    for node in &mut weighed.nodes {
        node.weight = 7;
    }
    let plan = ALL_AT_ONCE.plan(&plain.view());
    assert!(!plan.moves.is_empty());
    assert_eq!(plan, ALL_AT_ONCE.plan(&weighed.view()));
}

// Updates and rollbacks. `replace` starts a node and stops another.

fn replace(cluster: &mut Cluster, old: u64, version: &str) -> Incarnation {
    let new = cluster.join(version);
    cluster.round(&by_default());
    cluster.leave(i(old), &by_default());
    cluster.round(&by_default());
    new
}

#[test]
fn a_rolling_update_moves_each_shard_once() {
    let mut cluster = Cluster::with("1.0.0", &[15; 20]);
    for old in 1..=20 {
        replace(&mut cluster, old, "1.1.0");
        assert_eq!(cluster.counts(), [15; 20]);
    }
    assert_eq!(cluster.moved, [1; 300]);
}

#[test]
fn an_update_that_stops_nodes_before_it_starts_others_piles_up_nothing() {
    let mut cluster = Cluster::with("1.0.0", &[15; 20]);
    for old in 1..=20 {
        cluster.leave(i(old), &by_default());
        cluster.join("1.1.0");
        cluster.round(&by_default());
        let most = cluster.counts().into_iter().max();
        assert!(most <= Some(16), "{:?}", cluster.counts());
    }
    // The first node was stopped when there was no new one yet, so its shards moved twice.
    let moves = cluster.moved.iter().sum::<u32>();
    assert!(moves <= 300 + 2 * 15, "{moves}");
}

#[test]
fn a_rollback_moves_back_what_the_update_had_moved_and_nothing_else() {
    let mut cluster = Cluster::with("1.0.0", &[15; 20]);
    let new = Vec::from_iter((1..=10).map(|old| replace(&mut cluster, old, "1.1.0")));
    cluster.forget_moves();
    let concerned = |holding: &Holding| new.iter().any(|node| *holding == Holding::Held(*node));
    let expected = Vec::from_iter(
        cluster
            .shards
            .iter()
            .map(|shard| u32::from(concerned(shard))),
    );
    for node in new {
        replace(&mut cluster, node.get(), "1.0.0");
        assert_eq!(cluster.counts(), [15; 20]);
    }
    assert_eq!(cluster.moved, expected);
}

#[test]
fn in_a_rollback_by_crashes_no_node_has_more_than_its_share() {
    let mut cluster = Cluster::with("1.0.0", &[15; 10]);
    let new = Vec::from_iter((0..10).map(|_| cluster.join("1.1.0")));
    cluster
        .shards
        .extend(new.iter().flat_map(|node| vec![Holding::Held(*node); 15]));
    cluster.moved = vec![0; 300];
    for node in new {
        cluster.lose(node);
        cluster.round(&by_default());
        cluster.join("1.0.0");
        cluster.round(&by_default());
        let most = cluster.counts().into_iter().max();
        assert!(most <= Some(16), "{:?}", cluster.counts());
    }
    cluster.settle(&by_default());
    assert_eq!(cluster.counts(), [15; 20]);
    let moves = cluster.moved.iter().sum::<u32>();
    assert!(moves <= 150 + 2 * 15, "{moves}");
}

#[test]
fn a_version_of_which_a_node_leaves_gets_shards_last() {
    let mut cluster = Cluster::with("1.0.0", &[10, 10]);
    let new = [cluster.join("1.1.0"), cluster.join("1.1.0")];
    cluster.shards.extend([Holding::Held(new[0]); 10]);
    cluster.moved.extend([0; 10]);
    let again = cluster.join("1.0.0");
    cluster.leave(new[0], &by_default());
    assert_eq!((cluster.count(again), cluster.count(new[1])), (7, 3));
}

#[test]
fn a_lone_new_node_gets_no_more_than_its_share() {
    let mut cluster = Cluster::with("1.0.0", &[15; 20]);
    let canary = cluster.join("1.1.0");
    for old in 1..=10 {
        cluster.lose(i(old));
        cluster.round(&by_default());
        let share = 300usize.div_ceil(cluster.nodes.len());
        assert!(cluster.count(canary) <= share);
    }
    let least = cluster.counts().into_iter().min();
    assert_eq!(least, Some(27), "{:?}", cluster.counts());
}

#[test]
fn an_old_node_that_restarts_again_and_again_collects_nothing_in_an_update() {
    let mut cluster = Cluster::with("1.0.0", &[15; 20]);
    let mut restarting = i(20);
    for old in 1..=19 {
        replace(&mut cluster, old, "1.1.0");
        let collected = cluster.count(restarting);
        assert!(old == 1 || collected <= 1, "{:?}", cluster.counts());
        cluster.lose(restarting);
        cluster.round(&by_default());
        restarting = cluster.join("1.0.0");
        cluster.round(&by_default());
        let most = cluster.counts().into_iter().max();
        assert!(most <= Some(16), "{:?}", cluster.counts());
    }
    replace(&mut cluster, restarting.get(), "1.1.0");
    cluster.settle(&by_default());
    assert_eq!(cluster.counts(), [15; 20]);
    let moves = cluster.moved.iter().sum::<u32>();
    assert!(moves <= 300 + 3 * 15, "{moves}");
}

// At first access.

#[test]
fn a_shard_is_given_to_the_node_with_the_fewest_when_it_is_needed() {
    let rule = LeastShards::default();
    let mut cluster = Cluster::with("1.0.0", &[3, 2, 2]);
    cluster.shards.extend([Holding::Unowned; 4]);
    cluster.moved.extend([0; 4]);
    assert_eq!(cluster.round(&rule), Plan::default());
    for expected in [2, 3, 1, 2] {
        let shard = cluster.view().unowned().next().unwrap();
        let node = rule.place(&cluster.view(), shard);
        assert_eq!(node, Some(i(expected)));
        cluster.shards[shard.index()] = Holding::Held(i(expected));
    }
}

#[test]
fn only_a_shard_that_nobody_has_is_placed() {
    let rule = LeastShards::default();
    let mut cluster = Cluster::with("1.0.0", &[1, 1]);
    cluster.shards.push(Holding::Moving(i(1)));
    cluster.shards.push(Holding::Unowned);
    let place = |cluster: &Cluster, number| {
        let shard = ShardId::new(number).unwrap();
        rule.place(&cluster.view(), shard)
    };
    let placed = Vec::from_iter((1..=5).map(|number| place(&cluster, number)));
    assert_eq!(placed, [None, None, None, Some(i(2)), None]);
    cluster.set_stance(i(2), Stance::Keeps);
    assert_eq!(place(&cluster, 4), Some(i(1)));
    cluster.set_stance(i(1), Stance::Leaves);
    assert_eq!(place(&cluster, 4), None);
}

#[test]
fn placed_shards_are_balanced_and_drained_without_touching_the_others() {
    let rule = LeastShards {
        balanced: ALL_AT_ONCE,
    };
    let mut cluster = Cluster::with("1.0.0", &[9, 0, 3]);
    cluster.shards.extend([Holding::Unowned; 100]);
    cluster.moved.extend([0; 100]);
    cluster.set_stance(i(3), Stance::Leaves);
    cluster.settle(&rule);
    assert_eq!(cluster.counts(), [6, 6, 0]);
    assert_eq!(cluster.view().unowned().count(), 100);
}
