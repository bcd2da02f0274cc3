//! The limit for a system with mailboxes: framed TCP, a task per entity, and a
//! task that writes all answers that are ready.
//!
//! The client is that of `limit`; only the server differs.

use std::sync::Arc;

use anyhow::{Result, bail};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::client::Client;
use super::mailbox::{Answer, Mail, Mailboxes};
use super::wire::{self, Frames, Kind, Reply, Request, put};
use super::{Address, Body, Remote, plain};
use crate::measure::Link;

/// Answers that wait for the writer.
const QUEUE: usize = 1024;
/// How many of them it takes at a time.
const BATCH: usize = 256;

/// Framed TCP, handled by a task per entity.
pub(crate) struct Framed(Client);

impl Remote for Framed {
    type Host = ();

    async fn serve(link: Link) -> Result<(String, ())> {
        plain(link)?;
        let mailboxes = Arc::new(Mailboxes::open());
        let address = wire::listen(move |socket| session(socket, mailboxes.clone())).await?;
        Ok((address, ()))
    }

    async fn connect(address: &str, link: Link) -> Result<Self> {
        plain(link)?;
        Ok(Self(Client::connect(address).await?))
    }

    async fn ask(&self, entity: &Address, body: Body) -> Result<Body> {
        self.0.ask(entity, body).await
    }

    async fn tell(&self, entity: &Address, body: Body) -> Result<()> {
        self.0.tell(entity, body).await
    }
}

async fn session(socket: TcpStream, mailboxes: Arc<Mailboxes>) -> Result<()> {
    let (incoming, outgoing) = socket.into_split();
    let (replies, queue) = mpsc::channel(QUEUE);
    tokio::spawn(write(outgoing, queue));
    let mut frames = Frames::new(incoming);
    while frames.more().await? {
        while let Some(frame) = frames.next() {
            let request: Request<'_> = postcard::from_bytes(frame)?;
            let reply = match request.kind {
                Kind::Tell => None,
                Kind::Ask => Some((request.seq, replies.clone())),
                Kind::Stream(_) => bail!("has no streams"),
            };
            let body = request.body.to_vec().into();
            mailboxes.deliver(request.id, Mail { body, reply }).await?;
        }
    }
    Ok(())
}

async fn write(
    mut socket: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Answer>,
) -> Result<()> {
    let mut taken = Vec::with_capacity(BATCH);
    let mut out = Vec::new();
    while queue.recv_many(&mut taken, BATCH).await > 0 {
        for Answer { seq, body } in taken.drain(..) {
            let body = body.bytes();
            put(&mut out, &Reply { seq, body })?;
        }
        socket.write_all(&out).await?;
        out.clear();
    }
    Ok(())
}
