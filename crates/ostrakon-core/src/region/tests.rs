//! What a region makes of what it hears.

use std::collections::BTreeSet;

use super::*;
use crate::{
    Assignment, Failover, GroupName, Handover, Holdings, LeaseTiming, NodeVersion, Order,
    OwnedShard, ShardCount, ShardGroup, ShardHash, ShardId, ToRegion, Version,
};

const RUN: Incarnation = Incarnation::new(5);

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

fn outside() -> Region {
    let registration = Registration {
        name: NodeName::new("a").unwrap(),
        address: "a:1".to_owned(),
        nonce: 70,
        version: NodeVersion::default(),
        roles: BTreeSet::new(),
        place: std::collections::BTreeMap::new(),
        weight: 1,
        groups: Vec::new(),
    };
    Region::new(registration, Duration::from_secs(1))
}

fn hear(region: &mut Region, now: Time, message: ToRegion) -> Vec<RegionAction> {
    region.step(now, RegionInput::Heard(message))
}

fn registered(nonce: u64, incarnation: Incarnation) -> ToRegion {
    ToRegion::Registered {
        nonce,
        incarnation,
        failover: Failover::Lease(LeaseTiming::default()),
    }
}

/// A member that has sent its first renewal at 10 s and heard the answer.
fn member() -> Region {
    let mut region = outside();
    region.step(at(9), RegionInput::Wake);
    hear(&mut region, at(10), registered(70, RUN));
    let seq = 1;
    hear(
        &mut region,
        at(11),
        ToRegion::RenewOk {
            incarnation: RUN,
            seq,
        },
    );
    region
}

fn shard(number: u32) -> ShardKey {
    ShardKey {
        group: GroupName::default(),
        shard: ShardId::new(number).unwrap(),
    }
}

fn holdings(index: u64, shards: &[(u32, u64, Order)]) -> ToRegion {
    let owned = shards.iter().map(|(number, epoch, order)| OwnedShard {
        shard: shard(*number),
        epoch: Epoch::new(*epoch),
        order: *order,
    });
    ToRegion::Holdings(Holdings {
        incarnation: RUN,
        at: Index::new(index),
        shards: owned.collect(),
    })
}

fn open(number: u32, epoch: u64) -> RegionAction {
    RegionAction::Open {
        shard: shard(number),
        epoch: Epoch::new(epoch),
    }
}

fn fence(number: u32, epoch: u64) -> RegionAction {
    RegionAction::Fence {
        shard: shard(number),
        epoch: Epoch::new(epoch),
    }
}

fn released(number: u32, epoch: u64) -> RegionAction {
    let (shard, epoch) = (shard(number), Epoch::new(epoch));
    send(ToCoordinator::Released {
        incarnation: RUN,
        shards: vec![Handover { shard, epoch }],
    })
}

#[test]
fn it_asks_to_be_let_in_until_it_is() {
    let mut region = outside();
    for second in 1..4 {
        let actions = region.step(at(second), RegionInput::Wake);
        assert!(matches!(
            actions[..],
            [RegionAction::Send(ToCoordinator::Register { .. })]
        ));
    }
    assert_eq!(region.incarnation(), None);
    let actions = hear(&mut region, at(4), registered(70, RUN));
    assert_eq!(region.incarnation(), Some(RUN));
    assert!(matches!(
        actions[..],
        [RegionAction::Send(ToCoordinator::Renew { seq: 1, .. })]
    ));
}

#[test]
fn an_answer_to_somebody_elses_registration_is_not_for_it() {
    let mut region = outside();
    hear(&mut region, at(1), registered(71, RUN));
    assert_eq!(region.incarnation(), None);
}

#[test]
fn a_lease_with_less_slack_than_it_needs_is_not_agreed_to() {
    let mut region = outside();
    let message = ToRegion::Registered {
        nonce: 70,
        incarnation: RUN,
        failover: Failover::Lease(LeaseTiming::fast()),
    };
    hear(&mut region, at(1), message);
    assert_eq!(region.incarnation(), None);
}

