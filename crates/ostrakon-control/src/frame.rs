//! Frames: a length of four bytes, then so many bytes of MessagePack with named fields.

use std::{fmt::Write, io, marker::PhantomData, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The largest frame: the whole state of a cluster of 10,000 nodes and some 100,000 shards fits in.
pub const MOST: usize = 64 << 20;
/// How deep values may be nested; ours are flat.
const MOST_DEPTH: usize = 64;
/// How much of what others say is repeated in an error.
const MOST_QUOTED: usize = 200;

/// Why a frame could not be read or written. The connection is of no more use.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// More than one frame may hold.
    #[error("a frame of {size} bytes is announced, and at most {most} are allowed")]
    TooLarge {
        /// What was announced.
        size: usize,
        /// What is allowed.
        most: usize,
    },
    /// Not what we understand.
    #[error("it says something unreadable: {0}")]
    Unreadable(String),
}

/// Words that have been made a frame, once for everybody who shall hear them. Cheap to clone.
pub struct Framed<Out> {
    bytes: Arc<[u8]>,
    words: PhantomData<fn(&Out)>,
}

impl<Out> Clone for Framed<Out> {
    fn clone(&self) -> Self {
        Self {
            bytes: Arc::clone(&self.bytes),
            words: PhantomData,
        }
    }
}

impl<Out: Serialize> Framed<Out> {
    /// Makes a frame.
    pub fn new(words: &Out) -> Result<Self, FrameError> {
        let words = rmp_serde::to_vec_named(words);
        let words = words.map_err(|error| FrameError::Unreadable(quoted(&error)))?;
        let (size, most) = (words.len(), MOST);
        let length = u32::try_from(size).ok().filter(|_| size <= most);
        let length = length.ok_or(FrameError::TooLarge { size, most })?;
        let mut bytes = Vec::with_capacity(size + 4);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&words);
        Ok(Self {
            bytes: bytes.into(),
            words: PhantomData,
        })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes it takes on the wire.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

pub(crate) async fn write<T: Serialize>(
    wire: &mut (impl AsyncWrite + Unpin),
    value: &T,
) -> Result<(), FrameError> {
    write_framed(wire, &Framed::new(value)?).await
}

pub(crate) async fn write_framed<T>(
    wire: &mut (impl AsyncWrite + Unpin),
    frame: &Framed<T>,
) -> Result<(), FrameError> {
    wire.write_all(&frame.bytes).await?;
    wire.flush().await?;
    Ok(())
}

pub(crate) async fn read<T: DeserializeOwned>(
    wire: &mut (impl AsyncRead + Unpin),
    most: usize,
) -> Result<T, FrameError> {
    decode(&read_bytes(wire, most).await?)
}

/// What is in the next frame.
pub(crate) async fn read_bytes(
    wire: &mut (impl AsyncRead + Unpin),
    most: usize,
) -> Result<Vec<u8>, FrameError> {
    let size = wire.read_u32().await? as usize;
    if size > most {
        return Err(FrameError::TooLarge { size, most });
    }
    let mut bytes = Vec::new();
    // Grows with what really comes, not with what was announced.
    let read = wire.take(size as u64).read_to_end(&mut bytes).await?;
    if read < size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(bytes)
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    let mut text = rmp_serde::Deserializer::from_read_ref(bytes);
    text.set_max_depth(MOST_DEPTH);
    T::deserialize(&mut text).map_err(|error| FrameError::Unreadable(quoted(&error)))
}

/// What somebody else has said, or what quotes it, so that it does no harm in a log: short, and on one line.
pub(crate) fn quoted(words: &impl ToString) -> String {
    let words = words.to_string();
    let mut rest = words.chars();
    let beginning = rest.by_ref().take(MOST_QUOTED);
    let mut quoted: String = beginning
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if rest.next().is_some() {
        // Into a string: it cannot fail.
        let _ = write!(quoted, "… ({} bytes)", words.len());
    }
    quoted
}

#[cfg(test)]
mod tests;
