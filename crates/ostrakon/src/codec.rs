//! How messages become bytes and bytes become messages.
//!
//! A codec is an enum and not a trait, because it is generic over the message and still chosen at
//! run time. It knows nothing of envelopes, frames or connections.
//!
//! Invariant: bytes from a peer are never trusted. Whatever they hold, decoding ends in a value or
//! in a [`CodecError`]; it neither overflows the stack nor allocates much more than it was sent.

use std::any::type_name;
use std::fmt::{self, Display};
use std::io;

use ostrakon_core::NodeName;
use rmp_serde::decode::Error as MessagePackError;
use serde::Deserialize as _;

use crate::entity::{Cause, Payload};
use crate::schema::schema_hash;

/// How deep a message may nest, as in serde's JSON.
const MAX_DEPTH: usize = 128;

/// The encoding of messages, replies and snapshots.
///
/// JSON and MessagePack have one null: `Some(None)` and `Some(())` come back as `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Field and variant names travel along, so a type may evolve while old and new nodes run
    /// side by side: fields with a default (or of type `Option`) can come and go, variants can be
    /// added. An old node answers a variant it does not know with [`CodecError::Decode`].
    #[default]
    MessagePack,
    /// The most compact. Only bare values travel, behind a hash of the type's definition, so
    /// sender and receiver need exactly the same one; any other ends in
    /// [`CodecError::SchemaMismatch`].
    ///
    /// Not for types with `skip_serializing_if`: a skipped field shifts all that follow.
    Postcard,
    /// Readable, for gateways and tools.
    Json,
}

impl Codec {
    /// The codec's name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MessagePack => "MessagePack",
            Self::Postcard => "Postcard",
            Self::Json => "JSON",
        }
    }

    /// The number that stands for this codec on the wire; it never changes.
    pub const fn id(self) -> u8 {
        match self {
            Self::MessagePack => 1,
            Self::Postcard => 2,
            Self::Json => 3,
        }
    }

    /// The codec with this number, if this version knows it.
    pub const fn from_id(id: u8) -> Option<Self> {
        match id {
            1 => Some(Self::MessagePack),
            2 => Some(Self::Postcard),
            3 => Some(Self::Json),
            _ => None,
        }
    }

    /// Encodes `value` into a new buffer.
    pub fn encode<T: Payload>(self, value: &T) -> Result<Vec<u8>, CodecError> {
        // Room for a small message, so that most need one allocation.
        let mut out = Vec::with_capacity(128);
        self.encode_into(value, &mut out)?;
        Ok(out)
    }

    /// Appends the encoded `value` to `out`, which stays as it was if that fails.
    pub fn encode_into<T: Payload>(self, value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let start = out.len();
        let done = match self {
            Self::MessagePack => {
                rmp_serde::encode::write_named(out, value).map_err(|e| self.unencodable::<T>(e))
            }
            Self::Postcard => encode_postcard(value, out),
            Self::Json => {
                serde_json::to_writer(&mut *out, value).map_err(|e| self.unencodable::<T>(e))
            }
        };
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    /// Decodes a value that takes up all of `bytes`. A `Deserialize` that panics is an error like any other: others may depend on the
    /// thread on which it does.
    pub fn decode<T: Payload>(self, bytes: &[u8]) -> Result<T, CodecError> {
        let decoded = Cause::catch(|| match self {
            Self::MessagePack => decode_message_pack(bytes),
            Self::Postcard => decode_postcard(bytes),
            Self::Json => decode_json(bytes),
        });
        decoded.unwrap_or_else(|panic| Err(self.undecodable::<T>(panic)))
    }

    fn unencodable<T>(self, cause: impl Display) -> CodecError {
        CodecError::Encode {
            codec: self,
            type_name: type_name::<T>(),
            cause: cause.to_string(),
        }
    }

    fn undecodable<T>(self, cause: impl Display) -> CodecError {
        CodecError::Decode {
            codec: self,
            type_name: type_name::<T>(),
            cause: cause.to_string(),
        }
    }

    fn trailing<T>(self) -> CodecError {
        CodecError::TrailingBytes {
            codec: self,
            type_name: type_name::<T>(),
        }
    }
}

