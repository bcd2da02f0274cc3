//! What every message between processes carries, in both directions.
//!
//! A number that proves whose answer an answer is, padded to the size that is
//! measured. Encoded as one run of bytes by every codec, so that no contender
//! pays for a list of single bytes.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::contenders::Counter;

const NUMBER: usize = size_of::<u64>();

/// A number and padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body(Vec<u8>);

impl Body {
    /// `size` bytes, of which eight are the number.
    pub(crate) fn carrying(number: u64, size: usize) -> Self {
        let mut bytes = vec![0x5A; size.max(NUMBER)];
        bytes[..NUMBER].copy_from_slice(&number.to_le_bytes());
        Self(bytes)
    }

    pub(crate) fn number(&self) -> u64 {
        number_in(&self.0)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// How an entity of the remote group handles a body.
impl Counter {
    pub(crate) fn add_body(&mut self, told: &[u8]) {
        self.add(number_in(told));
    }

    /// An answer as long as the question.
    pub(crate) fn answer_body(&mut self, asked: &[u8]) -> Body {
        Body::carrying(self.answer(number_in(asked)), asked.len())
    }
}

/// A body too short to carry a number was mangled on its way: no answer to it
/// will be the expected one.
fn number_in(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(u64::MAX, |number| u64::from_le_bytes(*number))
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<Body> for Vec<u8> {
    fn from(body: Body) -> Self {
        body.0
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Body;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Body, E> {
        Ok(Body(bytes.to_vec()))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Body, E> {
        Ok(Body(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_as_long_as_its_question_and_counts_the_tells() {
        let mut counter = Counter::default();
        counter.add_body(Body::carrying(3, 32).bytes());
        let answer = counter.answer_body(Body::carrying(4, 100).bytes());
        assert_eq!((answer.number(), answer.len()), (7, 100));
    }

    #[test]
    fn a_body_survives_its_codec_and_costs_two_bytes_more() {
        let body = Body::carrying(9, 4096);
        let encoded = postcard::to_stdvec(&body).unwrap();
        assert_eq!(encoded.len(), 4096 + 2);
        assert_eq!(postcard::from_bytes::<Body>(&encoded).unwrap(), body);
    }
}
