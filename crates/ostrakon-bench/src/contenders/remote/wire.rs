//! The frames of the hand-written contenders: a length of four bytes, then a
//! postcard struct.
//!
//! Decoding borrows from the buffer that was read into; a body is copied once,
//! where it has to outlive that buffer.

use std::future::Future;

use anyhow::Result;
use serde::{Deserialize, Serialize, Serializer};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{TcpListener, TcpStream};

const PREFIX: usize = size_of::<u32>();
/// Room for one read.
const READ: usize = 64 << 10;

/// What a client sends.
#[derive(Serialize, Deserialize)]
pub(super) struct Request<'a> {
    pub(super) seq: u64,
    pub(super) shard: u32,
    pub(super) id: &'a str,
    pub(super) kind: Kind,
    #[serde(serialize_with = "raw")]
    pub(super) body: &'a [u8],
}

/// What is to be done with the body.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum Kind {
    Tell,
    Ask,
    /// Send this many bodies like this one.
    Stream(u64),
}

/// What a server sends.
#[derive(Serialize, Deserialize)]
pub(super) struct Reply<'a> {
    pub(super) seq: u64,
    #[serde(serialize_with = "raw")]
    pub(super) body: &'a [u8],
}

/// As one run of bytes; serde would take them one by one.
fn raw<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// Append one frame.
pub(super) fn put(out: &mut Vec<u8>, message: &impl Serialize) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; PREFIX]);
    postcard::to_io(message, &mut *out)?;
    let length = u32::try_from(out.len() - start - PREFIX)?;
    out[start..start + PREFIX].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Takes frames off a socket, as many at a time as are there.
pub(super) struct Frames<R> {
    socket: R,
    buffer: Vec<u8>,
    used: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(socket: R) -> Self {
        Self {
            socket,
            buffer: Vec::with_capacity(READ),
            used: 0,
        }
    }

    /// Wait for bytes; false when there will be no more.
    pub(super) async fn more(&mut self) -> Result<bool> {
        self.buffer.drain(..self.used);
        self.used = 0;
        self.buffer.reserve(READ);
        Ok(self.socket.read_buf(&mut self.buffer).await? > 0)
    }

    /// The next frame that has arrived whole.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let rest = &self.buffer[self.used..];
        let length = u32::from_le_bytes(*rest.first_chunk()?) as usize;
        let frame = rest.get(PREFIX..PREFIX + length)?;
        self.used += PREFIX + length;
        Some(frame)
    }
}

/// Accept connections and hand each to a task of its own; returns the address.
pub(super) async fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Result<String>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            if let Err(error) = socket.set_nodelay(true) {
                eprintln!("connection: {error}");
                continue;
            }
            let session = serve(socket);
            tokio::spawn(async move {
                // The client sees its connection close and fails there.
                if let Err(error) = session.await {
                    eprintln!("connection: {error:#}");
                }
            });
        }
    });
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(count: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for seq in 0..count {
            let body = &[seq as u8; 32];
            put(&mut out, &Reply { seq, body }).unwrap();
        }
        out
    }

    #[tokio::test]
    async fn frames_that_arrive_in_pieces_come_out_whole_and_in_order() {
        let bytes = frames(3);
        let (head, tail) = bytes.split_at(50);
        let mut frames = Frames::new(head.chain(tail));
        let mut seen = Vec::new();
        while frames.more().await.unwrap() {
            while let Some(frame) = frames.next() {
                let reply: Reply<'_> = postcard::from_bytes(frame).unwrap();
                seen.push((reply.seq, reply.body[31]));
            }
        }
        assert_eq!(seen, [(0, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn a_small_request_is_about_sixty_bytes() {
        let mut out = Vec::new();
        let request = Request {
            seq: 200,
            shard: 200,
            id: "entity-000000001",
            kind: Kind::Ask,
            body: &[0; 32],
        };
        put(&mut out, &request).unwrap();
        assert_eq!(out.len(), 59);
    }
}
