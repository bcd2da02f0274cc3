//! The outbox against a model of it: whatever is pushed, written, lost and taken back, and in whatever order.
//!
//! The model knows every frame and where it is; the bytes that are written go to an [`Inbox`](crate::link::inbox::Inbox) as they would
//! on a connection, and what arrives there must be what the model expects.

use std::collections::BTreeSet;

use ostrakon_core::{Epoch, ShardId};
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::link::{
    campaign::Campaign,
    frame::{Addressee, Frame, Message, NewMessage},
    inbox::tests::Receiver,
};

/// What can happen to an outbox.
#[derive(Debug, Clone)]
enum Op {
    Push {
        lane: usize,
        sort: Sort,
        size: usize,
    },
    /// The connection writes so many bytes, having taken new ones if it had none.
    Write(usize),
    /// The connection hears that the other side has read so many bytes of parts.
    Acknowledge(u64),
    /// The connection is lost, and there is another one. What it has written completely it may not have noticed yet.
    Lose {
        noticed: bool,
    },
    /// The connection says its last words and ends.
    Leave,
    /// Takes back one of all that were ever pushed.
    Withdraw(usize),
    Recall {
        lane: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Message,
    Answer,
    Fence,
}

const LANES: [LaneKey; 5] = [
    LaneKey::None,
    LaneKey::Actors,
    LaneKey::Shard(1),
    LaneKey::Shard(2),
    LaneKey::Stream(1),
];

/// A frame, as the model knows it.
struct Known {
    lane: usize,
    sort: Sort,
    /// With its length.
    bytes: Vec<u8>,
    spot: Spot,
    place: Place,
    /// How much of a large one the connection has taken.
    sent: usize,
    has_arrived: bool,
    /// It must not arrive any more: withdrawn, recalled, or of a connection that is lost.
    is_void: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Waiting,
    /// Taken by the connection, wholly or in part.
    Taken,
    /// The outbox has nothing of it any more.
    Gone,
}

struct Model {
    outbox: Outbox,
    known: Vec<Known>,
    writing: Vec<u8>,
    written: usize,
    /// The ordinary frames in `writing`, in order.
    taken: Vec<usize>,
    receiver: Receiver,
    acknowledged: u64,
    /// What has been seen to happen, for the campaign.
    seen: BTreeSet<&'static str>,
}

impl Model {
    fn new() -> Self {
        Self {
            outbox: Outbox::default(),
            known: Vec::new(),
            writing: Vec::new(),
            written: 0,
            taken: Vec::new(),
            receiver: Receiver::new(1 << 20),
            acknowledged: 0,
            seen: BTreeSet::new(),
        }
    }

    fn perform(&mut self, op: &Op) {
        match *op {
            Op::Push { lane, sort, size } => self.push(lane, sort, size),
            Op::Write(bytes) => self.write(bytes),
            Op::Acknowledge(bytes) => self.acknowledge(bytes),
            Op::Lose { noticed } => self.lose(noticed),
            Op::Leave => self.leave(),
            Op::Withdraw(number) => self.withdraw(number),
            Op::Recall { lane } => self.recall(lane),
        }
        self.compare();
    }

    fn push(&mut self, lane: usize, sort: Sort, size: usize) {
        let number = self.known.len() as u64;
        let mut bytes = Vec::new();
        write_frame(&mut bytes, number, lane, sort, size);
        let is_before = |known: &Known| known.lane == lane && known.is_held();
        let waits = bytes.len() > LARGE || lane != 0 && self.known.iter().any(is_before);
        let expected = if waits {
            Spot::Large { token: number }
        } else {
            let start = self.ordinary(|_| true);
            Spot::Ordinary { start }
        };
        let payload = if sort == Sort::Fence { 0 } else { size };
        let spot = self.outbox.push_sized(LANES[lane], number, payload, |out| {
            write_frame(out, number, lane, sort, size);
        });
        assert_eq!(spot, expected);
        // As the link does: the connection's task is woken.
        self.outbox.parked = false;
        self.see(if waits { "pushed to wait" } else { "pushed" });
        self.known.push(Known {
            lane,
            sort,
            bytes,
            spot,
            place: Place::Waiting,
            sent: 0,
            has_arrived: false,
            is_void: false,
        });
    }