impl Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a value could not be encoded or decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The codec cannot express this value, or its `Serialize` failed.
    #[error(
        "`{type_name}` cannot be encoded as {codec}: {cause}; \
         change the type or choose another codec for it"
    )]
    Encode {
        /// The codec in use.
        codec: Codec,
        /// The type to encode.
        type_name: &'static str,
        /// What the encoder reported.
        cause: String,
    },
    /// The bytes do not hold a value of this type.
    #[error(
        "the received {codec} is no `{type_name}`: {cause}; \
         check that sender and receiver have compatible versions of this type"
    )]
    Decode {
        /// The codec in use.
        codec: Codec,
        /// The type to decode.
        type_name: &'static str,
        /// What the decoder reported.
        cause: String,
    },
    /// A value was decoded but did not take up all the bytes.
    #[error(
        "the received {codec} goes on after the end of a `{type_name}`; \
         check that sender and receiver have compatible versions of this type"
    )]
    TrailingBytes {
        /// The codec in use.
        codec: Codec,
        /// The type to decode.
        type_name: &'static str,
    },
    /// The sender encoded another definition of this type with Postcard, which cannot bridge it.
    #[error(
        "the sender has a different version of `{type_name}` \
         (schema {found:016x}, here {expected:016x}); \
         run the same version on both nodes, or use MessagePack for types that evolve"
    )]
    SchemaMismatch {
        /// The type to decode.
        type_name: &'static str,
        /// The schema hash of this node's definition.
        expected: u64,
        /// The schema hash the sender put in.
        found: u64,
    },
    /// The other node could not encode or decode; this is what it said.
    #[error("on `{node}`: {cause}")]
    Remote {
        /// The node.
        node: NodeName,
        /// What it said.
        cause: String,
    },
    /// Postcard cannot carry this type, because its definition cannot be checked on both sides.
    #[error("`{type_name}` cannot travel as Postcard: {cause}; use MessagePack for this type")]
    Schema {
        /// The type in question.
        type_name: &'static str,
        /// What stands in the way.
        cause: String,
    },
}

impl CodecError {
    pub(crate) fn remote(node: &NodeName, cause: &str) -> Self {
        Self::Remote {
            node: node.clone(),
            cause: cause.to_owned(),
        }
    }
}

fn decode_message_pack<T: Payload>(bytes: &[u8]) -> Result<T, CodecError> {
    let codec = Codec::MessagePack;
    refuse_deep_nesting(bytes).map_err(|cause| codec.undecodable::<T>(cause))?;
    let mut decoder = rmp_serde::Deserializer::from_read_ref(bytes);
    decoder.set_max_depth(MAX_DEPTH);
    let value = T::deserialize(&mut decoder).map_err(|e| codec.undecodable::<T>(e))?;
    // The decoder does not say where it stands, but at the end it finds no further marker.
    match <()>::deserialize(&mut decoder) {
        Err(MessagePackError::InvalidMarkerRead(e)) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Ok(value)
        }
        _ => Err(codec.trailing::<T>()),
    }
}

/// The decoder counts the depth of arrays and maps but not of enums, so a few bytes per level
/// could overflow the stack of whoever reads a recursive enum. Anything malformed passes: the
/// decoder stops there with a better message.
fn refuse_deep_nesting(bytes: &[u8]) -> Result<(), &'static str> {
    // Every level of enums takes two bytes, so a short message cannot nest too deep.
    if bytes.len() <= 2 * MAX_DEPTH {
        return Ok(());
    }
    let mut left = [0_u64; MAX_DEPTH];
    let mut depth = 0;
    let mut rest = bytes;
    left[0] = 1;
    loop {
        while left[depth] == 0 {
            if depth == 0 {
                return Ok(());
            }
            depth -= 1;
        }
        left[depth] -= 1;
        let Some((children, after)) = skip_header(rest) else {
            return Ok(());
        };
        rest = after;
        if children > 0 {
            depth += 1;
            *left.get_mut(depth).ok_or("it nests too deep")? = children;
        }
    }
}

