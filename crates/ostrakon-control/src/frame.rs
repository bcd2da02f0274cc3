//! Frames: a length of four bytes, then so many bytes of MessagePack with named fields.

use std::io;

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The largest frame: the whole state of a cluster of 10,000 nodes and some 100,000 shards fits in.
pub const MOST: usize = 64 << 20;
/// How deep values may be nested; ours are flat.
const MOST_DEPTH: usize = 64;

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

pub(crate) async fn write<T: Serialize>(
    wire: &mut (impl AsyncWrite + Unpin),
    value: &T,
) -> Result<(), FrameError> {
    let bytes =
        rmp_serde::to_vec_named(value).map_err(|error| FrameError::Unreadable(error.to_string()))?;
    let (size, most) = (bytes.len(), MOST);
    if size > most {
        return Err(FrameError::TooLarge { size, most });
    }
    // Fits: it is less than 64 MiB.
    let length = u32::try_from(size).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(size + 4);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&bytes);
    wire.write_all(&frame).await?;
    wire.flush().await?;
    Ok(())
}

pub(crate) async fn read<T: DeserializeOwned>(
    wire: &mut (impl AsyncRead + Unpin),
    most: usize,
) -> Result<T, FrameError> {
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
    let mut text = rmp_serde::Deserializer::from_read_ref(&bytes);
    text.set_max_depth(MOST_DEPTH);
    T::deserialize(&mut text).map_err(|error| FrameError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_written_is_read_back() {
        let mut wire = Vec::new();
        write(&mut wire, &("hello", 7)).await.unwrap();
        let back: (String, u32) = read(&mut wire.as_slice(), MOST).await.unwrap();
        assert_eq!(back, ("hello".to_owned(), 7));
    }

    #[tokio::test]
    async fn a_frame_that_is_too_large_is_refused_before_it_is_read() {
        let announced = u32::MAX.to_be_bytes();
        let read = read::<String>(&mut announced.as_slice(), 1000).await;
        assert!(matches!(read, Err(FrameError::TooLarge { most: 1000, .. })));
    }

    #[tokio::test]
    async fn half_a_frame_is_no_frame() {
        let mut wire = Vec::new();
        write(&mut wire, &"hello").await.unwrap();
        wire.pop();
        let read = read::<String>(&mut wire.as_slice(), MOST).await;
        assert!(matches!(read, Err(FrameError::Broken(_))));
    }

    #[tokio::test]
    async fn garbage_is_unreadable() {
        let wire = [0, 0, 0, 2, 0xC1, 0xC1];
        let read = read::<String>(&mut wire.as_slice(), MOST).await;
        assert!(matches!(read, Err(FrameError::Unreadable(_))));
    }
}
