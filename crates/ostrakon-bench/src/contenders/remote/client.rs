//! The client of the hand-written contenders.
//!
//! Callers leave a oneshot in a table and their request in a channel; one task
//! encodes and writes all that is in the channel at once, another reads and
//! answers the oneshots. A stream has a connection of its own and no task at all.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::waiting::Waiting;
use super::wire::{Frames, Kind, Reply, Request, put};
use super::{Address, Body};

/// Requests that wait for the writer.
const QUEUE: usize = 1024;
/// How many of them it takes at a time.
const BATCH: usize = 256;

/// One connection that many callers share.
pub(super) struct Client {
    address: String,
    requests: mpsc::Sender<Outgoing>,
    waiting: Arc<Waiting>,
}

struct Outgoing {
    seq: u64,
    shard: u32,
    id: String,
    kind: Kind,
    body: Body,
}

impl Client {
    pub(super) async fn connect(address: &str) -> Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (incoming, outgoing) = socket.into_split();
        let (requests, queue) = mpsc::channel(QUEUE);
        let waiting = Arc::<Waiting>::default();
        tokio::spawn(write(outgoing, queue));
        tokio::spawn(answer(incoming, waiting.clone()));
        Ok(Self {
            address: address.to_owned(),
            requests,
            waiting,
        })
    }

    pub(super) async fn ask(&self, entity: &Address, body: Body) -> Result<Body> {
        let (seq, answer) = self.waiting.enter();
        self.send(seq, entity, Kind::Ask, body).await?;
        answer.await.context("connection is gone")
    }

    pub(super) async fn tell(&self, entity: &Address, body: Body) -> Result<()> {
        self.send(0, entity, Kind::Tell, body).await
    }

    async fn send(&self, seq: u64, entity: &Address, kind: Kind, body: Body) -> Result<()> {
        let request = Outgoing {
            seq,
            shard: entity.shard,
            id: entity.id.clone(),
            kind,
            body,
        };
        let sent = self.requests.send(request).await;
        sent.ok().context("connection is gone")
    }

    pub(super) async fn stream(
        &self,
        entity: &Address,
        count: u64,
        size: usize,
        mut each: impl FnMut(Body) -> Result<()> + Send,
    ) -> Result<()> {
        let mut socket = TcpStream::connect(&self.address).await?;
        let mut out = Vec::new();
        let pattern = Body::carrying(0, size);
        let request = Request {
            seq: 0,
            shard: entity.shard,
            id: &entity.id,
            kind: Kind::Stream(count),
            body: pattern.bytes(),
        };
        put(&mut out, &request)?;
        socket.write_all(&out).await?;
        let mut frames = Frames::new(socket);
        let mut left = count;
        while left > 0 {
            ensure!(frames.more().await?, "stream ended {left} items early");
            while let Some(frame) = frames.next() {
                let reply: Reply<'_> = postcard::from_bytes(frame)?;
                each(reply.body.to_vec().into())?;
                left -= 1;
            }
        }
        Ok(())
    }
}

async fn write(
    mut socket: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Outgoing>,
) -> Result<()> {
    let mut taken = Vec::with_capacity(BATCH);
    let mut out = Vec::new();
    while queue.recv_many(&mut taken, BATCH).await > 0 {
        for request in taken.drain(..) {
            let request = Request {
                seq: request.seq,
                shard: request.shard,
                id: &request.id,
                kind: request.kind,
                body: request.body.bytes(),
            };
            put(&mut out, &request)?;
        }
        socket.write_all(&out).await?;
        out.clear();
    }
    Ok(())
}

async fn answer(socket: impl AsyncRead + Unpin, waiting: Arc<Waiting>) {
    if let Err(error) = read(socket, &waiting).await {
        eprintln!("connection: {error:#}");
    }
    // Whoever still waits sees the other end of its oneshot go away.
    waiting.close();
}

async fn read(socket: impl AsyncRead + Unpin, waiting: &Waiting) -> Result<()> {
    let mut frames = Frames::new(socket);
    while frames.more().await? {
        while let Some(frame) = frames.next() {
            let reply: Reply<'_> = postcard::from_bytes(frame)?;
            let caller = waiting.leave(reply.seq);
            let caller = caller.context("a reply that nobody asked for")?;
            // The caller may have given up; that is its own affair.
            drop(caller.send(reply.body.to_vec().into()));
        }
    }
    Ok(())
}
