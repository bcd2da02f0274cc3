//! A coordinator beside a log that does what it is told, or what the test wants.

mod counting;

use std::{collections::BTreeSet, time::Duration};

use super::*;
use crate::{
    DeathProof, Failover, GroupName, GroupSpec, Handover, LeaseTiming, NodeVersion, Ownership,
    Policy, Registration, ShardCount, ShardId, ShardKey, ToCoordinator, ToRegion,
};

/// A coordinator, the log, and what the coordinator wanted besides.
struct Desk {
    coordinator: Coordinator,
    log: Vec<Entry>,
    now: Time,
    /// What becomes of the next attempts to append.
    fate: AppendOutcome,
    /// How much the log takes at once.
    takes: usize,
    /// Attempts that are on their way, if they take long.
    under_way: Option<Vec<(u64, Index, Vec<Entry>)>>,
    said: Vec<(String, ToRegion)>,
    probed: Vec<Incarnation>,
    /// Checks of authority that have begun.
    checks: Vec<u64>,
    /// By attempt to expire a run: how far it was known to have counted.
    named: Vec<Counted>,
}

impl Desk {
    fn following() -> Self {
        Self {
            coordinator: Coordinator::new(NodeName::new("boss").unwrap(), 1),
            log: Vec::new(),
            now: Time::ZERO + Duration::from_secs(100),
            fate: AppendOutcome::Done,
            takes: usize::MAX,
            under_way: None,
            said: Vec::new(),
            probed: Vec::new(),
            checks: Vec::new(),
            named: Vec::new(),
        }
    }

    fn leading() -> Self {
        let mut desk = Self::following();
        desk.step(CoordinatorInput::Lead);
        assert!(desk.coordinator.leads().is_some());
        desk
    }

    fn step(&mut self, input: CoordinatorInput) {
        let actions = self.coordinator.step(self.now, input);
        for action in actions {
            self.act(action);
        }
    }

    fn act(&mut self, action: CoordinatorAction) {
        match action {
            CoordinatorAction::Append { id, after, entries } => self.append(id, after, entries),
            CoordinatorAction::Read => {
                self.report();
                self.step(CoordinatorInput::ReadEnded);
            }
            CoordinatorAction::Confirm { id } => self.checks.push(id),
            CoordinatorAction::Send { to, message } => {
                self.said.push((to.name.to_string(), message));
            }
            CoordinatorAction::SendToRun {
                incarnation,
                message,
            } => self.said.push((incarnation.to_string(), message)),
            CoordinatorAction::Probe { incarnation } => self.probed.push(incarnation),
        }
    }

    fn append(&mut self, id: u64, after: Index, entries: Vec<Entry>) {
        let unmoved = self.coordinator.unmoved(&entries);
        self.named
            .extend(unmoved.into_iter().map(|(_, counted)| counted));
        if let Some(under_way) = &mut self.under_way {
            under_way.push((id, after, entries));
            return;
        }
        let parts: usize = entries.iter().map(|entry| parts(&entry.command)).sum();
        let is_too_large = self.fate == AppendOutcome::Done && parts > self.takes;
        let outcome = match is_too_large {
            true => AppendOutcome::TooLarge,
            false => self.fate,
        };
        if outcome == AppendOutcome::Done {
            assert_eq!(after.get(), self.log.len() as u64);
            self.log.extend(entries);
            self.report();
        }
        self.step(CoordinatorInput::AppendEnded { id, outcome });
    }

    /// Reports what is in the log.
    fn report(&mut self) {
        let known = self.coordinator.state().applied().get() as usize;
        for (place, entry) in self.log.clone().into_iter().enumerate().skip(known) {
            let index = Index::new(place as u64 + 1);
            self.step(CoordinatorInput::Committed { index, entry });
        }
    }

    fn after(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.coordinator.next_wakeup().filter(|next| *next <= end) {
            self.now = next.max(self.now + Duration::from_millis(1));
            self.step(CoordinatorInput::Wake);
        }
        self.now = end;
        self.step(CoordinatorInput::Wake);
    }

    fn hear(&mut self, message: ToCoordinator) {
        self.step(CoordinatorInput::Heard(message));
    }

    /// A node joins, and has its share as far as it gets one at once.
    fn join(&mut self, name: &str, nonce: u64) -> Incarnation {
        self.hear(register(name, nonce));
        self.after(Duration::from_millis(400));
        self.coordinator
            .state()
            .registered(nonce)
            .expect("registered")
    }

    fn renew(&mut self, incarnation: Incarnation, seq: u64) {
        let seen = self.coordinator.state().applied();
        let ok_seq = seq.saturating_sub(1);
        self.hear(ToCoordinator::Renew {
            incarnation,
            seq,
            ok_seq,
            seen,
        });
    }