    fn write(&mut self, bytes: usize) {
        self.notice_written();
        if self.writing.is_empty() {
            if self.outbox.parked {
                // Its task sleeps until it is woken.
                return;
            }
            self.take(Outbox::take);
        }
        self.send(bytes);
    }

    /// The connection says all that it has to say before it ends.
    fn leave(&mut self) {
        loop {
            self.notice_written();
            if self.writing.is_empty() {
                // From now on nobody counts what is unread.
                self.acknowledged = self.receiver.parts;
                self.take(Outbox::take_all);
            }
            if self.writing.is_empty() {
                break;
            }
            self.send(usize::MAX);
        }
        self.see("left");
        let left = self
            .known
            .iter()
            .position(|known| !known.has_arrived && !known.is_void);
        assert_eq!(left, None, "a frame was not sent before the end");
        self.lose(true);
    }

    fn send(&mut self, bytes: usize) {
        let rest = &self.writing[self.written..];
        let now = &rest[..rest.len().min(bytes)];
        self.written += now.len();
        let mut arrived = Vec::new();
        let took = self
            .receiver
            .receive(now, usize::MAX, |frame| arrived.push(frame.to_vec()));
        assert_eq!(took, Ok(()), "what is written can be read");
        for frame in arrived {
            self.arrived(&frame);
        }
    }

    fn notice_written(&mut self) {
        if self.written == self.writing.len() {
            self.writing.clear();
            self.written = 0;
        }
    }

    fn take(&mut self, take: fn(&mut Outbox, &mut Vec<u8>)) {
        self.all_has_gone();
        take(&mut self.outbox, &mut self.writing);
        assert_eq!(self.outbox.parked, self.writing.is_empty());
        let mut ordinary = 0;
        for (number, known) in self.known.iter_mut().enumerate() {
            if !known.is_large() && known.place == Place::Waiting {
                known.place = Place::Taken;
                ordinary += known.bytes.len();
                self.taken.push(number);
            }
        }
        if self.writing.is_empty() && !self.outbox.is_empty() {
            self.see("too much is unread");
        }
        if self.writing.len() > ordinary {
            let front = self.known.iter_mut().find(|known| known.is_held());
            let front = front.expect("a part is of a frame that waits");
            front.place = Place::Taken;
            front.sent = front.bytes.len().min(front.sent + PART);
            self.see("a part");
        }
    }

    /// All that was taken has been written.
    fn all_has_gone(&mut self) {
        for number in self.taken.drain(..) {
            self.known[number].place = Place::Gone;
        }
        for known in &mut self.known {
            if known.is_held() && known.sent == known.bytes.len() {
                known.place = Place::Gone;
            }
        }
    }

    fn arrived(&mut self, body: &[u8]) {
        let frame = Frame::read(body).expect("what is written can be read");
        if frame == Frame::Void {
            self.see("void");
            return;
        }
        let (Frame::Message(Message {
            request: number, ..
        })
        | Frame::Answer {
            request: number, ..
        }
        | Frame::Fence { token: number, .. }) = frame
        else {
            panic!("nobody has sent {frame:?}");
        };
        let number = number as usize;
        let known = &self.known[number];
        assert!(
            frame::body(&known.bytes) == body,
            "frame {number} is another"
        );
        assert!(!known.is_void, "frame {number} was taken back");
        assert!(!known.has_arrived, "frame {number} arrives again");
        assert_eq!(
            known.place,
            Place::Taken,
            "frame {number} arrives from nowhere"
        );
        let earlier = self.known[..number]
            .iter()
            .filter(|earlier| earlier.lane == known.lane);
        let is_overtaken = |earlier: &Known| !earlier.is_void && !earlier.has_arrived;
        assert!(
            known.lane == 0 || !earlier.clone().any(is_overtaken),
            "frame {number} has overtaken one of its lane"
        );
        self.known[number].has_arrived = true;
        self.see("arrived");
        let on_their_way = self.receiver.parts - self.acknowledged;
        assert!(on_their_way <= PARTS_WINDOW + PART as u64);
    }

