//! `Outbox`: what waits to be written to one node, in order.
//!
//! Senders append whole frames; the connection takes all that is ready and writes it at once. Large frames wait apart and travel
//! in parts between the others, so that a small one never waits for more than a few of those; what must stay behind a large one
//! (the same lane, the same stream) waits with it. Nothing here knows sockets.
//!
//! Positions count the bytes of the ordinary frames since the link began: a frame that begins before
//! [`Outbox::handed_over`] may have reached the other side, one that begins there or later has not.

mod held;
mod parts_window;

use std::collections::{BTreeMap, VecDeque, btree_map::Entry};

use ostrakon_core::Time;

use self::{held::Acts, parts_window::PartsWindow};
use super::frame::{self, PART, RequestId};
use crate::lease::is_acting_here;

/// A frame that has this much is sent in parts.
const LARGE: usize = PART;
/// What a frame has besides its payload, nearly always.
const ROOM_FOR_FIELDS: usize = 256;
/// How much of a large frame goes out at a time: what a small one that comes meanwhile waits for (decision 025).
const SLICE: usize = 16 * 1024;

#[derive(Default)]
pub(crate) struct Outbox {
    ready: Vec<u8>,
    /// The position of the first byte of `ready`.
    base: u64,
    large: VecDeque<Large>,
    large_bytes: usize,
    /// How many of the large ones each lane has.
    behind: BTreeMap<LaneKey, usize>,
    window: PartsWindow,
    /// Which of the frames come from entities whose lease can end.
    acts: Acts,
    /// The frame that its sender has begun to write, and how much of it has gone out. The connection writes the rest before all else.
    begun: Vec<u8>,
    begun_written: usize,
    /// The connection has found nothing to write and wants to be woken.
    pub(crate) parked: bool,
    /// How many frames `ready` holds.
    pub(crate) frames: usize,
    /// How many askers were answered since something was last sent: they are likely to send something next.
    pub(crate) answered: usize,
}

struct Large {
    lane: LaneKey,
    frame: Vec<u8>,
    sent: usize,
    token: u64,
    /// Where it began, if it was put among the ordinary frames.
    start: Option<u64>,
    /// An entity has put it in, and its lease can end.
    of_entity: bool,
}

impl Large {
    fn is_at(&self, spot: Spot) -> bool {
        match spot {
            Spot::Ordinary { start } => self.start == Some(start),
            Spot::Large { token } => self.token == token,
        }
    }
}

/// What must stay in order among large and small frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LaneKey {
    /// Nothing: an answer, a sign.
    None,
    Shard(u64),
    /// All messages to actors.
    Actors,
    Stream(u64),
}

/// Where a frame has been put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Among the ordinary frames; it begins at this position.
    Ordinary { start: u64 },
    /// Among the large ones, under this token.
    Large { token: u64 },
}

