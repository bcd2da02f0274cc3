//! `Part`: a piece of a snapshot on its way, and `Arriving`, what has come of one.
//!
//! A snapshot may be much larger than a heartbeat may be late, so it travels in pieces that others can overtake.

use std::fmt;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::MOST_SNAPSHOT;
use crate::type_config::{SnapshotMeta, Vote};

/// A piece of the snapshot that this vote's leader sends.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) vote: Vote,
    pub(crate) meta: SnapshotMeta,
    /// How large the whole is.
    pub(crate) total: usize,
    /// Where this piece begins.
    pub(crate) offset: usize,
    pub(crate) bytes: Bytes,
}

/// Bytes that are written as such, and not one number after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// What has come of a snapshot so far.
#[derive(Debug, Default)]
pub(crate) struct Arriving {
    of: Option<(Vote, SnapshotMeta, usize)>,
    bytes: Vec<u8>,
}

/// What a part was good for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    More,
    Complete(Vec<u8>),
    Unfit,
}

impl Arriving {
    /// A first part begins anew, whatever came before.
    pub(crate) fn take(&mut self, part: &Part) -> Fit {
        let of = (part.vote, part.meta.clone(), part.total);
        if part.offset == 0 {
            (self.of, self.bytes) = (Some(of.clone()), Vec::new());
        }
        let end = part.offset.saturating_add(part.bytes.0.len());
        let fits = self.of.as_ref() == Some(&of)
            && part.offset == self.bytes.len()
            && end <= part.total
            && part.total <= MOST_SNAPSHOT;
        if !fits {
            *self = Self::default();
            return Fit::Unfit;
        }
        self.bytes.extend_from_slice(&part.bytes.0);
        match self.bytes.len() == part.total {
            true => Fit::Complete(std::mem::take(self).bytes),
            false => Fit::More,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.offset + self.bytes.0.len();
        write!(f, "snapshot {}..{end} of {}", self.offset, self.total)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_byte_buf(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes(bytes.to_owned()))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
        Ok(Bytes(bytes))
    }

    /// Text formats know no bytes.
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Bytes, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        Ok(Bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;

    fn part(term: u64, offset: usize, bytes: &[u8]) -> Part {
        Part {
            vote: Vote::new_committed(term, 1),
            meta: SnapshotMeta::default(),
            total: 5,
            offset,
            bytes: Bytes(bytes.to_owned()),
        }
    }

    #[test]
    fn parts_in_order_are_the_whole() {
        let mut arriving = Arriving::default();
        assert_eq!(arriving.take(&part(1, 0, b"ab")), Fit::More);
        assert_eq!(arriving.take(&part(1, 2, b"cd")), Fit::More);
        assert_eq!(
            arriving.take(&part(1, 4, b"e")),
            Fit::Complete(b"abcde".into())
        );
        assert_eq!(arriving.take(&part(1, 4, b"e")), Fit::Unfit);
    }

    #[test]
    fn a_first_part_begins_anew() {
        let mut arriving = Arriving::default();
        assert_eq!(arriving.take(&part(1, 0, b"xy")), Fit::More);
        assert_eq!(arriving.take(&part(1, 0, b"abc")), Fit::More);
        assert_eq!(
            arriving.take(&part(1, 3, b"de")),
            Fit::Complete(b"abcde".into())
        );
    }

    #[test]
    fn what_does_not_follow_is_not_taken() {
        let strays = [
            part(1, 1, b"b"),
            part(1, 3, b"d"),
            part(2, 2, b"c"),
            part(1, 2, b"cdef"),
        ];
        for stray in strays {
            let mut arriving = Arriving::default();
            assert_eq!(arriving.take(&part(1, 0, b"ab")), Fit::More);
            assert_eq!(arriving.take(&stray), Fit::Unfit, "{stray}");
            assert_eq!(arriving.take(&part(1, 2, b"cde")), Fit::Unfit);
        }
    }

    #[test]
    fn what_is_announced_as_too_large_is_not_begun() {
        let mut large = part(1, 0, b"ab");
        large.total = MOST_SNAPSHOT + 1;
        assert_eq!(Arriving::default().take(&large), Fit::Unfit);
    }

    #[test]
    fn bytes_take_no_more_room_than_they_have() {
        let bytes = Bytes(vec![200; 1000]);
        let encoded = codec::encode(&bytes).unwrap();
        assert!(encoded.len() < 1010, "{}", encoded.len());
        assert_eq!(codec::decode::<Bytes>(&encoded).unwrap(), bytes);
    }
}