    fn acknowledge(&mut self, bytes: u64) {
        let bytes = bytes.min(self.receiver.parts - self.acknowledged);
        if bytes == 0 {
            return;
        }
        self.acknowledged += bytes;
        if self.outbox.parts_read(bytes) {
            assert!(!self.outbox.parked, "told twice");
            self.see("woken");
        }
    }

    fn lose(&mut self, noticed: bool) {
        if noticed {
            self.notice_written();
        }
        self.see(match (self.written, self.writing.len()) {
            (_, 0) => "lost at rest",
            (0, _) => "lost before a write",
            (written, all) if written == all => "lost after a write",
            _ => "lost within a write",
        });
        self.outbox.put_back(&self.writing, self.written);
        assert!(!self.outbox.parked);
        if self.written == self.writing.len() {
            self.all_has_gone();
        }
        let mut end = 0;
        for number in self.taken.drain(..) {
            let known = &mut self.known[number];
            end += known.bytes.len();
            let has_gone = end <= self.written;
            known.place = if has_gone {
                Place::Gone
            } else {
                Place::Waiting
            };
        }
        for known in &mut self.known {
            known.connection_lost();
        }
        self.writing.clear();
        self.written = 0;
        self.receiver = Receiver::new(1 << 20);
        self.acknowledged = 0;
    }

    fn withdraw(&mut self, number: usize) {
        let Some(number) = number.checked_rem(self.known.len()) else {
            return;
        };
        let known = &mut self.known[number];
        if known.is_void {
            // Its request is gone, and nobody else knows the spot.
            return;
        }
        let can_be = known.place == Place::Waiting;
        assert_eq!(self.outbox.withdraw(known.spot), can_be, "frame {number}");
        if can_be {
            known.take_back();
        }
        self.see(if can_be { "withdrawn" } else { "not withdrawn" });
    }

    fn recall(&mut self, lane: usize) {
        let mut recalled = Vec::new();
        let label = lane.to_string();
        self.outbox.recall(
            |message| message.id == label,
            |message| recalled.push(message.request as usize),
        );
        let mut expected = Vec::new();
        for (number, known) in self.known.iter_mut().enumerate() {
            let is_of_lane = known.lane == lane && known.sort == Sort::Message;
            if is_of_lane && known.place == Place::Waiting && !known.is_void {
                known.take_back();
                expected.push(number);
            }
        }
        self.see(if expected.is_empty() {
            "none recalled"
        } else {
            "recalled"
        });
        if lane == 0 {
            recalled.sort_unstable();
        }
        assert_eq!(recalled, expected);
    }

    fn compare(&self) {
        let large = self.known.iter().filter(|known| known.is_held());
        let large: usize = large.map(|known| known.bytes.len()).sum();
        let is_waiting = |known: &Known| known.place == Place::Waiting;
        let waiting = self.ordinary(is_waiting) as usize;
        assert_eq!(self.outbox.waiting(), waiting + large);
        let handed_over = self.ordinary(|known| !is_waiting(known));
        assert_eq!(self.outbox.handed_over(), handed_over);
        assert_eq!(self.outbox.is_empty(), waiting + large == 0);
        let ready = self
            .known
            .iter()
            .filter(|known| !known.is_large() && is_waiting(known));
        assert_eq!(self.outbox.frames, ready.count());
        for known in &self.known {
            if let Spot::Large { token } = known.spot {
                assert_eq!(self.outbox.holds_large(token), known.is_held());
                let is_untouched = known.is_held() && is_waiting(known);
                assert_eq!(self.outbox.is_untouched(token), is_untouched);
            }
        }
    }

