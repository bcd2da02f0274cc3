//! `Model`: an outbox beside what is known of every frame that was ever pushed, and where it is.

use std::collections::BTreeSet;

use super::*;

/// What can happen to an outbox.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Push {
        lane: usize,
        sort: Sort,
        size: usize,
    },
    /// Pushes a message, of which its sender writes so many bytes if it may.
    Send {
        lane: usize,
        size: usize,
        bytes: usize,
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
pub(super) enum Sort {
    Message,
    Answer,
    Fence,
}

pub(super) const LANES: [LaneKey; 5] = [
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

pub(super) struct Model {
    outbox: Outbox,
    known: Vec<Known>,
    writing: Vec<u8>,
    written: usize,
    /// The ordinary frames in `writing`, in order.
    taken: Vec<usize>,
    /// A sender has written a part of its frame, and the connection has not taken the rest.
    has_begun: bool,
    receiver: Receiver,
    acknowledged: u64,
    /// What has been seen to happen, for the campaign.
    pub(super) seen: BTreeSet<&'static str>,
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            outbox: Outbox::default(),
            known: Vec::new(),
            writing: Vec::new(),
            written: 0,
            taken: Vec::new(),
            has_begun: false,
            receiver: Receiver::new(1 << 20),
            acknowledged: 0,
            seen: BTreeSet::new(),
        }
    }

    pub(super) fn perform(&mut self, op: &Op) {
        match *op {
            Op::Push { lane, sort, size } => {
                self.push(lane, sort, size);
                self.outbox.parked = false;
            }
            Op::Send { lane, size, bytes } => {
                self.push(lane, Sort::Message, size);
                self.outbox.parked &= self.send_alone(bytes);
            }
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

    /// The sender of the newest frame writes it. `false`: as the link does then, the connection's task is woken.
    fn send_alone(&mut self, bytes: usize) -> bool {
        let Some(frame) = self.outbox.alone().map(<[u8]>::to_vec) else {
            return false;
        };
        self.notice_written();
        assert!(self.writing.is_empty(), "the connection writes, too");
        let number = self.known.len() - 1;
        assert!(frame == self.known[number].bytes, "it is not alone");
        let now = &frame[..frame.len().min(bytes)];
        if now.is_empty() {
            self.see("no room to send alone");
            return self.outbox.sent_alone(0);
        }
        self.all_has_gone();
        self.known[number].place = Place::Taken;
        self.taken.push(number);
        self.receive(now);
        let is_all = self.outbox.sent_alone(now.len());
        assert_eq!(is_all, now.len() == frame.len());
        if is_all {
            self.see("sent alone");
            self.all_has_gone();
        } else {
            self.see("begun alone");
            self.has_begun = true;
        }
        is_all
    }

    fn write(&mut self, bytes: usize) {
        self.notice_written();
        if self.writing.is_empty() {
            if self.outbox.parked {
                // Its task sleeps until it is woken.
                return;
            }
            self.take(|outbox, buffer| outbox.take(buffer, || Time::ZERO));
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
                self.take(|outbox, buffer| outbox.take_all(buffer, || Time::ZERO));
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
        let now = now.to_vec();
        self.receive(&now);
    }

    fn receive(&mut self, now: &[u8]) {
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

    fn take(&mut self, take: fn(&mut Outbox, &mut Vec<u8>) -> usize) {
        let has_begun = std::mem::take(&mut self.has_begun);
        if !has_begun {
            self.all_has_gone();
        }
        self.written = take(&mut self.outbox, &mut self.writing);
        assert_eq!(self.written > 0, has_begun);
        if has_begun {
            self.see("the rest");
            return;
        }
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
            front.sent = front.bytes.len().min(front.sent + SLICE);
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
        // The window grows by no more than what was read.
        assert!(on_their_way <= PartsWindow::SMALLEST + self.acknowledged + SLICE as u64);
    }

    fn acknowledge(&mut self, bytes: u64) {
        let bytes = bytes.min(self.receiver.parts - self.acknowledged);
        if bytes == 0 {
            return;
        }
        self.acknowledged += bytes;
        if self.outbox.parts_read(bytes, Time::ZERO) {
            assert!(!self.outbox.parked, "told twice");
            self.see("woken");
        }
    }

    fn lose(&mut self, noticed: bool) {
        if noticed {
            self.notice_written();
        }
        if std::mem::take(&mut self.has_begun) {
            self.notice_written();
            self.written = self.outbox.take_begun(&mut self.writing);
            assert!(self.written > 0);
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
        let nothing_waits = waiting + large == 0 && !self.has_begun;
        assert_eq!(self.outbox.is_empty(), nothing_waits);
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
    pub(super) fn finish(&mut self) {
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
