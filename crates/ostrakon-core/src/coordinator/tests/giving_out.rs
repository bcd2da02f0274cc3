//! When shards are given out, moved and held back.

use super::*;
use crate::{Policy, ShardId, ShardKey};

#[test]
fn the_first_node_gets_every_shard_and_is_told_so() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    assert_eq!(desk.has(a), 12);
    let (to, message) = desk.said.last().expect("it is told");
    let ToRegion::Holdings(holdings) = message else {
        panic!("{message:?}");
    };
    assert_eq!((to.as_str(), holdings.shards.len()), ("a", 12));
    assert_eq!(holdings.incarnation, a);
}

#[test]
fn nodes_that_begin_together_share_the_shards_at_once() {
    let mut desk = Desk::leading();
    for (nonce, name) in ["a", "b", "c"].into_iter().enumerate() {
        desk.hear(register(name, nonce as u64));
        desk.after(Duration::from_millis(100));
    }
    desk.after(Duration::from_millis(400));
    let runs: Vec<Incarnation> = desk
        .coordinator
        .state()
        .members()
        .map(|(run, _)| run)
        .collect();
    assert_eq!(
        runs.iter().map(|run| desk.has(*run)).collect::<Vec<_>>(),
        [4, 4, 4]
    );
}

#[test]
fn a_move_is_granted_on_only_after_its_release() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    let b = desk.join("b", 2);
    assert_eq!((desk.has(a), desk.has(b)), (12, 0));
    desk.renew(a, 1);
    desk.renew(b, 1);
    desk.after(seconds(1));
    let policy = Policy {
        rebalance_rate: crate::Rate::ALL,
        rebalance_every: seconds(1),
        ..Policy::default()
    };
    desk.step(CoordinatorInput::Propose(Command::SetPolicy(policy)));
    desk.after(seconds(2));
    let moving: Vec<Handover> = moving(&desk, a);
    assert_eq!(moving.len(), 6);
    assert_eq!((desk.has(a), desk.has(b)), (12, 0));
    desk.hear(ToCoordinator::Released {
        incarnation: b,
        shards: moving.clone(),
    });
    assert_eq!(desk.has(b), 0, "only the owner can release");
    desk.hear(ToCoordinator::Released {
        incarnation: a,
        shards: moving,
    });
    assert_eq!((desk.has(a), desk.has(b)), (6, 6));
}

#[test]
fn shards_are_placed_at_first_access_if_the_policy_says_so() {
    let mut desk = Desk::leading();
    let policy = Policy {
        placement: crate::Placement::AtFirstAccess,
        ..Policy::default()
    };
    desk.step(CoordinatorInput::Propose(Command::SetPolicy(policy)));
    let (a, b) = (desk.join("a", 1), desk.join("b", 2));
    assert_eq!(desk.has(a) + desk.has(b), 0);
    for number in 1..=4 {
        let group = GroupName::default();
        let shard = ShardId::new(number).unwrap();
        let shard = ShardKey { group, shard };
        desk.hear(ToCoordinator::Wanted { shard });
    }
    assert_eq!((desk.has(a), desk.has(b)), (2, 2));
}

#[test]
fn one_that_holds_back_grants_and_moves_nothing_and_answers_everybody() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    let b = desk.join("b", 2);
    desk.hear(ToCoordinator::Leave { incarnation: a });
    let leaving = moving(&desk, a);
    assert!(!leaving.is_empty());
    desk.step(CoordinatorInput::HoldBack);
    let c = desk.join("c", 3);
    desk.hear(ToCoordinator::Released {
        incarnation: a,
        shards: leaving.clone(),
    });
    desk.after(seconds(2));
    assert_eq!(desk.has(a), 12 - leaving.len(), "it has given them up");
    assert_eq!((desk.has(b), desk.has(c)), (0, 0));
    assert_eq!(moving(&desk, a), []);
    desk.renew(b, 1);
    desk.confirm(ConfirmOutcome::Confirmed);
    assert_eq!(desk.answered(b), 1);
    desk.step(CoordinatorInput::GoOn);
    assert_eq!(desk.has(b) + desk.has(c), leaving.len());
}

#[test]
fn what_waits_to_be_granted_is_called_back_by_holding_back() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    let b = desk.join("b", 2);
    desk.hear(ToCoordinator::Leave { incarnation: a });
    desk.fate = AppendOutcome::Unavailable;
    desk.hear(ToCoordinator::Released {
        incarnation: a,
        shards: moving(&desk, a),
    });
    desk.step(CoordinatorInput::HoldBack);
    desk.fate = AppendOutcome::Done;
    desk.after(seconds(2));
    assert_eq!((desk.has(a), desk.has(b)), (4, 0));
}
