//! What the simulation has found in the core, each as the shortest story that shows it.

use std::{collections::BTreeSet, time::Duration};

use ostrakon_core::{
    Command, ControlState, DeathProof, Entry, Epoch, Failover, Granting, GroupName, GroupSpec,
    Handover, Holdings, Incarnation, Index, NodeName, NodeVersion, Order, OwnedShard, Refusal,
    Region, RegionAction, RegionInput, Registration, ShardCount, ShardId, ShardKey, Term, Time,
    ToCoordinator, ToRegion,
};

const NONCE: u64 = 7;

fn group() -> GroupSpec {
    GroupSpec {
        name: GroupName::default(),
        count: ShardCount::new(1).expect("a count"),
        hash: "stable".to_owned(),
        role: None,
    }
}

fn shard() -> ShardKey {
    ShardKey {
        group: GroupName::default(),
        shard: ShardId::new(1).expect("a shard"),
    }
}

fn registration() -> Registration {
    Registration {
        name: NodeName::new("node-1").expect("a name"),
        address: "node-1:7000".to_owned(),
        nonce: NONCE,
        version: NodeVersion::default(),
        roles: BTreeSet::new(),
        place: std::collections::BTreeMap::new(),
        weight: 1,
        groups: vec![group()],
    }
}

fn seconds(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

/// A region that was let in as run 3.
fn member() -> Region {
    let mut region = Region::new(registration(), Duration::from_millis(500));
    let registered = ToRegion::Registered {
        nonce: NONCE,
        incarnation: Incarnation::new(3),
        failover: Failover::Proof,
    };
    region.step(seconds(1), RegionInput::Heard(registered));
    region
}

fn holdings(at: u64, order: Order) -> RegionInput {
    RegionInput::Heard(ToRegion::Holdings(Holdings {
        incarnation: Incarnation::new(3),
        at: Index::new(at),
        shards: vec![OwnedShard {
            shard: shard(),
            epoch: Epoch::new(4),
            order,
        }],
    }))
}

fn says_released(actions: &[RegionAction]) -> bool {
    let released = [Handover {
        shard: shard(),
        epoch: Epoch::new(4),
    }];
    actions.iter().any(|action| {
        matches!(action, RegionAction::Send(ToCoordinator::Released { shards, .. }) if *shards == released)
    })
}

/// The word that a shard was given up was said once; if it was lost, the shard was nobody's for ever.
#[test]
fn a_shard_that_was_given_up_is_reported_until_the_log_knows() {
    let mut region = member();
    region.step(seconds(2), holdings(4, Order::Serve));
    region.step(seconds(3), holdings(5, Order::Release));
    let quiet = RegionInput::Quiet {
        shard: shard(),
        epoch: Epoch::new(4),
    };
    assert!(says_released(&region.step(seconds(4), quiet)));
    assert!(says_released(&region.step(seconds(20), RegionInput::Wake)));
    let nothing = Holdings {
        incarnation: Incarnation::new(3),
        at: Index::new(6),
        shards: Vec::new(),
    };
    region.step(seconds(21), RegionInput::Heard(ToRegion::Holdings(nothing)));
    assert!(!says_released(&region.step(seconds(40), RegionInput::Wake)));
}

/// The same for a shard that was to be given up before the node had heard of it.
#[test]
fn a_shard_that_was_never_taken_up_is_reported_until_the_log_knows() {
    let mut region = member();
    assert!(says_released(
        &region.step(seconds(2), holdings(5, Order::Release))
    ));
    assert!(says_released(&region.step(seconds(20), RegionInput::Wake)));
}

/// A node whose run was over before it heard that it had begun asked for ever with a number that was spent.
#[test]
fn a_node_whose_number_is_spent_registers_with_another() {
    let mut region = Region::new(registration(), Duration::from_millis(500));
    region.step(seconds(1), RegionInput::Wake);
    let spent = RegionInput::Heard(ToRegion::Spent { nonce: NONCE });
    let actions = region.step(seconds(2), spent);
    let [RegionAction::Send(ToCoordinator::Register { registration, .. })] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_ne!(registration.nonce, NONCE);
}

/// A node said goodbye when it held nothing; a grant was on its way into the log, in front of its end. The shard was free for others,
/// and the node took it up.
#[test]
fn a_goodbye_does_not_end_a_run_that_was_granted_something_meanwhile() {
    let mut state = ControlState::default();
    let grantor = NodeName::new("manager").expect("a name");
    let run = Incarnation::new(3);
    let to = run;
    let grant = Granting { shard: shard(), to };
    let proof = DeathProof::Left;
    let commands = [
        (0, Command::Takeover { grantor, run: 1 }),
        (1, Command::CreateGroup(group())),
        (1, Command::Register(registration())),
        (1, Command::Grant(vec![grant])),
    ];
    for (index, (term, command)) in (1..).zip(commands) {
        let term = Term::new(term);
        state.apply(Index::new(index), &Entry { term, command });
    }
    let incarnation = run;
    let command = Command::ConfirmDead { incarnation, proof };
    let term = Term::new(1);
    let applied = state.apply(Index::new(5), &Entry { term, command });
    assert_eq!(applied.refusals, [Refusal::StillOwns { incarnation }]);
    assert!(state.member(run).is_some());
}
