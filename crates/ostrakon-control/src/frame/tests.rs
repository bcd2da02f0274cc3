//! Frames one by one, and very many that are nearly right.

use std::time::{Duration, Instant};

use ostrakon_core::{
    Command, Entry, Epoch, Failover, GroupName, Holdings, Incarnation, Index, NodeName,
    NodeVersion, Order, OwnedShard, Policy, Registration, ShardId, ShardKey, Term, ToCoordinator,
    ToRegion,
};

use super::*;
use crate::{FromManager, FromNode};

#[tokio::test]
async fn what_is_written_is_read_back() {
    let mut wire = Vec::new();
    write(&mut wire, &("hello", 7)).await.unwrap();
    let back: (String, u32) = read(&mut wire.as_slice(), MOST).await.unwrap();
    assert_eq!(back, ("hello".to_owned(), 7));
}

#[tokio::test]
async fn a_frame_that_is_too_large_is_refused_before_it_is_read() {
    let announced = u32::MAX.to_be_bytes();
    let read = read::<String>(&mut announced.as_slice(), 1000).await;
    assert!(matches!(read, Err(FrameError::TooLarge { most: 1000, .. })));
}

#[tokio::test]
async fn half_a_frame_is_no_frame() {
    let mut wire = Vec::new();
    write(&mut wire, &"hello").await.unwrap();
    wire.pop();
    let read = read::<String>(&mut wire.as_slice(), MOST).await;
    assert!(matches!(read, Err(FrameError::Broken(_))));
}

#[tokio::test]
async fn garbage_is_unreadable() {
    let wire = [0, 0, 0, 2, 0xC1, 0xC1];
    let read = read::<String>(&mut wire.as_slice(), MOST).await;
    assert!(matches!(read, Err(FrameError::Unreadable(_))));
}

#[test]
fn what_is_too_large_is_not_even_written() {
    let framed = Framed::new(&"x".repeat(MOST));
    assert!(matches!(framed, Err(FrameError::TooLarge { .. })));
}

#[test]
fn what_others_say_does_no_harm_in_a_log() {
    let name = format!("\n{}", "é".repeat(1 << 20));
    let words = rmp_serde::to_vec_named(&name).unwrap();
    let error = decode::<FromNode>(&words).unwrap_err().to_string();
    assert!(error.len() < 600, "{} bytes", error.len());
    assert!(!error.contains('\n'), "{error}");
    assert_eq!(quoted(&"short"), "short");
}

#[test]
fn deep_nesting_is_refused() {
    let deep = vec![0x91; 1 << 20];
    assert!(matches!(
        decode::<FromNode>(&deep),
        Err(FrameError::Unreadable(_))
    ));
}

#[test]
fn an_announced_length_takes_no_memory() {
    let words = FromManager::Entries {
        behind: Index::new(1),
        entries: Vec::new(),
    };
    let mut bytes = rmp_serde::to_vec_named(&words).unwrap();
    assert_eq!(bytes.pop(), Some(0x90), "an array of nothing");
    // Now it has four billion entries, none of which comes.
    bytes.extend([0xdd, 0xff, 0xff, 0xff, 0xff]);
    let read = decode::<FromManager>(&bytes);
    assert!(matches!(read, Err(FrameError::Unreadable(_))));
}

fn shard() -> ShardKey {
    ShardKey {
        group: GroupName::default(),
        shard: ShardId::new(7).unwrap(),
    }
}

fn registration() -> Registration {
    Registration {
        name: NodeName::new("node-1").unwrap(),
        address: "127.0.0.1:4711".to_owned(),
        nonce: 12,
        version: NodeVersion::new("1.4.0"),
        roles: Default::default(),
        weight: 1,
        groups: Vec::new(),
        place: [("process.id".to_owned(), "17".to_owned())].into(),
    }
}

