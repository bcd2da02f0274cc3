//! What an outbox holds back while the lease is over.
//!
//! What an entity sends is entered here when it is put in, which happens within a poll that the lease allowed, or, for what has waited in a
//! lane that was being mended, later and in the entity's name (see `Origin` in `link/parcel.rs`). Right before a batch is taken
//! to be written the lease is looked at once more: if it is over, the frames of entities, and what must stay behind them, are moved among
//! the large ones, which wait and keep their order; the rest goes. They go when the lease is extended, or are dropped when the
//! node has lost its shards. So nothing that an entity has said is written after the deadline, except the rest of a batch
//! that the other side was too slow to take: that is as if the network had been slow, which nobody can prevent.

use std::collections::BTreeSet;

use super::{LaneKey, Large, Outbox};
use crate::{
    lease::is_acting_here,
    link::frame::{self, Frame},
};

#[derive(Default)]
pub(super) struct Acts {
    /// Among the frames that are ready.
    ready: Vec<Act>,
    /// Among those that were taken last.
    taken: Vec<Act>,
    pub(super) held_back: bool,
}

/// A frame of an entity, or one that may have to stay behind such a frame.
#[derive(Clone, Copy)]
struct Act {
    start: u64,
    lane: LaneKey,
    token: u64,
    of_entity: bool,
}

impl Acts {
    /// A frame was put among those that are ready.
    pub(super) fn note(&mut self, start: u64, lane: LaneKey, token: u64) {
        let of_entity = is_acting_here();
        if of_entity || (!self.ready.is_empty() && lane != LaneKey::None) {
            self.ready.push(Act {
                start,
                lane,
                token,
                of_entity,
            });
        }
    }

    pub(super) fn are_none_ready(&self) -> bool {
        self.ready.is_empty()
    }

    /// All that is ready was taken.
    pub(super) fn taken(&mut self) {
        self.taken.clear();
        std::mem::swap(&mut self.taken, &mut self.ready);
    }

    /// What was taken and begins there or later is ready again.
    pub(super) fn put_back(&mut self, base: u64) {
        self.taken.retain(|act| act.start >= base);
        self.taken.append(&mut self.ready);
        std::mem::swap(&mut self.taken, &mut self.ready);
    }
}

impl Outbox {
    /// The lease is over: what is taken next is not of entities.
    #[cold]
    pub(crate) fn hold_back(&mut self) {
        self.acts.held_back = true;
        let mut behind = BTreeSet::new();
        // Whatever is ready was put in before all large ones of its lane; one that is on its way is of another lane.
        let mut place = self.large.iter().take_while(|large| large.sent > 0).count();
        for act in std::mem::take(&mut self.acts.ready) {
            if !act.of_entity && !behind.contains(&act.lane) {
                continue;
            }
            if act.lane != LaneKey::None {
                behind.insert(act.lane);
            }
            let frame = &mut self.ready[(act.start - self.base) as usize..];
            let length = frame::length(frame).unwrap_or(frame.len());
            let whole = frame[..length].to_vec();
            // It may have been withdrawn.
            if !is_void(&whole) {
                frame::make_void(frame);
                let held = Large {
                    lane: act.lane,
                    frame: whole,
                    sent: 0,
                    token: act.token,
                    start: Some(act.start),
                    of_entity: act.of_entity,
                };
                self.enter_large(place, held);
                place += 1;
            }
        }
    }

    /// While the lease is over, others need not wait behind what entities have put in, except on the same lane.
    pub(super) fn bring_to_front(&mut self) {
        let is_on_its_way = self.large.front().is_some_and(|large| large.sent > 0);
        if !self.acts.held_back || is_on_its_way {
            return;
        }
        let mut behind = BTreeSet::new();
        let free = self.large.iter().position(|large| {
            let waits = large.of_entity || behind.contains(&large.lane);
            if waits && large.lane != LaneKey::None {
                behind.insert(large.lane);
            }
            !waits
        });
        if let Some(large) = free.and_then(|place| self.large.remove(place)) {
            self.large.push_front(large);
        }
    }

