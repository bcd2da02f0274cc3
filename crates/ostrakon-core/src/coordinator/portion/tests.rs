use super::*;
use crate::{Granting, GroupName, Handover, Incarnation, NodeName, ShardId, ShardKey};

fn shard(number: u32) -> ShardKey {
    ShardKey {
        group: GroupName::default(),
        shard: ShardId::new(number).unwrap(),
    }
}

fn grant(shards: std::ops::RangeInclusive<u32>) -> Command {
    let to = Incarnation::new(7);
    let grants = shards.map(|number| {
        let shard = shard(number);
        Granting { shard, to }
    });
    Command::Grant(grants.collect())
}

fn expire(incarnation: u64) -> Command {
    Command::Expire {
        incarnation: Incarnation::new(incarnation),
    }
}

/// All portions, one after the other.
fn portions(mut waiting: Vec<Command>, most: usize) -> Vec<Portion> {
    let mut portions = Vec::new();
    while !waiting.is_empty() {
        portions.push(Portion::take(&mut waiting, most));
    }
    portions
}

#[test]
fn what_is_little_goes_at_once_and_in_order() {
    let waiting = vec![expire(1), grant(1..=300), expire(2)];
    let [all] = &portions(waiting.clone(), MOST_BYTES)[..] else {
        panic!("more than one portion");
    };
    assert_eq!(all.commands, waiting);
    assert!(!all.is_cut);
}

#[test]
fn no_portion_has_more_commands_than_a_storage_takes_leases() {
    let waiting: Vec<_> = (1..=1050).map(expire).collect();
    let portions = portions(waiting.clone(), MOST_BYTES);
    let sizes: Vec<_> = portions.iter().map(|one| one.commands.len()).collect();
    assert_eq!(sizes, [[100; 10].as_slice(), &[50]].concat());
    let all: Vec<_> = portions.into_iter().flat_map(|one| one.commands).collect();
    assert_eq!(all, waiting);
}

#[test]
fn a_command_of_many_shards_is_cut_and_nothing_of_it_is_lost() {
    let portions = portions(vec![expire(1), grant(1..=100_000), expire(2)], MOST_BYTES);
    let last = portions.len() - 1;
    let mut next = 1;
    for (number, portion) in portions.iter().enumerate() {
        let bytes: usize = portion.commands.iter().map(size).sum();
        assert!(bytes <= MOST_BYTES, "{bytes}");
        assert_eq!(portion.is_cut, number < last);
        for command in &portion.commands {
            let Command::Grant(grants) = command else {
                continue;
            };
            for grant in grants {
                assert_eq!(grant.shard, shard(next));
                next += 1;
            }
        }
    }
    assert_eq!(next, 100_001);
    assert_eq!(portions[0].commands[0], expire(1));
    assert_eq!(portions[last].commands.last(), Some(&expire(2)));
    assert!(portions.len() <= 26, "{}", portions.len());
}

/// JSON of the longest names and numbers that there are.
#[test]
fn a_shard_never_takes_more_than_it_is_counted_for() {
    let moving = crate::Moving {
        shard: ShardKey {
            group: GroupName::new("g".repeat(GroupName::MAX_LEN)).unwrap(),
            shard: ShardId::new(crate::ShardCount::MAX).unwrap(),
        },
        epoch: crate::Epoch::new(u64::MAX),
        to: Some(Incarnation::new(u64::MAX)),
    };
    let moves = Command::BeginMove(vec![moving; 100]);
    let bytes = serde_json::to_string(&moves).unwrap().len();
    assert!(
        bytes <= size(&moves) && bytes * 10 > size(&moves) * 9,
        "{bytes}"
    );
}

#[test]
fn something_is_taken_however_little_fits() {
    let released = |number| Handover {
        shard: shard(number),
        epoch: crate::Epoch::new(1),
    };
    let waiting = vec![expire(1), Command::Released(vec![released(1), released(2)])];
    let portions = portions(waiting, 1);
    let commands: Vec<_> = portions.iter().map(|one| one.commands.clone()).collect();
    let alone = |number| vec![Command::Released(vec![released(number)])];
    assert_eq!(commands, [vec![expire(1)], alone(1), alone(2)]);
    assert!(portions.iter().all(|one| is_least(&one.commands)));
}

#[test]
fn a_takeover_is_the_least_there_is() {
    let grantor = NodeName::new("boss").unwrap();
    assert!(is_least(&[Command::Takeover { grantor, run: 1 }]));
    assert!(!is_least(&[expire(1), expire(2)]));
    assert!(!is_least(&[grant(1..=2)]));
}
