//! The outbox against a model of it: whatever is pushed, written, lost and taken back, and in whatever order.
//!
//! The model knows every frame and where it is; the bytes that are written go to an [`Inbox`](crate::link::inbox::Inbox) as they would
//! on a connection, and what arrives there must be what the model expects.

mod model;

use std::collections::BTreeSet;

use ostrakon_core::{Epoch, ShardId};
use proptest::{collection::vec, prelude::*};

use self::model::{LANES, Model, Op, Sort};
use super::*;
use crate::link::{
    campaign::Campaign,
    frame::{Addressee, Frame, Message, NewMessage},
    inbox::tests::Receiver,
};

fn write_frame(out: &mut Vec<u8>, number: u64, lane: usize, sort: Sort, size: usize) {
    let payload = vec![number as u8; size];
    match sort {
        Sort::Message => {
            let message = NewMessage {
                request: number,
                to: Addressee::Entity {
                    shard: ShardId::new(1).unwrap(),
                    epoch: Epoch::new(1),
                },
                kind: "chat",
                id: &lane.to_string(),
                remaining: 100,
                options: &[],
                payload: &payload,
            };
            message.put(out, &[]);
        }
        Sort::Answer => frame::put_answer(out, number, &payload),
        Sort::Fence => frame::put_fence(out, number, "default", ShardId::new(1).unwrap()),
    }
}

fn run(ops: &[Op]) -> BTreeSet<&'static str> {
    let mut model = Model::new();
    for op in ops {
        model.perform(op);
    }
    model.finish();
    model.seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_out_is_what_was_pushed_and_not_taken_back(ops in vec(op(), 0..60)) {
        run(&ops);
    }
}

fn op() -> impl Strategy<Value = Op> {
    let lane = || 0..LANES.len();
    let sort = prop_oneof![
        4 => Just(Sort::Message),
        1 => Just(Sort::Answer),
        1 => Just(Sort::Fence)
    ];
    let size = || prop_oneof![8 => 0..100_usize, 2 => PART - 100..PART + 10, 2 => PART..12 * PART];
    let bytes = || prop_oneof![Just(usize::MAX), 0..200_usize, 0..3 * PART];
    prop_oneof![
        8 => (lane(), sort, size()).prop_map(|(lane, sort, size)| Op::Push { lane, sort, size }),
        4 => (lane(), size(), bytes()).prop_map(|(lane, size, bytes)| Op::Send { lane, size, bytes }),
        6 => bytes().prop_map(Op::Write),
        2 => prop_oneof![Just(u64::MAX), 0..100_000_u64].prop_map(Op::Acknowledge),
        2 => any::<bool>().prop_map(|noticed| Op::Lose { noticed }),
        1 => Just(Op::Leave),
        2 => any::<usize>().prop_map(Op::Withdraw),
        1 => lane().prop_map(|lane| Op::Recall { lane }),
    ]
}

#[test]
fn parts_wait_until_others_have_been_read_and_a_new_connection_begins_anew() {
    let window = PartsWindow::SMALLEST as usize / SLICE;
    let mut outbox = Outbox::default();
    outbox.push(LaneKey::Shard(1), 1, |out| {
        write_frame(out, 1, 2, Sort::Message, 2 * window * SLICE);
    });
    let take = |outbox: &mut Outbox| {
        let mut buffer = Vec::new();
        outbox.take(&mut buffer, || Time::ZERO);
        buffer.len()
    };
    for _ in 0..window {
        assert!(take(&mut outbox) > SLICE);
    }
    assert_eq!((take(&mut outbox), outbox.parked), (0, true));
    assert!(outbox.parts_read(1, Time::ZERO), "the connection sleeps");
    assert!(
        !outbox.parts_read(0, Time::ZERO),
        "the connection has been woken"
    );
    assert!(take(&mut outbox) > SLICE);
    assert_eq!(take(&mut outbox), 0);
    outbox.put_back(&[], 0);
    for _ in 0..window {
        assert!(take(&mut outbox) > SLICE);
    }
    assert_eq!(take(&mut outbox), 0);
    outbox.push(LaneKey::Shard(2), 2, |out| {
        write_frame(out, 2, 3, Sort::Message, 10)
    });
    assert!(
        (1..SLICE).contains(&take(&mut outbox)),
        "others do not wait"
    );
}