    /// The lease lasts: everything goes.
    pub(crate) fn let_go(&mut self) {
        self.acts.held_back = false;
    }

    /// The shards are lost: what their entities have put in and has not begun to go out is dropped.
    pub(crate) fn drop_acts(&mut self) {
        self.hold_back();
        self.large
            .retain(|large| large.sent > 0 || !large.of_entity);
        self.count_large();
    }
}

pub(super) fn is_void(frame: &[u8]) -> bool {
    matches!(Frame::read(frame::body(frame)), Ok(Frame::Void))
}

#[cfg(test)]
mod tests {
    use ostrakon_core::{EntityId, Time};

    use super::*;
    use crate::{
        lease::{Lease, Who},
        link::{
            frame::{Addressee, NewMessage},
            inbox::Inbox,
            outbox::Spot,
        },
    };

    const LANE: LaneKey = LaneKey::Shard(1);
    const NOTHING: [u64; 0] = [];

    /// A sign that can be told from others.
    fn put(outbox: &mut Outbox, lane: LaneKey, number: u64) -> Spot {
        outbox.push(lane, number, |out| frame::put_ping(out, number))
    }

    /// The same by an entity.
    fn act(outbox: &mut Outbox, lane: LaneKey, number: u64) -> Spot {
        by_entity(|| put(outbox, lane, number))
    }

    /// A large message.
    fn put_large(outbox: &mut Outbox, lane: LaneKey, number: u64) -> Spot {
        let message = NewMessage {
            request: number,
            to: Addressee::Actor,
            kind: "room",
            id: "hall",
            remaining: 0,
            options: &[],
            payload: &[7; 100_000],
        };
        outbox.push(lane, number, |out| message.put(out, &[]))
    }

    /// Does something as an entity would whose lease can end.
    fn by_entity<T>(work: impl FnOnce() -> T) -> T {
        let lease = Lease::for_ever();
        lease.end();
        let id = EntityId::new("lobby").expect("a valid id");
        let acting = lease.goes_on(|| Who::Entity("room", id));
        let done = work();
        drop(acting);
        done
    }

    /// What goes out next, by number.
    fn taken(outbox: &mut Outbox) -> Vec<u64> {
        let mut all = Vec::new();
        loop {
            let mut buffer = Vec::new();
            outbox.take_all(&mut buffer, || Time::ZERO);
            if buffer.is_empty() {
                return read(&all);
            }
            all.append(&mut buffer);
        }
    }

    fn read(bytes: &[u8]) -> Vec<u64> {
        let mut inbox = Inbox::new(1024 * 1024);
        let mut numbers = Vec::new();
        for some in bytes.chunks(4096) {
            inbox.space().put_slice(some);
            inbox.filled(some.len());
        }
        while let Some(range) = inbox.next().expect("good frames") {
            let frame = Frame::read(inbox.bytes(range.clone())).expect("good");
            if let Frame::Part { last, bytes } = frame {
                let part = range.end - bytes.len()..range.end;
                let whole = inbox.part(part, last).expect("a good part");
                let frame = whole.as_deref().map(frame::body).map(Frame::read);
                numbers.extend(frame.and_then(|frame| number(&frame.expect("good"))));
            } else {
                numbers.extend(number(&frame));
            }
        }
        numbers
    }

    fn number(frame: &Frame<'_>) -> Option<u64> {
        if let Frame::Ping { token } = frame {
            Some(*token)
        } else if let Frame::Message(message) = frame {
            Some(message.request)
        } else {
            None
        }
    }