/// Skips a MessagePack marker with its scalar content; returns how many values it contains and
/// what follows.
fn skip_header(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&marker, rest) = bytes.split_first()?;
    let (children, rest) = match marker {
        0x80..=0x8f => return Some((2 * u64::from(marker & 0x0f), rest)),
        0x90..=0x9f => return Some((u64::from(marker & 0x0f), rest)),
        0xa0..=0xbf => (0, rest.get(usize::from(marker & 0x1f)..)?),
        0xc4 | 0xd9 => (0, skip_counted(rest, 1, 0)?),
        0xc5 | 0xda => (0, skip_counted(rest, 2, 0)?),
        0xc6 | 0xdb => (0, skip_counted(rest, 4, 0)?),
        0xc7 => (0, skip_counted(rest, 1, 1)?),
        0xc8 => (0, skip_counted(rest, 2, 1)?),
        0xc9 => (0, skip_counted(rest, 4, 1)?),
        0xcc | 0xd0 => (0, rest.get(1..)?),
        0xcd | 0xd1 | 0xd4 => (0, rest.get(2..)?),
        0xd5 => (0, rest.get(3..)?),
        0xca | 0xce | 0xd2 => (0, rest.get(4..)?),
        0xd6 => (0, rest.get(5..)?),
        0xcb | 0xcf | 0xd3 => (0, rest.get(8..)?),
        0xd7 => (0, rest.get(9..)?),
        0xd8 => (0, rest.get(17..)?),
        0xdc => read_count(rest, 2)?,
        0xdd => read_count(rest, 4)?,
        0xde => read_count(rest, 2).map(|(pairs, rest)| (2 * pairs, rest))?,
        0xdf => read_count(rest, 4).map(|(pairs, rest)| (2 * pairs, rest))?,
        0x00..=0x7f | 0xc0..=0xc3 | 0xe0..=0xff => (0, rest),
    };
    Some((children, rest))
}

fn skip_counted(bytes: &[u8], width: usize, extra: usize) -> Option<&[u8]> {
    let (count, rest) = read_count(bytes, width)?;
    rest.get(usize::try_from(count).ok()?.checked_add(extra)?..)
}

fn read_count(bytes: &[u8], width: usize) -> Option<(u64, &[u8])> {
    let (count, rest) = bytes.split_at_checked(width)?;
    let count = count.iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
    Some((count, rest))
}

fn encode_postcard<T: Payload>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    out.extend_from_slice(&schema_hash::<T>()?.to_le_bytes());
    match postcard::to_io(value, out) {
        Ok(_) => Ok(()),
        Err(e) => Err(Codec::Postcard.unencodable::<T>(e)),
    }
}

fn decode_postcard<T: Payload>(bytes: &[u8]) -> Result<T, CodecError> {
    let codec = Codec::Postcard;
    let expected = schema_hash::<T>()?;
    let (found, bytes) = bytes
        .split_first_chunk()
        .ok_or_else(|| codec.undecodable::<T>("it is too short for a schema hash"))?;
    let found = u64::from_le_bytes(*found);
    if found != expected {
        return Err(CodecError::SchemaMismatch {
            type_name: type_name::<T>(),
            expected,
            found,
        });
    }
    match postcard::take_from_bytes(bytes).map_err(|e| codec.undecodable::<T>(e))? {
        (value, []) => Ok(value),
        _ => Err(codec.trailing::<T>()),
    }
}

fn decode_json<T: Payload>(bytes: &[u8]) -> Result<T, CodecError> {
    let codec = Codec::Json;
    let mut decoder = serde_json::Deserializer::from_slice(bytes);
    let value = T::deserialize(&mut decoder).map_err(|e| codec.undecodable::<T>(e))?;
    decoder.end().map_err(|_| codec.trailing::<T>())?;
    Ok(value)
}

#[cfg(test)]
mod tests;
