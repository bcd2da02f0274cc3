//! What entries do to a state, one by one and at random.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    DeathProof, Epoch, Failover, Granting, Handover, Moving, NodeVersion, RoleName, ShardCount,
    ShardId, Snapshot,
};

/// A log that is applied as it is written.
struct Log {
    state: ControlState,
    last: Index,
    term: Term,
}

impl Log {
    /// A group of four shards, and a coordinator.
    fn begun() -> Self {
        let mut log = Self {
            state: ControlState::default(),
            last: Index::default(),
            term: Term::default(),
        };
        log.take_over("boss");
        log.write(Command::CreateGroup(group(4)));
        log
    }

    fn take_over(&mut self, name: &str) {
        let grantor = NodeName::new(name).unwrap();
        self.write(Command::Takeover { grantor, run: 1 });
        self.term = self.state.term();
    }

    fn write(&mut self, command: Command) -> Applied {
        self.last = self.last.next();
        let entry = Entry {
            term: self.term,
            command,
        };
        self.state.apply(self.last, &entry)
    }

    fn join(&mut self, name: &str, nonce: u64) -> Incarnation {
        self.write(Command::Register(registration(name, nonce)));
        self.last.into()
    }

    fn grant(&mut self, number: u32, to: Incarnation) -> Result<Epoch, Refusal> {
        let shard = shard(number);
        let applied = self.write(Command::Grant(vec![Granting { shard, to }]));
        match applied.refusals.first() {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(self.last.into()),
        }
    }

    fn owner(&self, number: u32) -> Option<(Incarnation, Epoch)> {
        self.state.ownership(&shard(number)).unwrap().owner()
    }
}

fn group(count: u32) -> GroupSpec {
    GroupSpec {
        name: GroupName::default(),
        count: ShardCount::new(count).unwrap(),
        hash: "stable".to_owned(),
        role: None,
    }
}

fn registration(name: &str, nonce: u64) -> Registration {
    Registration {
        name: NodeName::new(name).unwrap(),
        address: format!("{name}:1"),
        nonce,
        version: NodeVersion::new("1.0"),
        roles: BTreeSet::new(),
        place: std::collections::BTreeMap::new(),
        weight: 1,
        groups: vec![group(4)],
    }
}

fn shard(number: u32) -> ShardKey {
    ShardKey {
        group: GroupName::default(),
        shard: ShardId::new(number).unwrap(),
    }
}

#[test]
fn an_incarnation_is_the_index_of_its_registration() {
    let mut log = Log::begun();
    let run = log.join("a", 7);
    assert_eq!(run.get(), log.state.applied().get());
    assert_eq!(log.state.registered(7), Some(run));
}

#[test]
fn a_registration_that_arrives_twice_counts_once() {
    let mut log = Log::begun();
    let incarnation = log.join("a", 7);
    let again = log.write(Command::Register(registration("a", 7)));
    assert_eq!(again.refusals, [Refusal::Registered { incarnation }]);
    assert_eq!(log.state.members().len(), 1);
}

#[test]
fn a_late_copy_of_a_registration_does_not_bring_a_run_back() {
    let mut log = Log::begun();
    let incarnation = log.join("a", 7);
    log.write(Command::Expire { incarnation });
    let again = log.write(Command::Register(registration("a", 7)));
    assert_eq!(again.refusals, [Refusal::RunIsOver]);
    assert_eq!(log.state.members().len(), 0);
}

#[test]
fn an_epoch_is_the_index_of_its_grant_and_an_owned_shard_is_not_granted() {
    let mut log = Log::begun();
    let (a, b) = (log.join("a", 1), log.join("b", 2));
    let epoch = log.grant(1, a).unwrap();
    assert_eq!(log.owner(1), Some((a, epoch)));
    let shard = shard(1);
    assert_eq!(log.grant(1, b), Err(Refusal::Owned { shard, epoch }));
    assert_eq!(log.owner(1), Some((a, epoch)));
}