    #[test]
    fn what_entities_say_waits_for_the_lease_and_the_rest_does_not() {
        let mut outbox = Outbox::default();
        put(&mut outbox, LaneKey::None, 1);
        act(&mut outbox, LaneKey::None, 2);
        put(&mut outbox, LaneKey::None, 3);
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), [1, 3]);
        put(&mut outbox, LaneKey::None, 4);
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), [4]);
        outbox.let_go();
        assert_eq!(taken(&mut outbox), [2]);
    }

    #[test]
    fn what_entities_say_is_not_written_before_the_lease_was_looked_at() {
        let mut outbox = Outbox {
            parked: true,
            ..Outbox::default()
        };
        act(&mut outbox, LANE, 1);
        assert_eq!(outbox.alone(), None);
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), NOTHING);
        put(&mut outbox, LANE, 2);
        assert_eq!(outbox.alone(), None, "it waits behind the entity's");
    }

    #[test]
    fn while_the_lease_lasts_all_goes_in_order() {
        let mut outbox = Outbox::default();
        put(&mut outbox, LANE, 1);
        act(&mut outbox, LANE, 2);
        put(&mut outbox, LANE, 3);
        outbox.let_go();
        assert_eq!(taken(&mut outbox), [1, 2, 3]);
    }

    #[test]
    fn what_comes_behind_it_on_its_lane_stays_there() {
        let mut outbox = Outbox::default();
        put(&mut outbox, LANE, 1);
        act(&mut outbox, LANE, 2);
        put(&mut outbox, LANE, 3);
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), [1]);
        put(&mut outbox, LANE, 4);
        put(&mut outbox, LaneKey::Shard(2), 5);
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), [5]);
        outbox.let_go();
        assert_eq!(taken(&mut outbox), [2, 3, 4]);
    }

    #[test]
    fn what_is_held_stays_before_what_is_large_on_its_lane() {
        let mut outbox = Outbox::default();
        act(&mut outbox, LANE, 1);
        act(&mut outbox, LANE, 2);
        by_entity(|| put_large(&mut outbox, LANE, 3));
        put_large(&mut outbox, LANE, 4);
        put(&mut outbox, LANE, 5);
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), NOTHING);
        outbox.let_go();
        assert_eq!(taken(&mut outbox), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_is_large_on_other_lanes_does_not_wait_for_the_lease() {
        let mut outbox = Outbox::default();
        by_entity(|| put_large(&mut outbox, LANE, 1));
        put_large(&mut outbox, LaneKey::Shard(2), 2);
        put_large(&mut outbox, LANE, 3);
        act(&mut outbox, LaneKey::None, 4);
        put_large(&mut outbox, LaneKey::None, 5);
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), [2, 5]);
        outbox.let_go();
        assert_eq!(taken(&mut outbox), [4, 1, 3]);
    }

    #[test]
    fn what_is_held_can_be_taken_back() {
        let mut outbox = Outbox::default();
        let [early, late] = [1, 2].map(|number| act(&mut outbox, LANE, number));
        assert!(outbox.withdraw(early));
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), NOTHING);
        assert!(outbox.withdraw(late));
        outbox.let_go();
        assert_eq!(taken(&mut outbox), NOTHING);
    }

    #[test]
    fn what_the_lost_entities_said_is_dropped_and_what_waited_behind_it_goes() {
        let mut outbox = Outbox::default();
        act(&mut outbox, LANE, 1);
        put(&mut outbox, LANE, 2);
        outbox.hold_back();
        assert_eq!(taken(&mut outbox), NOTHING);
        act(&mut outbox, LaneKey::None, 3);
        outbox.drop_acts();
        assert_eq!(taken(&mut outbox), [2]);
        outbox.let_go();
        assert_eq!(taken(&mut outbox), NOTHING);
    }

    #[test]
    fn what_was_taken_and_not_sent_is_held_when_it_is_ready_again() {
        let mut outbox = Outbox::default();
        let message = NewMessage {
            request: 0,
            to: Addressee::Actor,
            kind: "room",
            id: "hall",
            remaining: 0,
            options: &[],
            payload: &[],
        };
        by_entity(|| outbox.push(LANE, 1, |out| message.put(out, &[])));
        let mut buffer = Vec::new();
        outbox.take(&mut buffer, || Time::ZERO);
        outbox.put_back(&buffer, 0);
        outbox.hold_back();
        let mut again = Vec::new();
        outbox.take(&mut again, || Time::ZERO);
        assert!(is_void(&again), "it is not of this batch");
        outbox.let_go();
        let mut at_last = Vec::new();
        outbox.take(&mut at_last, || Time::ZERO);
        assert!(frame::is_part(&at_last));
    }
}
