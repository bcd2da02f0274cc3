//! Rounds over a state that is written by hand.

use std::collections::BTreeMap;

use super::*;
use crate::{
    Entry, Failover, GroupName, GroupSpec, Incarnation, Index, MoveReason, NodeName, NodeVersion,
    Policy, Rate, Registration, Rules, ShardCount, Term,
};

const NOW: Time = Time::ZERO;

/// A state, and leases that have heard everybody just now.
struct Table {
    state: ControlState,
    leases: Leases,
}

impl Table {
    /// A group of ten shards.
    fn set(rebalancing: Rebalancing) -> Self {
        let mut table = Self {
            state: ControlState::default(),
            leases: Leases::new(Rules::default()),
        };
        table.write(Command::SetPolicy(Policy {
            failover: Failover::Proof,
            rebalance_rate: Rate::ALL,
            most_moving: 3,
            rebalancing,
            ..Policy::default()
        }));
        table.write(Command::CreateGroup(group()));
        table
    }

    fn write(&mut self, command: Command) -> Index {
        let index = self.state.applied().next();
        let term = Term::default();
        let applied = self.state.apply(index, &Entry { term, command });
        assert_eq!(applied.refusals, []);
        index
    }

    fn join(&mut self, name: &str) -> Incarnation {
        let registration = Registration {
            name: NodeName::new(name).unwrap(),
            address: "127.0.0.1:1".to_owned(),
            nonce: self.state.applied().get(),
            version: NodeVersion::new("1"),
            roles: BTreeSet::new(),
            weight: 1,
            groups: vec![group()],
            place: BTreeMap::new(),
        };
        let incarnation = self.write(Command::Register(registration)).into();
        self.leases.begin(incarnation, None, NOW);
        incarnation
    }

    fn next_round(&self) -> Vec<PlannedMove> {
        Rounds::default().next_round(&self.state, &self.leases, NOW)
    }

    /// What a round that is due writes into the log.
    fn round(&mut self) -> Vec<Command> {
        let mut rounds = Rounds::default();
        rounds.begin(NOW);
        let commands = rounds.plan(&self.state, &self.leases, NOW);
        for command in &commands {
            self.write(command.clone());
        }
        commands
    }
}

fn group() -> GroupSpec {
    GroupSpec {
        name: GroupName::default(),
        count: ShardCount::new(10).unwrap(),
        hash: "stable".to_owned(),
        role: None,
    }
}

fn count(moves: &[PlannedMove], wanted: impl Fn(MoveReason) -> bool) -> usize {
    moves
        .iter()
        .filter(|planned| wanted(planned.reason))
        .count()
}

fn is_balance(reason: MoveReason) -> bool {
    matches!(reason, MoveReason::Balance { .. })
}

#[test]
fn a_round_that_is_only_thought_of_says_what_a_real_one_then_does() {
    let mut table = Table::set(Rebalancing::On);
    let a = table.join("a");
    let planned = table.next_round();
    assert_eq!(count(&planned, |reason| reason == MoveReason::Unowned), 10);
    assert!(
        planned
            .iter()
            .all(|planned| planned.to == Some(a) && planned.from.is_none())
    );
    assert!(matches!(&table.round()[..], [Command::Grant(grants)] if grants.len() == 10));

    let b = table.join("b");
    let planned = table.next_round();
    assert_eq!(
        count(&planned, is_balance),
        3,
        "three may move at once: {planned:?}"
    );
    assert_eq!(table.next_round(), planned, "it changes nothing");
    let commands = table.round();
    let [Command::BeginMove(moves)] = &commands[..] else {
        panic!("{commands:?}");
    };
    let begun: Vec<_> = moves
        .iter()
        .map(|moving| (&moving.shard, moving.to))
        .collect();
    let thought: Vec<_> = planned
        .iter()
        .map(|planned| (&planned.shard, planned.to))
        .collect();
    assert_eq!(begun, thought);
    assert!(thought.iter().all(|(_, to)| *to == Some(b)));
}

#[test]
fn while_balancing_is_frozen_nothing_moves_for_its_sake() {
    let mut table = Table::set(Rebalancing::Frozen);
    table.join("a");
    assert!(
        matches!(&table.round()[..], [Command::Grant(grants)] if grants.len() == 10),
        "but shards get owners"
    );
    table.join("b");
    assert_eq!(table.round(), []);
    let thawed = table.next_round();
    assert_eq!(
        count(&thawed, is_balance),
        3,
        "but it shows what unfreezing would do"
    );
    let on = Policy {
        rebalancing: Rebalancing::On,
        ..table.state.policy().clone()
    };
    table.write(Command::SetPolicy(on));
    assert!(matches!(&table.round()[..], [Command::BeginMove(moves)] if moves.len() == 3));
}

#[test]
fn while_balancing_is_frozen_a_node_that_leaves_is_emptied_all_the_same() {
    let mut table = Table::set(Rebalancing::Frozen);
    let a = table.join("a");
    table.round();
    let b = table.join("b");
    table.write(Command::Leave { incarnation: a });
    let planned = table.next_round();
    assert_eq!(count(&planned, |reason| reason == MoveReason::Draining), 3);
    assert!(
        planned
            .iter()
            .all(|planned| planned.from == Some(a) && planned.to == Some(b))
    );
    assert!(matches!(&table.round()[..], [Command::BeginMove(moves)] if moves.len() == 3));
}

#[test]
fn frost_is_stored_and_its_absence_is_not() {
    let on = serde_json::to_string(&Policy::default()).unwrap();
    assert!(!on.contains("rebalancing"), "{on}");
    assert_eq!(
        serde_json::from_str::<Policy>(&on).unwrap(),
        Policy::default()
    );
    let frozen = Policy {
        rebalancing: Rebalancing::Frozen,
        ..Policy::default()
    };
    let text = serde_json::to_string(&frozen).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), frozen);
}