#[test]
fn a_shard_moves_by_way_of_its_release() {
    let mut log = Log::begun();
    let (a, b) = (log.join("a", 1), log.join("b", 2));
    let epoch = log.grant(1, a).unwrap();
    let to = Some(b);
    let shard = shard(1);
    let moving = Moving { shard, epoch, to };
    log.write(Command::BeginMove(vec![moving.clone()]));
    assert!(log.grant(1, b).is_err(), "the owner has not given it up");
    let handover = Handover {
        shard: moving.shard,
        epoch,
    };
    log.write(Command::Released(vec![handover.clone()]));
    assert_eq!(log.owner(1), None);
    let next = log.grant(1, b).unwrap();
    assert!(next > epoch);
    let late = log.write(Command::Released(vec![handover]));
    assert!(matches!(late.refusals[..], [Refusal::OtherEpoch { .. }]));
    assert_eq!(log.owner(1), Some((b, next)));
}

#[test]
fn what_is_wrong_with_one_part_of_a_command_is_no_matter_for_the_others() {
    let mut log = Log::begun();
    let to = log.join("a", 1);
    let grants = [1, 9, 2].map(|number| Granting {
        shard: shard(number),
        to,
    });
    let applied = log.write(Command::Grant(grants.to_vec()));
    assert_eq!(applied.changes.len(), 2);
    assert_eq!(applied.refusals, [Refusal::NoSuchShard { shard: shard(9) }]);
}

#[test]
fn the_end_of_a_run_frees_what_it_had_and_what_was_on_its_way_to_it() {
    let mut log = Log::begun();
    let (a, b) = (log.join("a", 1), log.join("b", 2));
    let (kept, lost) = (log.grant(1, a).unwrap(), log.grant(2, b).unwrap());
    log.write(Command::BeginMove(vec![Moving {
        shard: shard(1),
        epoch: kept,
        to: Some(b),
    }]));
    log.write(Command::ConfirmDead {
        incarnation: b,
        proof: DeathProof::ProcessGone,
    });
    let freed = Ownership::Unowned { last: lost };
    assert_eq!(log.state.ownership(&shard(2)), Some(freed));
    let goes_nowhere = Ownership::Releasing {
        by: a,
        epoch: kept,
        to: None,
    };
    assert_eq!(log.state.ownership(&shard(1)), Some(goes_nowhere));
    assert!(log.grant(2, b).is_err(), "it is over");
}

#[test]
fn an_entry_of_a_deposed_coordinator_is_void() {
    let mut log = Log::begun();
    let a = log.join("a", 1);
    let stale = log.term;
    log.take_over("other");
    let term = std::mem::replace(&mut log.term, stale);
    assert_eq!(log.grant(1, a), Err(Refusal::Deposed { stale, term }));
    log.term = term;
    assert!(log.grant(1, a).is_ok());
}

#[test]
fn an_entry_that_was_applied_changes_nothing_again() {
    let mut log = Log::begun();
    let entry = Entry {
        term: log.term,
        command: Command::Register(registration("a", 1)),
    };
    let index = log.last.next();
    log.state.apply(index, &entry);
    let before = log.state.clone();
    assert_eq!(log.state.apply(index, &entry), Applied::default());
    assert_eq!(log.state, before);
}

#[test]
fn a_node_that_knows_a_group_otherwise_is_refused_in_words() {
    let mut log = Log::begun();
    let mut other = registration("a", 1);
    other.groups = vec![group(5)];
    let applied = log.write(Command::Register(other));
    assert_eq!(
        applied.refusals[0].to_string(),
        "shard group default exists as 4 shards by stable; it cannot be 5 shards by stable"
    );
    assert_eq!(log.state.members().len(), 0);
}

#[test]
fn a_node_that_leaves_or_lacks_the_role_gets_nothing() {
    let mut log = Log::begun();
    let incarnation = log.join("a", 1);
    log.write(Command::Leave { incarnation });
    assert!(matches!(
        log.grant(1, incarnation),
        Err(Refusal::DoesNotTake { .. })
    ));
    let role = RoleName::new("storage").unwrap();
    let special = GroupSpec {
        name: GroupName::new("special").unwrap(),
        role: Some(role.clone()),
        ..group(2)
    };
    log.write(Command::CreateGroup(special.clone()));
    let mut grant_to = |roles: BTreeSet<RoleName>, nonce| {
        let mut node = registration("b", nonce);
        node.roles = roles;
        node.groups = vec![special.clone()];
        log.write(Command::Register(node));
        let to = log.last.into();
        let shard = ShardKey {
            group: special.name.clone(),
            shard: ShardId::new(1).unwrap(),
        };
        let granted = log.write(Command::Grant(vec![Granting { shard, to }]));
        granted.refusals.is_empty()
    };
    assert!(!grant_to(BTreeSet::new(), 2));
    assert!(grant_to(BTreeSet::from([role]), 3));
}