#[test]
fn what_a_sender_has_begun_the_connection_ends_before_all_else() {
    let at_rest = Op::Write(usize::MAX);
    let send = |bytes| Op::Send {
        lane: 2,
        size: 10,
        bytes,
    };
    let behind = Op::Push {
        lane: 2,
        sort: Sort::Message,
        size: 10,
    };
    let all = [at_rest.clone(), send(usize::MAX), send(usize::MAX)];
    assert!(run(&all).contains("sent alone"));
    let rest = [at_rest.clone(), send(5), behind.clone(), Op::Write(3)];
    assert!(run(&rest).is_superset(&["begun alone", "the rest"].into()));
    let lost = [at_rest, send(5), behind, Op::Lose { noticed: true }];
    assert!(run(&lost).is_superset(&["begun alone", "lost within a write"].into()));
}

#[test]
fn nobody_writes_alone_while_others_are_likely_to_send_something_too() {
    let mut outbox = Outbox {
        parked: true,
        answered: 2,
        ..Outbox::default()
    };
    let push = |outbox: &mut Outbox| {
        outbox.push(LaneKey::None, 1, |out| frame::put_ping(out, 1));
    };
    push(&mut outbox);
    assert_eq!(outbox.alone(), None, "two were answered");
    outbox.answered = 1;
    assert!(outbox.alone().is_some());
    push(&mut outbox);
    assert_eq!(outbox.alone(), None, "two have sent something");
}

#[test]
fn frames_that_were_all_taken_back_need_no_connection() {
    let mut outbox = Outbox::default();
    let push = |outbox: &mut Outbox, number| {
        outbox.push(LaneKey::Actors, number, |out| {
            write_frame(out, number, 1, Sort::Message, 10);
        })
    };
    let (first, second) = (push(&mut outbox, 1), push(&mut outbox, 2));
    assert!(outbox.withdraw(first));
    outbox.forget_void();
    assert!(!outbox.is_empty(), "one of two waits");
    assert!(outbox.withdraw(second));
    outbox.forget_void();
    assert!(outbox.is_empty());
    let third = push(&mut outbox, 3);
    assert!(!outbox.withdraw(second), "its place is not another's");
    assert!(outbox.withdraw(third));
}

#[test]
fn many_frames_are_taken_back_one_by_one_without_looking_at_all_others() {
    let mut outbox = Outbox::default();
    let push = |number| outbox.push(LaneKey::None, number, |out| frame::put_ping(out, number));
    let spots: Vec<Spot> = (0..100_000).map(push).collect();
    // If each looked through all of them, this would take minutes.
    assert!(spots.into_iter().all(|spot| outbox.withdraw(spot)));
    let mut buffer = Vec::new();
    outbox.take(&mut buffer, || Time::ZERO);
    let mut receiver = Receiver::new(0);
    let only_void = |body: &[u8]| assert_eq!(Frame::read(body), Ok(Frame::Void));
    assert_eq!(receiver.receive(&buffer, usize::MAX, only_void), Ok(()));
}

/// The bounded campaign of `cargo test`, the long one of `cargo xtask fuzz --only outbox`.
#[test]
fn campaign_of_the_outbox() {
    // A large frame, a small one of its lane, half of it written, the connection lost.
    let example = b"\x02\xc8\x02\x05\x30\x40\x60\x00\x30\xff";
    Campaign::run("outbox", 1_000, vec![example.to_vec()], |input| {
        let ops: Vec<Op> = input
            .chunks_exact(2)
            .take(200)
            .map(|two| op_of(two[0], two[1]))
            .collect();
        run(&ops)
    });
}

/// Every two bytes are something that can happen.
fn op_of(what: u8, how: u8) -> Op {
    let amount = usize::from(how);
    match what >> 4 {
        0..=2 => Op::Push {
            lane: usize::from(what) % LANES.len(),
            sort: [Sort::Message, Sort::Message, Sort::Answer, Sort::Fence][amount % 4],
            size: match how {
                0..192 => amount,
                192..224 => PART - 40 + (amount - 192) * 2,
                224.. => (amount - 223) * PART * 3 / 8,
            },
        },
        3 => Op::Write(usize::MAX),
        4 => Op::Write(amount),
        5 => Op::Write(amount * 1024),
        6 => Op::Lose { noticed: false },
        7 if how >= 240 => Op::Leave,
        7 => Op::Lose { noticed: true },
        8 => Op::Send {
            lane: usize::from(what) % LANES.len(),
            size: amount % 64,
            bytes: amount,
        },
        9 => Op::Acknowledge(amount as u64 * 1024),
        10 => Op::Acknowledge(u64::MAX),
        11..=13 => Op::Withdraw(amount),
        14.. => Op::Recall {
            lane: amount % LANES.len(),
        },
    }
}
