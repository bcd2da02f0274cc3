//! `PeerWords`: what peers say to each other once they are connected.
//!
//! Both sides say the same kinds of things, whoever dialed. What a call asks and what its answer says is for others to know: here they
//! are bytes.

use std::fmt;

use ostrakon_core::TopologyMessage;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, SeqAccess, Visitor},
};

use crate::Words;

/// From one peer to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerWords {
    /// About who is there.
    Gossip(TopologyMessage),
    /// A request.
    Call {
        /// Its number, given by whoever asks.
        call: u64,
        /// What is asked.
        #[serde(with = "octets")]
        request: Vec<u8>,
    },
    /// The answer to a request.
    Answer {
        /// The number of the request.
        call: u64,
        /// What is answered.
        #[serde(with = "octets")]
        response: Vec<u8>,
    },
}

impl Words for PeerWords {
    /// The largest is one entry of the log, which the consensus limits to 8 MiB; gossip is far shorter.
    const MOST: usize = 9 << 20;
    /// Gossip is a few words each second; a log may be copied at 16 MiB per second.
    const PER_SECOND: Option<u32> = Some(16 << 10);
}

/// Bytes as bytes: one by one, half of them would take two.
mod octets {
    use super::{Deserializer, Error, SeqAccess, Serializer, Visitor, fmt};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        from.deserialize_byte_buf(Octets)
    }

    struct Octets;

    impl<'de> Visitor<'de> for Octets {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
            Ok(bytes)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<u8>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes)
        }
    }
}