#[test]
fn the_map_names_the_owners() {
    let mut log = Log::begun();
    let a = log.join("a", 1);
    let epoch = log.grant(3, a).unwrap();
    let map = log.state.map();
    assert_eq!(map.version().get(), log.last.get());
    let owner = NodeName::new("a").unwrap();
    let key = shard(3);
    assert_eq!(
        map.owner(&key.group, key.shard),
        Some(&Assignment { owner, epoch })
    );
    assert_eq!(map.iter().count(), 4);
}

#[test]
fn the_rules_are_part_of_the_state() {
    let mut log = Log::begun();
    let policy = Policy {
        failover: Failover::Proof,
        ..Policy::default()
    };
    log.write(Command::SetPolicy(policy.clone()));
    assert_eq!(*log.state.policy(), policy);
}

#[test]
fn a_snapshot_of_a_later_version_is_refused() {
    let text = serde_json::to_string(&ControlState::default().snapshot()).unwrap();
    let later = text.replace("\"format\":1", "\"format\":2");
    let snapshot: Snapshot = serde_json::from_str(&later).unwrap();
    assert_eq!(
        ControlState::restore(snapshot).unwrap_err().to_string(),
        "the snapshot has format 2, and this version reads up to 1: use a later version"
    );
}

/// What lies in a log must stay readable for ever.
#[test]
fn the_stored_form_of_entries_does_not_change() {
    let entry = |command| Entry {
        term: Term::new(3),
        command,
    };
    let node = |name| NodeName::new(name).unwrap();
    let stored = [
        (
            entry(Command::Takeover {
                grantor: node("boss"),
                run: 9,
            }),
            r#"{"term":3,"command":{"takeover":{"grantor":"boss","run":9}}}"#,
        ),
        (
            entry(Command::Register(registration("a", 7))),
            r#"{"term":3,"command":{"register":{"name":"a","address":"a:1","nonce":7,"version":"1.0","roles":[],"weight":1,"groups":[{"name":"default","count":4,"hash":"stable","role":null}]}}}"#,
        ),
        (
            entry(Command::ConfirmDead {
                incarnation: Incarnation::new(4),
                proof: DeathProof::Platform("gone".to_owned()),
            }),
            r#"{"term":3,"command":{"confirm_dead":{"incarnation":4,"proof":{"platform":"gone"}}}}"#,
        ),
        (
            entry(Command::BeginMove(vec![Moving {
                shard: shard(2),
                epoch: Epoch::new(5),
                to: Some(Incarnation::new(4)),
            }])),
            r#"{"term":3,"command":{"begin_move":[{"shard":{"group":"default","shard":2},"epoch":5,"to":4}]}}"#,
        ),
        (
            entry(Command::Released(vec![Handover {
                shard: shard(2),
                epoch: Epoch::new(5),
            }])),
            r#"{"term":3,"command":{"released":[{"shard":{"group":"default","shard":2},"epoch":5}]}}"#,
        ),
        (
            entry(Command::Grant(vec![Granting {
                shard: shard(2),
                to: Incarnation::new(4),
            }])),
            r#"{"term":3,"command":{"grant":[{"shard":{"group":"default","shard":2},"to":4}]}}"#,
        ),
        (
            entry(Command::SetPolicy(Policy::default())),
            r#"{"term":3,"command":{"set_policy":{"failover":{"lease":{"renew":{"secs":3,"nanos":0},"hold":{"secs":9,"nanos":0},"slack":{"secs":1,"nanos":0},"wait":{"secs":12,"nanos":500000000},"drift_permille":100}},"placement":"at_once","rebalance_every":{"secs":20,"nanos":0},"rebalance_rate":0.02,"most_moving":8}}}"#,
        ),
    ];
    for (entry, text) in stored {
        assert_eq!(serde_json::to_string(&entry).unwrap(), text);
        assert_eq!(serde_json::from_str::<Entry>(text).unwrap(), entry);
    }
}

