//! Bytes in, frames out: the same ones, however the bytes were cut on their way, and never more memory than allowed.

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::link::{
    campaign::Campaign,
    frame::{Frame, PART},
};

/// The most that messages may have in these tests.
const LIMIT: usize = 1000;

/// Reads a stream of bytes as a connection does.
pub(in crate::link) struct Receiver {
    inbox: Inbox,
    /// How many bytes of parts have come.
    pub(in crate::link) parts: u64,
}

impl Receiver {
    pub(in crate::link) fn new(limit: usize) -> Self {
        let (inbox, parts) = (Inbox::new(limit), 0);
        Self { inbox, parts }
    }

    /// Takes all of `bytes`, at most `chunk` at a time, and hands every whole frame to `arrived`, without its length.
    pub(in crate::link) fn receive(
        &mut self,
        mut bytes: &[u8],
        chunk: usize,
        mut arrived: impl FnMut(&[u8]),
    ) -> Result<(), BadFrame> {
        while !bytes.is_empty() {
            let mut space = self.inbox.space();
            assert!(space.remaining() > 0, "no room looks like the end");
            let (now, later) = bytes.split_at(bytes.len().min(chunk).min(space.remaining()));
            space.put_slice(now);
            self.inbox.filled(now.len());
            bytes = later;
            while let Some(range) = self.inbox.next()? {
                let frame = Frame::read(self.inbox.bytes(range.clone()))?;
                let Frame::Part { last, bytes } = frame else {
                    arrived(self.inbox.bytes(range));
                    continue;
                };
                let length = bytes.len();
                self.parts += length as u64;
                if let Some(whole) = self.inbox.part(range.end - length..range.end, last)? {
                    Frame::read(frame::body(&whole))?;
                    arrived(frame::body(&whole));
                }
            }
            assert!(self.inbox.buffer.len() <= LARGEST);
            assert!(self.inbox.assembling.len() <= self.inbox.limit + MOST);
        }
        Ok(())
    }
}

/// What comes of `stream` if it arrives in such chunks.
fn frames(stream: &[u8], chunk: usize) -> (Vec<Vec<u8>>, Result<(), BadFrame>) {
    let mut frames = Vec::new();
    let mut receiver = Receiver::new(LIMIT);
    let result = receiver.receive(stream, chunk, |frame| frames.push(frame.to_vec()));
    (frames, result)
}

/// Answers of these lengths: as they are, or in parts if those that are large.
fn stream(lengths: &[usize]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut stream, mut whole) = (Vec::new(), Vec::new());
    for (n, &length) in lengths.iter().enumerate() {
        let mut one = Vec::new();
        frame::put_answer(&mut one, n as u64, &vec![n as u8; length]);
        if one.len() <= PART {
            stream.extend_from_slice(&one);
        } else {
            let count = one.len().div_ceil(PART);
            for (part, bytes) in one.chunks(PART).enumerate() {
                frame::put_part(&mut stream, bytes, part + 1 == count);
                // Others may travel between parts.
                frame::put_ping(&mut stream, part as u64);
                whole.push(vec![14, part as u8]);
            }
        }
        // It is whole only with its last part, and before the ping that follows that.
        let place = if one.len() <= PART {
            whole.len()
        } else {
            whole.len() - 1
        };
        whole.insert(place, frame::body(&one).to_vec());
    }
    (stream, whole)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_are_the_same_however_the_bytes_are_cut(
        lengths in vec(prop_oneof![8 => 0..200_usize, 2 => 10_000..66_000_usize], 0..12),
        chunk in prop_oneof![1..20_usize, 1000..300_000_usize],
    ) {
        let (stream, expected) = stream(&lengths);
        let (frames, result) = frames(&stream, chunk);
        prop_assert_eq!(result, Ok(()));
        prop_assert!(frames == expected);
    }

    #[test]
    fn any_bytes_give_the_same_frames_and_the_same_end_however_they_are_cut(
        bytes in vec(prop_oneof![0_u8..3, any::<u8>()], 0..400),
        chunk in 1..50_usize,
    ) {
        prop_assert_eq!(frames(&bytes, chunk), frames(&bytes, usize::MAX));
    }
}