impl Outbox {
    /// How many bytes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len() + self.large_bytes
    }

    /// Everything that begins before this may have been sent.
    pub(crate) fn handed_over(&self) -> u64 {
        self.base
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.large.is_empty() && self.begun.is_empty()
    }

    /// Forgets the ordinary frames if all of them have been taken back: nobody needs a connection for those. Only while nothing is being
    /// written, for positions go on from there.
    pub(crate) fn forget_void(&mut self) {
        let mut messages = 0;
        self.each_frame(|frame| messages += usize::from(!held::is_void(frame)));
        if messages == 0 {
            self.base += self.ready.len() as u64;
            self.ready.clear();
            self.frames = 0;
            self.acts.taken();
        }
    }

    /// Where a frame with a payload of `size` bytes will be, unless its other fields make it large.
    pub(crate) fn expected_spot(&self, lane: LaneKey, token: u64, size: usize) -> Spot {
        if size <= LARGE && !self.waits_behind_large(lane) {
            let start = self.base + self.ready.len() as u64;
            return Spot::Ordinary { start };
        }
        Spot::Large { token }
    }

    /// Puts in the frame that `write` writes.
    pub(crate) fn push(
        &mut self,
        lane: LaneKey,
        token: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Spot {
        let start = self.ready.len();
        write(&mut self.ready);
        let length = self.ready.len() - start;
        if length <= LARGE && !self.waits_behind_large(lane) {
            self.frames += 1;
            let start = self.base + start as u64;
            self.acts.note(start, lane, token);
            return Spot::Ordinary { start };
        }
        let frame = self.ready.split_off(start);
        self.push_large(lane, token, frame)
    }

    /// Puts in a frame with a payload of `size` bytes; a large one is written where it stays.
    pub(crate) fn push_sized(
        &mut self,
        lane: LaneKey,
        token: u64,
        size: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Spot {
        if size <= LARGE {
            return self.push(lane, token, write);
        }
        let mut frame = Vec::with_capacity(size + ROOM_FOR_FIELDS);
        write(&mut frame);
        self.push_large(lane, token, frame)
    }

    #[cold]
    fn push_large(&mut self, lane: LaneKey, token: u64, frame: Vec<u8>) -> Spot {
        let large = Large {
            lane,
            frame,
            sent: 0,
            token,
            start: None,
            of_entity: is_acting_here(),
        };
        self.enter_large(self.large.len(), large);
        Spot::Large { token }
    }

    fn enter_large(&mut self, place: usize, large: Large) {
        self.large_bytes += large.frame.len();
        *self.behind.entry(large.lane).or_default() += 1;
        self.large.insert(place, large);
    }

    fn waits_behind_large(&self, lane: LaneKey) -> bool {
        lane != LaneKey::None && self.behind.contains_key(&lane)
    }

    /// The frame that was just put in, if the connection is at rest, nobody is expected to send something along with it, and no entity has
    /// sent it whose lease can end: then its sender may write it.
    pub(crate) fn alone(&self) -> Option<&[u8]> {
        let is_alone =
            self.parked && self.frames == 1 && self.acts.are_none_ready() && self.answered <= 1;
        is_alone.then_some(&self.ready)
    }

    /// The sender of the frame that is alone has written so many bytes of it. `false`: the connection has to write the rest.
    pub(crate) fn sent_alone(&mut self, bytes: usize) -> bool {
        debug_assert!(self.alone().is_some() && bytes <= self.ready.len());
        if bytes == 0 {
            return false;
        }
        let is_all = bytes == self.ready.len();
        self.base += self.ready.len() as u64;
        self.frames = 0;
        self.answered = 0;
        if is_all {
            self.ready.clear();
        } else {
            std::mem::swap(&mut self.begun, &mut self.ready);
            self.begun_written = bytes;
        }
        is_all
    }

    /// Takes the frame that its sender has begun to write into the empty `buffer`, and says how much of it has gone out.
    pub(crate) fn take_begun(&mut self, buffer: &mut Vec<u8>) -> usize {
        debug_assert!(buffer.is_empty());
        std::mem::swap(buffer, &mut self.begun);
        std::mem::take(&mut self.begun_written)
    }

    /// Takes what is to be written next into the empty `buffer`: all that is ready, and one part of a large frame. What was taken before
    /// has been written completely. Returns how much of it has gone out already: nothing, unless its sender has begun to write it.
    ///
    /// `now` is asked only for parts.
    pub(crate) fn take(&mut self, buffer: &mut Vec<u8>, now: impl FnOnce() -> Time) -> usize {
        debug_assert!(buffer.is_empty());
        if !self.begun.is_empty() {
            self.parked = false;
            return self.take_begun(buffer);
        }
        self.drop_finished();
        self.base += self.ready.len() as u64;
        self.frames = 0;
        self.acts.taken();
        std::mem::swap(buffer, &mut self.ready);
        if !self.large.is_empty() {
            self.take_part(buffer, now);
        }
        self.parked = buffer.is_empty();
        0
    }

    /// Takes a part of the first large frame, if one may go.
    #[inline(never)]
    fn take_part(&mut self, buffer: &mut Vec<u8>, now: impl FnOnce() -> Time) {
        self.bring_to_front();
        if let Some(large) = self.large.front_mut()
            && self.window.has_room()
            && !(self.acts.held_back && large.of_entity)
        {
            let end = (large.sent + SLICE).min(large.frame.len());
            let part = &large.frame[large.sent..end];
            frame::put_part(buffer, part, end == large.frame.len());
            self.window.sent(part.len(), now());
            large.sent = end;
        }
    }

    /// Takes what is to be written next, however much of it is unread: these are the last words.
    pub(crate) fn take_all(&mut self, buffer: &mut Vec<u8>, now: impl FnOnce() -> Time) -> usize {
        self.window = PartsWindow::default();
        self.take(buffer, now)
    }

    fn drop_finished(&mut self) {
        if let Some(large) = self.large.front()
            && large.sent == large.frame.len()
        {
            let lane = large.lane;
            self.large_bytes -= large.frame.len();
            self.large.pop_front();
            self.one_fewer(lane);
        }
    }

    #[inline(never)]
    fn one_fewer(&mut self, lane: LaneKey) {
        if let Entry::Occupied(mut count) = self.behind.entry(lane) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// After several large frames have gone at once.
    fn count_large(&mut self) {
        self.large_bytes = self.large.iter().map(|large| large.frame.len()).sum();
        self.behind.clear();
        for large in &self.large {
            *self.behind.entry(large.lane).or_default() += 1;
        }
    }

    /// The other side has read parts. `true`: the connection should look again.
    pub(crate) fn parts_read(&mut self, bytes: u64, now: Time) -> bool {
        self.window.read(bytes, now);
        !self.large.is_empty() && std::mem::replace(&mut self.parked, false)
    }

    /// Whether this large frame has not been sent to its end.
    pub(crate) fn holds_large(&self, token: u64) -> bool {
        self.large.iter().any(|large| large.token == token)
    }

    /// Whether nothing of this large frame has been sent.
    pub(crate) fn is_untouched(&self, token: u64) -> bool {
        let mut large = self.large.iter();
        large.any(|large| large.token == token && large.sent == 0)
    }

    /// The connection is lost: `buffer` is what it was writing, of which `written` bytes have gone out. Messages that have not gone
    /// out completely wait for the next connection; everything else was of that connection only.
    pub(crate) fn put_back(&mut self, buffer: &[u8], written: usize) {
        if written == buffer.len() {
            self.drop_finished();
        }
        for large in &mut self.large {
            large.sent = 0;
        }
        self.large.retain(|large| frame::is_message(&large.frame));
        self.count_large();
        self.window = PartsWindow::default();
        let unsent = unsent(buffer, written);
        // Parts are sent again from their whole, and positions must stay what they were.
        let unsent = &unsent[..ordinary(unsent)];
        let mut ready = unsent.to_vec();
        self.base -= ready.len() as u64;
        self.acts.put_back(self.base);
        ready.append(&mut self.ready);
        self.ready = ready;
        self.keep_only_messages();
        self.parked = false;
    }

    fn keep_only_messages(&mut self) {
        let mut frames = 0;
        self.each_frame(|frame| {
            frames += 1;
            if !frame::is_message(frame) {
                frame::make_void(frame);
            }
        });
        self.frames = frames;
    }

    fn each_frame(&mut self, mut visit: impl FnMut(&mut [u8])) {
        let mut rest = &mut self.ready[..];
        while let Some(length) = frame::length(rest) {
            let (frame, after) = rest.split_at_mut(length);
            visit(frame);
            rest = after;
        }
    }

    /// What is asked for by the message at this spot, if it is there.
    pub(crate) fn requests_at(&self, spot: Spot) -> Vec<RequestId> {
        let held = self.large.iter().find(|large| large.is_at(spot));
        let frame = match (held, spot) {
            (Some(large), _) => Some(&large.frame[..]),
            (None, Spot::Ordinary { start }) => start
                .checked_sub(self.base)
                .and_then(|start| self.ready.get(start as usize..)),
            (None, Spot::Large { .. }) => None,
        };
        let whole = frame.and_then(|frame| frame.get(..frame::length(frame)?));
        match whole.map(|whole| frame::Frame::read(frame::body(whole))) {
            Some(Ok(frame::Frame::Message(message))) => {
                message.ports().map(|tag| tag.request).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes a frame back that has not gone out. `false`: it may have.
    pub(crate) fn withdraw(&mut self, spot: Spot) -> bool {
        match (self.large.iter().position(|large| large.is_at(spot)), spot) {
            (None, Spot::Ordinary { start }) => {
                let Some(start) = start.checked_sub(self.base) else {
                    return false;
                };
                frame::make_void(&mut self.ready[start as usize..]);
                true
            }
            (place, _) => {
                let Some(place) = place.filter(|&place| self.large[place].sent == 0) else {
                    return false;
                };
                if let Some(large) = self.large.remove(place) {
                    self.large_bytes -= large.frame.len();
                    self.one_fewer(large.lane);
                }
                true
            }
        }
    }

    /// Takes back every message that has not gone out and that `wanted` wants, in order, and hands it to `take`.
    pub(crate) fn recall(
        &mut self,
        mut wanted: impl FnMut(&frame::Message<'_>) -> bool,
        mut take: impl FnMut(&frame::Message<'_>),
    ) {
        let mut look = |bytes: &[u8]| {
            let Ok(frame::Frame::Message(message)) = frame::Frame::read(frame::body(bytes)) else {
                return false;
            };
            let wanted = wanted(&message);
            if wanted {
                take(&message);
            }
            wanted
        };
        self.each_frame(|frame| {
            if look(frame) {
                frame::make_void(frame);
            }
        });
        self.large
            .retain(|large| large.sent > 0 || !look(&large.frame));
        self.count_large();
    }
}

/// The frames in `buffer` that have not gone out completely.
fn unsent(buffer: &[u8], written: usize) -> &[u8] {
    let mut start = 0;
    while let Some(length) = frame::length(&buffer[start..]) {
        if start + length > written {
            break;
        }
        start += length;
    }
    &buffer[start..]
}

/// How many of these bytes are ordinary frames; a part, if there is one, comes last.
fn ordinary(frames: &[u8]) -> usize {
    let mut end = 0;
    while let Some(length) = frame::length(&frames[end..]) {
        if frame::is_part(&frames[end..]) {
            break;
        }
        end += length;
    }
    end
}

#[cfg(test)]
mod tests;