/// Commands that often make sense, and often do not.
fn commands() -> impl Strategy<Value = Vec<(u8, Command)>> {
    let run = || (1_u64..40).prop_map(Incarnation::new);
    let epoch = || (1_u64..40).prop_map(Epoch::new);
    let key = || (1_u32..6).prop_map(shard);
    let node = || prop::sample::select(vec!["a", "b", "c"]);
    let command = prop_oneof![
        1 => node().prop_map(|name| Command::Takeover { grantor: NodeName::new(name).unwrap(), run: 1 }),
        4 => (node(), 0_u64..8).prop_map(|(name, nonce)| Command::Register(registration(name, nonce))),
        1 => run().prop_map(|incarnation| Command::Leave { incarnation }),
        1 => run().prop_map(|incarnation| Command::Expire { incarnation }),
        1 => run().prop_map(|incarnation| Command::ConfirmDead { incarnation, proof: DeathProof::Left }),
        3 => vec((key(), epoch(), prop::option::of(run())), 0..4).prop_map(|moves| {
            let moving = |(shard, epoch, to)| Moving { shard, epoch, to };
            Command::BeginMove(moves.into_iter().map(moving).collect())
        }),
        3 => vec((key(), epoch()), 0..4).prop_map(|shards| {
            let handover = |(shard, epoch)| Handover { shard, epoch };
            Command::Released(shards.into_iter().map(handover).collect())
        }),
        6 => vec((key(), run()), 0..4).prop_map(|grants| {
            let granting = |(shard, to)| Granting { shard, to };
            Command::Grant(grants.into_iter().map(granting).collect())
        }),
    ];
    // Now and then somebody writes who has been deposed.
    vec((0_u8..10, command), 0..60)
}

/// Applies commands; returns the entries.
fn play(log: &mut Log, commands: Vec<(u8, Command)>, mut look: impl FnMut(&Log, &Applied)) {
    for (stale, command) in commands {
        let is_takeover = matches!(command, Command::Takeover { .. });
        let term = log.term;
        if stale == 0 {
            log.term = Term::new(term.get().saturating_sub(1));
        }
        let applied = log.write(command);
        log.term = if is_takeover { log.state.term() } else { term };
        look(log, &applied);
    }
}

proptest! {
    #[test]
    fn every_shard_has_at_most_one_live_owner_and_its_epochs_only_grow(commands in commands()) {
        let mut log = Log::begun();
        let mut before: Vec<Ownership> = log.state.groups().next().unwrap().shards.clone();
        play(&mut log, commands, |log, applied| {
            let after = &log.state.groups().next().unwrap().shards;
            for (old, new) in before.iter().zip(after) {
                assert!(new.epoch() >= old.epoch());
                if let Some((by, epoch)) = new.owner() {
                    assert!(log.state.member(by).is_some(), "{by} is no member");
                    let same = old.owner() == Some((by, epoch));
                    let freed = applied.changes.iter().any(|change| matches!(change, Change::Freed { .. }));
                    assert!(same || old.owner().is_none() || freed, "taken from its owner");
                    assert!(same || epoch.get() == log.last.get(), "an epoch is the index of its grant");
                }
            }
            before.clone_from(after);
        });
    }

    #[test]
    fn what_changed_is_what_is_reported(commands in commands()) {
        let mut log = Log::begun();
        let mut before = log.state.clone();
        play(&mut log, commands, |log, applied| {
            let mut same = log.state.clone();
            same.applied = before.applied;
            if applied.changes.is_empty() {
                assert_eq!(same, before, "changed without a word");
            }
            before = log.state.clone();
        });
    }

    #[test]
    fn a_restored_state_goes_on_as_the_stored_one_would(first in commands(), second in commands()) {
        let mut log = Log::begun();
        play(&mut log, first, |_, _| {});
        let stored = serde_json::to_string(&log.state.snapshot()).unwrap();
        let restored = ControlState::restore(serde_json::from_str(&stored).unwrap()).unwrap();
        prop_assert_eq!(&restored, &log.state);
        let mut copy = Log { state: restored, last: log.last, term: log.term };
        play(&mut log, second.clone(), |_, _| {});
        play(&mut copy, second, |_, _| {});
        prop_assert_eq!(copy.state, log.state);
    }
}