#[test]
fn the_lease_counts_from_when_the_renewal_was_sent() {
    let mut region = member();
    assert_eq!(
        region.acts_until(),
        Some(at(19)),
        "sent at 10, answered at 11"
    );
    let incarnation = RUN;
    hear(
        &mut region,
        at(18),
        ToRegion::RenewOk {
            incarnation,
            seq: 1,
        },
    );
    assert_eq!(region.acts_until(), Some(at(19)));
    let other = Incarnation::new(6);
    let seq = 2;
    hear(
        &mut region,
        at(18),
        ToRegion::RenewOk {
            incarnation: other,
            seq,
        },
    );
    assert_eq!(region.acts_until(), Some(at(19)));
}

#[test]
fn a_shard_acts_while_it_is_held_and_the_lease_lasts() {
    let mut region = member();
    assert_eq!(region.acts(&shard(1), at(12)), None);
    let actions = hear(&mut region, at(12), holdings(20, &[(1, 20, Order::Serve)]));
    assert_eq!(actions, [open(1, 20)]);
    assert_eq!(region.acts(&shard(1), at(12)), Some(Epoch::new(20)));
    assert_eq!(region.acts(&shard(1), at(19)), None, "the lease is over");
    assert_eq!(region.route(&shard(1)), Route::Here(Epoch::new(20)));
}

#[test]
fn a_shard_is_released_when_it_is_quiet_and_not_before() {
    let mut region = member();
    hear(&mut region, at(12), holdings(20, &[(1, 20, Order::Serve)]));
    let actions = hear(
        &mut region,
        at(12),
        holdings(21, &[(1, 20, Order::Release)]),
    );
    let (shard, epoch) = (shard(1), Epoch::new(20));
    let drain = RegionAction::Drain {
        shard: shard.clone(),
        epoch,
    };
    assert_eq!(actions, [drain]);
    assert_eq!(
        region.route(&shard),
        Route::Nowhere,
        "nothing new is let in"
    );
    assert_eq!(
        region.acts(&shard, at(12)),
        Some(epoch),
        "what runs finishes"
    );
    let quiet = RegionInput::Quiet {
        shard: shard.clone(),
        epoch,
    };
    assert_eq!(region.step(at(12), quiet.clone()), [released(1, 20)]);
    assert_eq!(region.acts(&shard, at(12)), None);
    assert_eq!(region.step(at(12), quiet), [], "once");
    let again = hear(
        &mut region,
        at(12),
        holdings(22, &[(1, 20, Order::Release)]),
    );
    assert_eq!(again, [released(1, 20)], "the word was lost");
}

#[test]
fn a_shard_that_it_never_had_is_released_at_once_and_never_taken_up() {
    let mut region = member();
    let actions = hear(
        &mut region,
        at(12),
        holdings(21, &[(1, 20, Order::Release)]),
    );
    assert_eq!(actions, [released(1, 20)]);
    let late = hear(&mut region, at(12), holdings(22, &[(1, 20, Order::Serve)]));
    assert_eq!(late, [released(1, 20)]);
    let next = hear(&mut region, at(12), holdings(23, &[(1, 23, Order::Serve)]));
    assert_eq!(next, [open(1, 23)]);
}

#[test]
fn older_holdings_and_those_of_another_run_are_ignored() {
    let mut region = member();
    hear(&mut region, at(12), holdings(20, &[(1, 20, Order::Serve)]));
    assert_eq!(hear(&mut region, at(12), holdings(20, &[])), []);
    assert_eq!(
        hear(&mut region, at(12), holdings(19, &[(2, 19, Order::Serve)])),
        []
    );
    let ToRegion::Holdings(mut other) = holdings(30, &[]) else {
        unreachable!()
    };
    other.incarnation = Incarnation::new(4);
    assert_eq!(hear(&mut region, at(12), ToRegion::Holdings(other)), []);
    assert_eq!(region.acts(&shard(1), at(12)), Some(Epoch::new(20)));
}

