//! When a node is over, and when it is not.

use super::*;
use crate::{DeathProof, Failover, Policy};

impl Desk {
    /// A node joins whose code ends so soon that a short lease will do.
    fn join_punctually(&mut self, name: &str, nonce: u64) -> Incarnation {
        let ToCoordinator::Register { registration, .. } = register(name, nonce) else {
            unreachable!()
        };
        let slack = Duration::from_millis(500);
        self.hear(ToCoordinator::Register {
            registration,
            slack,
        });
        let state = self.coordinator.state();
        state.registered(nonce).expect("registered")
    }
}

#[test]
fn a_renewal_is_answered_after_a_check_that_began_after_it() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.renew(a, 1);
    assert_eq!(desk.answered(a), 0);
    assert_eq!(desk.checks.len(), 1);
    desk.renew(a, 2);
    desk.confirm(ConfirmOutcome::Confirmed);
    let first: Vec<_> = desk
        .said
        .iter()
        .filter(|(_, said)| matches!(said, ToRegion::RenewOk { seq: 2, .. }))
        .collect();
    assert!(
        first.is_empty(),
        "that check began before the second renewal"
    );
    assert_eq!(desk.answered(a), 1);
    desk.after(seconds(1));
    desk.confirm(ConfirmOutcome::Confirmed);
    assert_eq!(desk.answered(a), 2);
}

#[test]
fn a_silent_node_is_expired_after_the_wait_and_not_before() {
    let mut desk = Desk::leading();
    let heard = desk.now;
    let (a, b) = (desk.join("a", 1), desk.join("b", 2));
    let mut seq = 0;
    let mut keep_alive = |desk: &mut Desk, end: Time| {
        while desk.now < end {
            seq += 1;
            desk.renew(b, seq);
            desk.confirm(ConfirmOutcome::Confirmed);
            desk.after(seconds(1).min(end.saturating_since(desk.now)));
        }
    };
    keep_alive(&mut desk, heard + (wait() - Duration::from_millis(10)));
    assert!(desk.is_member(a));
    keep_alive(&mut desk, heard + (wait() + Duration::from_millis(10)));
    assert!(!desk.is_member(a));
    assert!(desk.is_member(b));
    assert_eq!(desk.has(b), 12);
}

#[test]
fn a_condemned_node_is_never_answered_even_if_its_end_cannot_be_written() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.fate = AppendOutcome::Unavailable;
    desk.after(wait() + seconds(1));
    assert!(desk.is_member(a), "its end could not be written");
    desk.renew(a, 1);
    desk.confirm(ConfirmOutcome::Confirmed);
    desk.after(seconds(1));
    desk.confirm(ConfirmOutcome::Confirmed);
    assert_eq!(desk.answered(a), 0);
    desk.fate = AppendOutcome::Done;
    desk.after(seconds(1));
    assert!(!desk.is_member(a));
    desk.renew(a, 2);
    let ended = ToRegion::Ended { incarnation: a };
    assert_eq!(desk.said.last(), Some(&(a.to_string(), ended)));
}

#[test]
fn after_a_takeover_everybody_gets_a_full_wait() {
    let mut old = Desk::leading();
    let a = old.join("a", 1);
    let mut desk = Desk::following();
    desk.coordinator = Coordinator::new(NodeName::new("other").unwrap(), 1);
    desk.log = old.log;
    desk.now = old.now + seconds(1000);
    desk.report();
    desk.step(CoordinatorInput::Lead);
    assert!(desk.coordinator.leads().is_some());
    desk.after(wait() - Duration::from_millis(10));
    assert!(desk.is_member(a));
    desk.after(Duration::from_millis(20));
    assert!(!desk.is_member(a));
}

#[test]
fn one_that_did_not_run_does_not_blame_others_for_it() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.now = desk.now + wait() * 3;
    desk.step(CoordinatorInput::Wake);
    assert!(desk.is_member(a));
    desk.renew(a, 1);
    desk.confirm(ConfirmOutcome::Confirmed);
    assert_eq!(desk.answered(a), 1);
}

#[test]
fn an_answer_that_was_lost_before_an_outage_is_not_held_against_a_node() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    let renew = |desk: &mut Desk, seq, outcome| {
        let seen = desk.coordinator.state().applied();
        desk.hear(ToCoordinator::Renew {
            incarnation: a,
            seq,
            ok_seq: 0,
            seen,
        });
        desk.confirm(outcome);
        desk.after(seconds(1));
    };
    renew(&mut desk, 1, ConfirmOutcome::Confirmed);
    for seq in 2..20 {
        renew(&mut desk, seq, ConfirmOutcome::Unavailable);
    }
    let answered = desk.answered(a);
    renew(&mut desk, 20, ConfirmOutcome::Confirmed);
    assert_eq!(desk.answered(a), answered + 1);
}

#[test]
fn a_short_lease_is_looked_after_whatever_the_present_rule_is() {
    let mut desk = Desk::leading();
    let policy = |timing| {
        CoordinatorInput::Propose(Command::SetPolicy(Policy {
            failover: Failover::Lease(timing),
            ..Policy::default()
        }))
    };
    desk.step(policy(LeaseTiming::fast()));
    let a = desk.join_punctually("a", 1);
    desk.step(policy(LeaseTiming::default()));
    desk.after(seconds(2));
    desk.now = desk.now + Duration::from_millis(2600);
    desk.step(CoordinatorInput::Wake);
    assert!(desk.is_member(a), "the coordinator itself did not run");
}

#[test]
fn a_node_that_never_hears_its_answers_is_given_up() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    for seq in 1..30 {
        desk.renew_unheard(a, seq);
    }
    assert!(!desk.is_member(a));
}

#[test]
fn proof_of_death_ends_a_node_at_once_and_suspicion_does_not() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.hear(ToCoordinator::Unreachable { incarnation: a });
    desk.hear(ToCoordinator::Unreachable { incarnation: a });
    assert_eq!(desk.probed, [a], "asked once for both");
    for answer in [Liveness::Alive, Liveness::Unknown] {
        let incarnation = a;
        desk.step(CoordinatorInput::Health {
            incarnation,
            answer,
        });
        assert!(desk.is_member(a));
    }
    desk.step(CoordinatorInput::Health {
        incarnation: a,
        answer: Liveness::Dead(DeathProof::ProcessGone),
    });
    assert!(!desk.is_member(a));
}

#[test]
fn without_leases_a_silent_node_stays_until_it_is_proven_dead() {
    let mut desk = Desk::leading();
    let policy = Policy {
        failover: Failover::Proof,
        ..Policy::default()
    };
    desk.step(CoordinatorInput::Propose(Command::SetPolicy(policy)));
    let a = desk.join("a", 1);
    desk.after(seconds(10_000));
    assert!(desk.is_member(a));
    assert!(desk.probed.len() > 10, "but its health is asked for");
}

#[test]
fn a_rule_that_changes_holds_for_those_who_begin_under_it() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    let policy = Policy {
        failover: Failover::Lease(LeaseTiming::fast()),
        ..Policy::default()
    };
    desk.step(CoordinatorInput::Propose(Command::SetPolicy(policy)));
    let b = desk.join_punctually("b", 2);
    desk.after(seconds(6));
    assert!(!desk.is_member(b), "its wait is short");
    assert!(
        desk.is_member(a),
        "it may act for longer than the new rule allows"
    );
    desk.after(seconds(7));
    assert!(!desk.is_member(a));
}