    fn confirm(&mut self, outcome: ConfirmOutcome) {
        for id in std::mem::take(&mut self.checks) {
            self.step(CoordinatorInput::ConfirmEnded { id, outcome });
        }
    }

    fn answered(&self, incarnation: Incarnation) -> usize {
        let renewed = |said: &&(String, ToRegion)| matches!(said.1, ToRegion::RenewOk { incarnation: to, .. } if to == incarnation);
        self.said.iter().filter(renewed).count()
    }

    fn has(&self, incarnation: Incarnation) -> usize {
        let state = self.coordinator.state();
        let shards = state.groups().flat_map(|group| &group.shards);
        shards
            .filter(|ownership| ownership.owner().is_some_and(|(by, _)| by == incarnation))
            .count()
    }

    fn is_member(&self, incarnation: Incarnation) -> bool {
        self.coordinator.state().member(incarnation).is_some()
    }
}

/// How many shards a command is about, or one if it is about something else.
fn parts(command: &Command) -> usize {
    match command {
        Command::BeginMove(moves) => moves.len(),
        Command::Released(released) => released.len(),
        Command::Grant(grants) => grants.len(),
        Command::Takeover { .. }
        | Command::Register(_)
        | Command::Leave { .. }
        | Command::Expire { .. }
        | Command::ConfirmDead { .. }
        | Command::SetPolicy(_)
        | Command::CreateGroup(_) => 1,
    }
}

