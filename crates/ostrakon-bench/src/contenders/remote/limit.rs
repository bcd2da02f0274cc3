//! The limit with many messages in flight: the task that reads a connection
//! handles each message itself and answers a whole read with one write.
//!
//! No mailbox and no task per entity, so no hop between tasks on the server; what
//! a system with mailboxes pays on top is `framed`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::client::Client;
use super::wire::{self, Frames, Kind, Reply, Request, put};
use super::{Address, Body, Remote, plain};
use crate::contenders::Counter;
use crate::measure::Link;

/// A stream is written in pieces of about this many bytes.
const PIECE: usize = 64 << 10;

/// Framed TCP, handled where it is read.
pub(crate) struct Limit(Client);

type Entities = HashMap<String, Counter>;

impl Remote for Limit {
    type Host = ();

    async fn serve(link: Link) -> Result<(String, ())> {
        plain(link)?;
        let entities = Address::all().map(|address| (address.id, Counter::default()));
        let entities = Arc::new(Mutex::new(entities.collect::<Entities>()));
        let address = wire::listen(move |socket| session(socket, entities.clone())).await?;
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

    async fn stream(
        &self,
        entity: &Address,
        count: u64,
        size: usize,
        each: impl FnMut(Body) -> Result<()> + Send,
    ) -> Result<()> {
        self.0.stream(entity, count, size, each).await
    }
}

async fn session(socket: TcpStream, entities: Arc<Mutex<Entities>>) -> Result<()> {
    let (incoming, mut outgoing) = socket.into_split();
    let mut frames = Frames::new(incoming);
    let mut out = Vec::new();
    while frames.more().await? {
        let mut stream = None;
        {
            let mut entities = entities.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some(frame) = frames.next() {
                let request: Request<'_> = postcard::from_bytes(frame)?;
                let counter = entities.get_mut(request.id).context("no such entity")?;
                match request.kind {
                    Kind::Tell => counter.add_body(request.body),
                    Kind::Ask => {
                        let answer = counter.answer_body(request.body);
                        let body = answer.bytes();
                        let seq = request.seq;
                        put(&mut out, &Reply { seq, body })?;
                    }
                    Kind::Stream(count) => stream = Some((count, request.body.len())),
                }
            }
        }
        if let Some((count, size)) = stream {
            send(&mut outgoing, count, size).await?;
        }
        outgoing.write_all(&out).await?;
        out.clear();
    }
    Ok(())
}

async fn send(outgoing: &mut (impl AsyncWriteExt + Unpin), count: u64, size: usize) -> Result<()> {
    let mut out = Vec::new();
    for number in 0..count {
        let item = Body::carrying(number, size);
        let body = item.bytes();
        put(&mut out, &Reply { seq: 0, body })?;
        if out.len() >= PIECE {
            outgoing.write_all(&out).await?;
            out.clear();
        }
    }
    Ok(outgoing.write_all(&out).await?)
}