/// One of each.
fn from_nodes() -> Vec<FromNode> {
    let incarnation = Incarnation::new(3);
    let said = [
        ToCoordinator::Register {
            registration: registration(),
            slack: Duration::from_secs(1),
        },
        ToCoordinator::Renew {
            incarnation,
            seq: 5,
            ok_seq: 4,
            seen: Index::new(9),
        },
        ToCoordinator::Released {
            incarnation,
            shards: Vec::new(),
        },
        ToCoordinator::Leave { incarnation },
        ToCoordinator::Gone { incarnation },
        ToCoordinator::Unreachable { incarnation },
        ToCoordinator::Wanted { shard: shard() },
    ];
    let behind = Index::new(1 << 40);
    let others = [FromNode::Follow { behind }, FromNode::Pong];
    said.into_iter().map(FromNode::Say).chain(others).collect()
}

fn from_managers() -> Vec<FromManager> {
    let incarnation = Incarnation::new(3);
    let said = [
        ToRegion::Registered {
            nonce: 1,
            incarnation,
            failover: Failover::Proof,
        },
        ToRegion::Refused {
            nonce: 1,
            reason: "no".to_owned(),
        },
        ToRegion::Spent { nonce: 1 },
        ToRegion::RenewOk {
            incarnation,
            seq: 8,
        },
        ToRegion::Ended { incarnation },
        ToRegion::Holdings(Holdings {
            incarnation,
            at: Index::new(4),
            shards: vec![OwnedShard {
                shard: shard(),
                epoch: Epoch::new(4),
                order: Order::Serve,
            }],
        }),
    ];
    let commands = [
        Command::Register(registration()),
        Command::SetPolicy(Policy::default()),
    ];
    let entries = commands.map(|command| Entry {
        term: Term::new(1),
        command,
    });
    let state = ostrakon_core::ControlState::default().snapshot();
    let others = [
        FromManager::Entries {
            behind: Index::new(2),
            entries: entries.into(),
        },
        FromManager::State(Box::new(state)),
        FromManager::Ping,
    ];
    let said = said.into_iter().map(FromManager::Say);
    said.chain(others).collect()
}

/// Changes some bytes; the same seed makes the same changes.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        // SplitMix64: any sequence without a short period would do.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let end = (at + self.below(16)).min(bytes.len());
        match (self.below(7), bytes.get_mut(at)) {
            (0 | 1, Some(byte)) => *byte ^= 1 << self.below(8),
            // Where MessagePack announces lengths and kinds.
            (2, Some(byte)) => {
                let marks = [
                    0x00, 0x7f, 0x80, 0x8f, 0x9f, 0xbf, 0xc1, 0xc6, 0xdb, 0xdd, 0xdf, 0xff,
                ];
                *byte = marks[self.below(marks.len())];
            }
            (3, _) => bytes.truncate(at),
            (4, _) => drop(bytes.drain(at..end)),
            (5, _) => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => bytes.insert(at, self.below(256) as u8),
        }
    }
}

/// Mutates examples and what came of them; returns how many inputs could be read, and how many could not.
fn campaign<T>(examples: &[T], cases: u32) -> (u32, u32)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let mut dice = Dice(1);
    let mut corpus = Vec::new();
    for example in examples {
        let bytes = rmp_serde::to_vec_named(example).unwrap();
        assert_eq!(decode::<T>(&bytes).unwrap(), *example);
        corpus.push(bytes);
    }
    let (mut good, mut bad) = (0, 0);
    for _ in 0..cases {
        let place = dice.below(corpus.len());
        let mut bytes = corpus[place].clone();
        for _ in 0..=dice.below(4) {
            dice.mutate(&mut bytes);
        }
        bytes.truncate(4096);
        match decode::<T>(&bytes) {
            Ok(value) => {
                good += 1;
                // What was understood can be said.
                let said = rmp_serde::to_vec_named(&value).unwrap();
                assert_eq!(decode::<T>(&said).unwrap(), value);
                corpus.push(bytes);
            }
            Err(error) => {
                bad += 1;
                assert!(error.to_string().len() < 4 * MOST_QUOTED + 200, "{error}");
            }
        }
    }
    (good, bad)
}

#[test]
fn nearly_right_words_are_understood_or_refused() {
    let began = Instant::now();
    let from_nodes = campaign(&from_nodes(), 60_000);
    let from_managers = campaign(&from_managers(), 60_000);
    println!("{from_nodes:?} {from_managers:?} in {:?}", began.elapsed());
    for (good, bad) in [from_nodes, from_managers] {
        assert!(good > 1000 && bad > 1000, "{good} {bad}");
    }
}