#[test]
fn what_is_not_listed_any_more_is_fenced() {
    let mut region = member();
    let both = [(1, 20, Order::Serve), (2, 20, Order::Serve)];
    hear(&mut region, at(12), holdings(20, &both));
    let actions = hear(&mut region, at(12), holdings(21, &[(2, 20, Order::Serve)]));
    assert_eq!(actions, [fence(1, 20)]);
    let anew = hear(&mut region, at(12), holdings(22, &[(2, 22, Order::Serve)]));
    assert_eq!(anew, [fence(2, 20), open(2, 22)], "another ownership of it");
}

#[test]
fn when_its_run_is_over_it_drops_everything_and_begins_another() {
    let mut region = member();
    hear(&mut region, at(12), holdings(20, &[(1, 20, Order::Serve)]));
    let actions = hear(&mut region, at(12), ToRegion::Ended { incarnation: RUN });
    assert_eq!(actions[0], fence(1, 20));
    let RegionAction::Send(ToCoordinator::Register { registration, .. }) = &actions[1] else {
        panic!("{actions:?}");
    };
    assert_eq!(registration.nonce, 71);
    assert_eq!(region.acts(&shard(1), at(12)), None);
    assert_eq!(region.acts_until(), Some(Time::ZERO));
}

#[test]
fn unanswered_it_renews_more_often() {
    let mut region = member();
    let mut sent = Vec::new();
    while region.next_wakeup().unwrap() < at(20) {
        let now = region.next_wakeup().unwrap();
        region.step(now, RegionInput::Wake);
        sent.push(now);
    }
    assert_eq!(
        sent[0],
        at(14),
        "answered in time, it waits for the regular moment"
    );
    for pair in sent.windows(2) {
        assert_eq!(pair[1].saturating_since(pair[0]), renewals::RETRY);
    }
    assert!(sent.len() > 10);
}

#[test]
fn a_node_without_a_lease_acts_for_ever() {
    let mut region = outside();
    let message = ToRegion::Registered {
        nonce: 70,
        incarnation: RUN,
        failover: Failover::Proof,
    };
    hear(&mut region, at(1), message);
    hear(&mut region, at(2), holdings(20, &[(1, 20, Order::Serve)]));
    assert_eq!(region.acts_until(), None);
    assert_eq!(region.acts(&shard(1), at(1_000_000)), Some(Epoch::new(20)));
}

#[test]
fn a_node_that_leaves_hands_over_says_goodbye_and_is_done() {
    let mut region = member();
    hear(&mut region, at(12), holdings(20, &[(1, 20, Order::Serve)]));
    let leave = send(ToCoordinator::Leave { incarnation: RUN });
    let gone = send(ToCoordinator::Gone { incarnation: RUN });
    let actions = region.step(at(12), RegionInput::Leave);
    assert!(actions.contains(&leave) && !actions.contains(&gone));
    hear(&mut region, at(12), holdings(21, &[]));
    let actions = region.step(region.next_wakeup().unwrap(), RegionInput::Wake);
    assert!(actions.contains(&gone));
    let actions = hear(&mut region, at(14), ToRegion::Ended { incarnation: RUN });
    assert_eq!(actions, [RegionAction::Left]);
    assert_eq!(region.next_wakeup(), None);
}

#[test]
fn what_is_elsewhere_is_found_by_the_newest_map() {
    let mut region = member();
    let group = ShardGroup {
        name: GroupName::default(),
        count: ShardCount::new(3).unwrap(),
        hash: ShardHash::Stable,
    };
    let owned_by = |name: &str| {
        Some(Assignment {
            owner: NodeName::new(name).unwrap(),
            epoch: Epoch::new(9),
        })
    };
    let key = shard(2);
    let old = ShardMap::unowned(Version::new(1), [&group]);
    let new = old.with(&key.group, key.shard, owned_by("b"));
    region.step(at(12), RegionInput::Map(new));
    region.step(at(12), RegionInput::Map(old.clone()));
    assert_eq!(
        region.route(&key),
        Route::There(owned_by("b").as_ref().unwrap())
    );
    let mine = old.with(&key.group, key.shard, owned_by("a"));
    let mine = mine.with(&key.group, key.shard, owned_by("a"));
    region.step(at(12), RegionInput::Map(mine));
    assert_eq!(
        region.route(&key),
        Route::Nowhere,
        "the map says so, but nobody has granted it"
    );
}