fn register(name: &str, nonce: u64) -> ToCoordinator {
    ToCoordinator::Register {
        registration: Registration {
            name: NodeName::new(name).unwrap(),
            address: format!("{name}:1"),
            nonce,
            version: NodeVersion::default(),
            roles: BTreeSet::new(),
            place: std::collections::BTreeMap::new(),
            weight: 1,
            groups: vec![GroupSpec {
                name: GroupName::default(),
                count: ShardCount::new(12).unwrap(),
                hash: "stable".to_owned(),
                role: None,
            }],
        },
        slack: Duration::from_secs(1),
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The default times: a silent node is waited for this long.
fn wait() -> Duration {
    LeaseTiming::default().times().wait
}

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
fn nothing_is_said_before_it_is_in_the_log() {
    let mut desk = Desk::leading();
    desk.join("a", 1);
    desk.said.clear();
    desk.fate = AppendOutcome::Unavailable;
    desk.hear(register("b", 2));
    desk.after(seconds(2));
    assert!(!desk.said.iter().any(|(to, _)| to == "b"));
    desk.fate = AppendOutcome::Done;
    desk.after(seconds(1));
    assert!(
        desk.said.iter().any(|(to, _)| to == "b"),
        "it was tried again"
    );
}

#[test]
fn one_that_follows_says_nothing() {
    let mut desk = Desk::following();
    desk.hear(register("a", 1));
    desk.renew(Incarnation::new(1), 1);
    assert!(desk.said.is_empty() && desk.log.is_empty() && desk.checks.is_empty());
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
fn one_that_learns_that_it_is_deposed_answers_nobody() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.renew(a, 1);
    desk.confirm(ConfirmOutcome::Deposed);
    assert_eq!(desk.answered(a), 0);
    assert_eq!(desk.coordinator.leads(), None);
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
    let ToCoordinator::Register { registration, .. } = register("a", 1) else {
        unreachable!()
    };
    let slack = Duration::from_millis(500);
    desk.hear(ToCoordinator::Register {
        registration,
        slack,
    });
    let a = desk.coordinator.state().registered(1).expect("registered");
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
        let seen = desk.coordinator.state().applied();
        desk.hear(ToCoordinator::Renew {
            incarnation: a,
            seq,
            ok_seq: 0,
            seen,
        });
        desk.confirm(ConfirmOutcome::Confirmed);
        desk.after(seconds(1));
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
    let ToCoordinator::Register { registration, .. } = register("b", 2) else {
        unreachable!()
    };
    let slack = Duration::from_millis(500);
    desk.hear(ToCoordinator::Register {
        registration,
        slack,
    });
    let b = desk.coordinator.state().registered(2).expect("registered");
    desk.after(seconds(6));
    assert!(!desk.is_member(b), "its wait is short");
    assert!(
        desk.is_member(a),
        "it may act for longer than the new rule allows"
    );
    desk.after(seconds(7));
    assert!(!desk.is_member(a));
}

#[test]
fn an_append_of_which_nobody_knows_is_resolved_by_reading() {
    let mut desk = Desk::leading();
    desk.fate = AppendOutcome::Unknown;
    let entries = desk.log.len();
    desk.hear(register("a", 1));
    assert_eq!(
        desk.log.len(),
        entries,
        "it is not in the log, and is not tried again blindly"
    );
    desk.fate = AppendOutcome::Done;
    let a = desk.join("a", 1);
    assert_eq!(desk.has(a), 12);
}

#[test]
fn a_conflict_means_that_somebody_else_leads() {
    let mut desk = Desk::leading();
    let grantor = NodeName::new("other").unwrap();
    desk.log.push(Entry {
        term: desk.coordinator.state().term(),
        command: Command::Takeover { grantor, run: 1 },
    });
    desk.fate = AppendOutcome::Conflict;
    desk.hear(register("a", 1));
    assert_eq!(desk.coordinator.leads(), None);
}

#[test]
fn a_takeover_that_lost_the_race_leaves_it_following() {
    let mut desk = Desk::following();
    let grantor = NodeName::new("other").unwrap();
    desk.log.push(Entry {
        term: Term::default(),
        command: Command::Takeover { grantor, run: 1 },
    });
    desk.fate = AppendOutcome::Conflict;
    desk.step(CoordinatorInput::Lead);
    assert_eq!(desk.coordinator.leads(), None);
    desk.fate = AppendOutcome::Done;
    desk.step(CoordinatorInput::Lead);
    assert!(
        desk.coordinator.leads().is_some(),
        "the next attempt builds on what was read"
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

fn moving(desk: &Desk, from: Incarnation) -> Vec<Handover> {
    let state = desk.coordinator.state();
    let shards = state.groups().flat_map(|group| group.iter());
    let releasing = shards.filter_map(|(shard, ownership)| {
        let Ownership::Releasing { by, epoch, .. } = ownership else {
            return None;
        };
        (by == from).then_some(Handover { shard, epoch })
    });
    releasing.collect()
}

#[test]
fn a_node_that_leaves_is_emptied_and_goes() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    let b = desk.join("b", 2);
    desk.hear(ToCoordinator::Leave { incarnation: a });
    for _ in 0..4 {
        let shards = moving(&desk, a);
        assert!(shards.len() <= 8, "no more at once than the policy allows");
        let incarnation = a;
        desk.hear(ToCoordinator::Gone { incarnation });
        assert!(
            desk.is_member(a) || shards.is_empty(),
            "it still owns something"
        );
        desk.hear(ToCoordinator::Released {
            incarnation,
            shards,
        });
    }
    assert_eq!((desk.has(a), desk.has(b)), (0, 12));
    desk.hear(ToCoordinator::Gone { incarnation: a });
    assert!(!desk.is_member(a));
}

#[test]
fn the_last_node_can_leave_too() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.hear(ToCoordinator::Leave { incarnation: a });
    for _ in 0..4 {
        let shards = moving(&desk, a);
        desk.hear(ToCoordinator::Released {
            incarnation: a,
            shards,
        });
    }
    assert_eq!(desk.has(a), 0);
    desk.hear(ToCoordinator::Gone { incarnation: a });
    assert!(!desk.is_member(a));
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
fn a_node_whose_code_may_run_on_for_too_long_is_refused_in_words() {
    let mut desk = Desk::leading();
    let ToCoordinator::Register { registration, .. } = register("a", 1) else {
        unreachable!()
    };
    let slack = seconds(3);
    desk.hear(ToCoordinator::Register {
        registration,
        slack,
    });
    let Some((_, ToRegion::Refused { reason, .. })) = desk.said.last() else {
        panic!("{:?}", desk.said);
    };
    assert_eq!(
        reason,
        "its code may run on for 3s after its lease has ended, and others wait for 1s only: lower its slack"
    );
}

#[test]
fn a_node_that_knows_less_is_told_again() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.said.clear();
    desk.hear(ToCoordinator::Renew {
        incarnation: a,
        seq: 1,
        ok_seq: 0,
        seen: Index::default(),
    });
    assert!(
        desk.said
            .iter()
            .any(|(_, said)| matches!(said, ToRegion::Holdings(_)))
    );
    desk.said.clear();
    desk.renew(a, 2);
    assert!(
        !desk
            .said
            .iter()
            .any(|(_, said)| matches!(said, ToRegion::Holdings(_)))
    );
}

#[test]
fn one_that_is_told_to_stand_down_says_and_writes_nothing_more() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.renew(a, 1);
    desk.step(CoordinatorInput::StandDown);
    assert_eq!(desk.coordinator.leads(), None);
    let (said, written) = (desk.said.len(), desk.log.len());
    desk.confirm(ConfirmOutcome::Confirmed);
    desk.renew(a, 2);
    desk.hear(register("b", 2));
    desk.after(wait() * 2);
    assert_eq!((desk.said.len(), desk.log.len()), (said, written));
    // It may be elected again, and everybody has a full wait then.
    let term = desk.coordinator.state().term();
    desk.step(CoordinatorInput::Lead);
    assert!(desk.coordinator.leads().is_some_and(|new| new > term));
    desk.after(wait() - seconds(1));
    assert!(desk.is_member(a));
}

#[test]
fn a_takeover_that_arrives_after_standing_down_does_not_make_it_lead() {
    let mut desk = Desk::following();
    desk.under_way = Some(Vec::new());
    desk.step(CoordinatorInput::Lead);
    desk.step(CoordinatorInput::StandDown);
    for (id, after, entries) in desk.under_way.take().expect("its takeover is on its way") {
        desk.append(id, after, entries);
    }
    assert_eq!(desk.coordinator.leads(), None);
    assert_eq!(desk.coordinator.state().term(), Term::new(1));
}

/// A node that can hold very many shards.
fn register_large(nonce: u64, count: u32) -> ToCoordinator {
    let ToCoordinator::Register {
        mut registration,
        slack,
    } = register("large", nonce)
    else {
        unreachable!()
    };
    registration.groups[0].count = ShardCount::new(count).unwrap();
    ToCoordinator::Register {
        registration,
        slack,
    }
}

#[test]
fn very_many_shards_are_granted_in_several_appends_and_told_once() {
    let mut desk = Desk::leading();
    desk.hear(register_large(1, 20_000));
    desk.said.clear();
    let written = desk.log.len();
    desk.after(Duration::from_millis(400));
    let a = desk.coordinator.state().registered(1).expect("registered");
    assert_eq!(desk.has(a), 20_000);
    assert!(desk.log.len() >= written + 4, "{}", desk.log.len());
    let told: Vec<_> = desk.said.iter().filter_map(held).collect();
    assert_eq!(told, [20_000]);
}

fn held((_, said): &(String, ToRegion)) -> Option<usize> {
    match said {
        ToRegion::Holdings(holdings) => Some(holdings.shards.len()),
        ToRegion::Registered { .. }
        | ToRegion::Refused { .. }
        | ToRegion::Spent { .. }
        | ToRegion::RenewOk { .. }
        | ToRegion::Ended { .. } => None,
    }
}

#[test]
fn what_is_in_the_log_is_told_while_the_rest_of_it_cannot_be_written() {
    let mut desk = Desk::leading();
    desk.hear(register_large(1, 20_000));
    desk.under_way = Some(Vec::new());
    desk.after(Duration::from_millis(400));
    let (id, after, entries) = desk.under_way.take().unwrap().remove(0);
    desk.said.clear();
    desk.under_way = Some(Vec::new());
    desk.log.extend(entries);
    assert_eq!(after.next().get(), desk.log.len() as u64);
    desk.report();
    let outcome = AppendOutcome::Done;
    desk.step(CoordinatorInput::AppendEnded { id, outcome });
    assert_eq!(desk.said, []);
    let (id, _, _) = desk.under_way.take().unwrap().remove(0);
    desk.under_way = Some(Vec::new());
    let outcome = AppendOutcome::Unavailable;
    desk.step(CoordinatorInput::AppendEnded { id, outcome });
    let told: Vec<_> = desk.said.iter().filter_map(held).collect();
    assert!(
        matches!(told[..], [some] if some > 1000 && some < 20_000),
        "{told:?}"
    );
}

#[test]
fn a_storage_that_takes_little_gets_little_at_once() {
    let mut desk = Desk::leading();
    desk.takes = 3;
    desk.hear(register_large(1, 20));
    desk.after(seconds(10));
    let a = desk.coordinator.state().registered(1).expect("registered");
    assert_eq!(desk.has(a), 20);
}

#[test]
fn what_is_too_large_alone_is_left_out_and_everything_else_goes_on() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.takes = 0;
    desk.hear(ToCoordinator::Leave { incarnation: a });
    desk.after(seconds(1));
    desk.takes = usize::MAX;
    desk.after(seconds(1));
    let member = desk.coordinator.state().member(a).expect("a member");
    assert_eq!(
        member.state,
        crate::MemberState::Active,
        "it has to ask again"
    );
    desk.hear(ToCoordinator::Leave { incarnation: a });
    desk.after(seconds(1));
    let member = desk.coordinator.state().member(a).expect("a member");
    assert_eq!(member.state, crate::MemberState::Leaving);
}

#[test]
fn a_node_that_says_too_much_about_itself_is_refused_in_words() {
    let mut desk = Desk::leading();
    let ToCoordinator::Register {
        mut registration,
        slack,
    } = register("a", 1)
    else {
        unreachable!()
    };
    let place = ("poem".to_owned(), "la".repeat(100_000));
    registration.place.extend([place]);
    desk.hear(ToCoordinator::Register {
        registration,
        slack,
    });
    let Some((_, ToRegion::Refused { reason, .. })) = desk.said.last() else {
        panic!("{:?}", desk.said);
    };
    assert!(reason.contains("more than 256 KiB"), "{reason}");
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