    /// How many bytes such ordinary frames have.
    fn ordinary(&self, which: impl Fn(&Known) -> bool) -> u64 {
        let chosen = self
            .known
            .iter()
            .filter(|known| !known.is_large() && which(known));
        chosen.map(|known| known.bytes.len() as u64).sum()
    }

    /// Writes all that waits, as long as it is woken: then everything has arrived that was not taken back.
    fn finish(&mut self) {
        self.acknowledge(u64::MAX);
        while !self.writing.is_empty() || !self.outbox.parked {
            self.write(usize::MAX);
            self.acknowledge(u64::MAX);
        }
        self.compare();
        assert!(self.outbox.is_empty());
        let left = self
            .known
            .iter()
            .position(|known| !known.has_arrived && !known.is_void);
        assert_eq!(left, None, "a frame was forgotten");
    }

    fn see(&mut self, what: &'static str) {
        self.seen.insert(what);
    }
}

impl Known {
    fn is_large(&self) -> bool {
        matches!(self.spot, Spot::Large { .. })
    }

    /// Whether it is in the queue of the large ones: until the connection comes back for more.
    fn is_held(&self) -> bool {
        self.is_large() && self.place != Place::Gone
    }

    fn take_back(&mut self) {
        self.is_void = true;
        if self.is_large() {
            // An ordinary one keeps its place, and travels without a meaning.
            self.place = Place::Gone;
        }
    }

    fn connection_lost(&mut self) {
        if self.place == Place::Gone {
            return;
        }
        self.place = Place::Waiting;
        self.sent = 0;
        if self.sort != Sort::Message {
            self.take_back();
        }
    }
}

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
            message.put(out, [].into_iter());
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
    let size = prop_oneof![8 => 0..100_usize, 2 => PART - 100..PART + 10, 2 => PART..12 * PART];
    let bytes = prop_oneof![Just(usize::MAX), 0..200_usize, 0..3 * PART];
    prop_oneof![
        8 => (lane(), sort, size).prop_map(|(lane, sort, size)| Op::Push { lane, sort, size }),
        6 => bytes.prop_map(Op::Write),
        2 => prop_oneof![Just(u64::MAX), 0..100_000_u64].prop_map(Op::Acknowledge),
        2 => any::<bool>().prop_map(|noticed| Op::Lose { noticed }),
        1 => Just(Op::Leave),
        2 => any::<usize>().prop_map(Op::Withdraw),
        1 => lane().prop_map(|lane| Op::Recall { lane }),
    ]
}

#[test]
fn parts_wait_until_others_have_been_read_and_a_new_connection_begins_anew() {
    let window = PARTS_WINDOW as usize / PART;
    let mut outbox = Outbox::default();
    outbox.push(LaneKey::Shard(1), 1, |out| {
        write_frame(out, 1, 2, Sort::Message, 2 * window * PART);
    });
    let take = |outbox: &mut Outbox| {
        let mut buffer = Vec::new();
        outbox.take(&mut buffer);
        buffer.len()
    };
    for _ in 0..window {
        assert!(take(&mut outbox) > PART);
    }
    assert_eq!((take(&mut outbox), outbox.parked), (0, true));
    assert!(outbox.parts_read(1), "the connection sleeps");
    assert!(!outbox.parts_read(0), "the connection has been woken");
    assert!(take(&mut outbox) > PART);
    assert_eq!(take(&mut outbox), 0);
    outbox.put_back(&[], 0);
    for _ in 0..window {
        assert!(take(&mut outbox) > PART);
    }
    assert_eq!(take(&mut outbox), 0);
    outbox.push(LaneKey::Shard(2), 2, |out| {
        write_frame(out, 2, 3, Sort::Message, 10)
    });
    assert!((1..PART).contains(&take(&mut outbox)), "others do not wait");
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
    outbox.take(&mut buffer);
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
        8 | 9 => Op::Acknowledge(amount as u64 * 1024),
        10 => Op::Acknowledge(u64::MAX),
        11..=13 => Op::Withdraw(amount),
        14.. => Op::Recall {
            lane: amount % LANES.len(),
        },
    }
}