#[test]
fn a_frame_that_is_too_long_is_refused_when_only_its_length_is_known() {
    let mut inbox = Inbox::new(LIMIT);
    for (length, expected) in [
        (MOST - 4, Ok(None)),
        (MOST - 3, Err(BadFrame::TooLong { length: MOST + 1 })),
        (
            u32::MAX as usize,
            Err(BadFrame::TooLong {
                length: u32::MAX as usize + 4,
            }),
        ),
    ] {
        inbox.space().put_slice(&(length as u32).to_le_bytes());
        inbox.filled(4);
        assert_eq!(inbox.next(), expected);
        assert_eq!(inbox.buffer.capacity(), SMALLEST);
        (inbox.start, inbox.end) = (0, 0);
    }
}

#[test]
fn the_longest_frame_arrives_also_when_it_does_not_begin_the_buffer() {
    let mut longest = Vec::new();
    frame::put_answer(&mut longest, 1, &[5; MOST - 6]);
    assert_eq!(longest.len(), MOST);
    let mut stream = Vec::new();
    for n in 0..10 {
        frame::put_ping(&mut stream, n);
        stream.extend_from_slice(&longest);
    }
    let (frames, result) = frames(&stream, 7777);
    assert_eq!((frames.len(), result), (20, Ok(())));
    assert!(
        frames
            .iter()
            .skip(1)
            .step_by(2)
            .all(|frame| frame == frame::body(&longest))
    );
}

#[test]
fn a_message_in_parts_is_refused_as_soon_as_it_is_longer_than_allowed() {
    let mut receiver = Receiver::new(LIMIT);
    let mut part = Vec::new();
    frame::put_part(&mut part, &[0; 1000], false);
    // The limit, and room for what comes on top: 66 parts fit.
    for _ in 0..66 {
        assert_eq!(receiver.receive(&part, 300, |_| ()), Ok(()));
    }
    let refused = BadFrame::LongMessage {
        length: 67_000,
        limit: LIMIT,
    };
    assert_eq!(receiver.receive(&part, 300, |_| ()), Err(refused));
    assert_eq!(receiver.inbox.assembling.len(), 66_000);
}

#[test]
fn parts_that_make_no_frame_are_refused() {
    let mut answer = Vec::new();
    frame::put_answer(&mut answer, 1, b"an answer");
    let mut nested = Vec::new();
    frame::put_part(&mut nested, &answer, true);
    let one_more = [&answer[..], b"!"].concat();
    let one_less = &answer[..answer.len() - 1];
    for whole in [&one_more[..], one_less, &answer[..3], &[], &nested] {
        let mut stream = Vec::new();
        frame::put_part(&mut stream, whole, true);
        let expected = (Vec::new(), Err(BadFrame::Truncated));
        assert_eq!(frames(&stream, 1), expected, "{whole:?}");
    }
    let mut stream = Vec::new();
    frame::put_part(&mut stream, &answer, true);
    assert_eq!(
        frames(&stream, 1),
        (vec![frame::body(&answer).to_vec()], Ok(()))
    );
}

/// The bounded campaign of `cargo test`, the long one of `cargo xtask fuzz --only inbox`.
#[test]
fn campaign_of_the_inbox() {
    let mut short = vec![3];
    frame::put_ping(&mut short, 1);
    frame::put_goodbye(&mut short, "bye");
    let mut parts = vec![9];
    let mut answer = Vec::new();
    frame::put_answer(&mut answer, 300, b"in two");
    frame::put_part(&mut parts, &answer[..7], false);
    frame::put_part(&mut parts, &answer[7..], true);
    Campaign::run("inbox", 5_000, vec![short, parts], check);
}

/// The first byte says how the others are cut. Says how many frames came, of which kind the last was, and how it ended.
fn check(input: &[u8]) -> (usize, Option<u8>, String) {
    let (chunk, stream) = input.split_first().unwrap_or((&0, &[]));
    let outcome = frames(stream, usize::from(*chunk) + 1);
    assert_eq!(outcome, frames(stream, usize::MAX));
    let (frames, end) = outcome;
    assert!(frames.iter().map(Vec::len).sum::<usize>() <= stream.len());
    let last = frames.last().map(|frame| frame[0].min(17));
    // Lengths do not make an outcome a new one.
    let end = format!("{end:?}").replace(|c: char| c.is_ascii_digit(), "");
    (frames.len().min(3), last, end)
}
