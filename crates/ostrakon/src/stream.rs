//! Streaming replies: many answers to one ask, at the consumer's pace.
//!
//! The handler gets a [`StreamReply`], the asker an [`EntityStream`]. The channel between them is bounded: a slow consumer
//! slows the producer. Either side may go away; the other learns it. A stream is complete only when the producer
//! says so with [`StreamReply::finish`], so that an entity that died in the middle is not taken for one that was done.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use futures_util::StreamExt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::mpsc;

use crate::{
    Codec, CodecError, Payload, StreamError,
    wire::{self, ItemsPort, Port},
};

/// How many items may wait for the consumer.
const WINDOW: usize = 16;

/// What travels on a stream's channel.
pub(crate) enum Item<T> {
    Next(T),
    Broken(CodecError),
    End,
}

/// Produces the items of one streaming ask. It may be moved into [`Context::spawn`](crate::Context::spawn), so that the entity handles other messages meanwhile.
pub struct StreamReply<T: Payload>(Target<T>);

enum Target<T: Payload> {
    Nobody,
    Here(mpsc::Sender<Item<T>>),
    There(ItemsPort),
}

/// The consumer of a stream has gone away. There is nobody to send to; stop producing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the consumer of the stream has gone away")]
pub struct ConsumerGone;

impl<T: Payload> StreamReply<T> {
    /// A stream reply that nobody reads: put it into a message that is told.
    pub fn ignored() -> Self {
        Self(Target::Nobody)
    }

    /// A producer and its consumer.
    pub(crate) fn channel() -> (Self, EntityStream<T>) {
        let (items, receiver) = mpsc::channel(WINDOW);
        (Self(Target::Here(items)), EntityStream::new(receiver))
    }

    /// Sends one item; waits while the consumer is behind.
    pub async fn send(&self, item: T) -> Result<(), ConsumerGone> {
        let sent = match &self.0 {
            Target::Nobody => return Err(ConsumerGone),
            Target::Here(items) => items.send(Item::Next(item)).await.is_ok(),
            Target::There(port) => {
                let item = match port.codec.encode(&item) {
                    Ok(bytes) => Item::Next(bytes),
                    Err(error) => Item::Broken(error),
                };
                port.items.send(item).await.is_ok()
            }
        };
        if sent { Ok(()) } else { Err(ConsumerGone) }
    }

    /// Says that the stream is complete.
    pub async fn finish(self) {
        // A consumer that has gone away needs no ending.
        match self.0 {
            Target::Nobody => {}
            Target::Here(items) => drop(items.send(Item::End).await),
            Target::There(port) => drop(port.items.send(Item::End).await),
        }
    }

    /// Waits until the consumer goes away.
    pub async fn closed(&self) {
        match &self.0 {
            Target::Nobody => {}
            Target::Here(items) => items.closed().await,
            Target::There(port) => port.items.closed().await,
        }
    }

    /// Sends every item of `source`, then finishes. When the consumer goes away `source` is dropped at once, also in the middle of a wait.
    pub async fn forward(self, source: impl Stream<Item = T> + Send) {
        let mut source = std::pin::pin!(source);
        loop {
            let next = tokio::select! {
                biased;
                () = self.closed() => return,
                next = source.next() => next,
            };
            match next {
                Some(item) => {
                    if self.send(item).await.is_err() {
                        return;
                    }
                }
                None => return self.finish().await,
            }
        }
    }
}

impl<T: Payload> Clone for StreamReply<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Target::Nobody => Target::Nobody,
            Target::Here(items) => Target::Here(items.clone()),
            Target::There(port) => Target::There(port.clone()),
        })
    }
}

impl<T: Payload> Serialize for StreamReply<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = match &self.0 {
            Target::Nobody => None,
            Target::Here(items) => Some(wire::export(|codec| {
                Port::Items(decoding(items.clone(), codec))
            })?),
            Target::There(port) => Some(wire::export(|_| Port::Items(port.clone()))?),
        };
        place.serialize(serializer)
    }
}

impl<'de, T: Payload> Deserialize<'de> for StreamReply<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(place) = Option::<u32>::deserialize(deserializer)? else {
            return Ok(Self::ignored());
        };
        match wire::import(place)? {
            None => Ok(Self::ignored()),
            Some(Port::Items(port)) => Ok(Self(Target::There(port))),
            Some(Port::Answer(_)) => Err(serde::de::Error::custom(
                "the message has a reply where a stream reply is expected",
            )),
        }
    }
}

/// A port whose items are decoded again and passed on to `consumer`, at the consumer's pace.
fn decoding<T: Payload>(consumer: mpsc::Sender<Item<T>>, codec: Codec) -> ItemsPort {
    let (items, mut encoded) = mpsc::channel::<Item<Vec<u8>>>(1);
    tokio::spawn(async move {
        loop {
            let item = tokio::select! {
                biased;
                () = consumer.closed() => return,
                item = encoded.recv() => item,
            };
            let item = match item {
                None => return,
                Some(Item::End) => Item::End,
                Some(Item::Broken(error)) => Item::Broken(error),
                Some(Item::Next(bytes)) => match codec.decode(&bytes) {
                    Ok(item) => Item::Next(item),
                    Err(error) => Item::Broken(error),
                },
            };
            if consumer.send(item).await.is_err() {
                return;
            }
        }
    });
    ItemsPort { codec, items }
}

/// The consumer's side of a streaming ask: a `Stream`. Dropping it tells the producer to stop.
pub struct EntityStream<T> {
    items: mpsc::Receiver<Item<T>>,
    over: bool,
}

impl<T> EntityStream<T> {
    fn new(items: mpsc::Receiver<Item<T>>) -> Self {
        Self { items, over: false }
    }

    /// The next item; `None` once the producer has finished.
    pub async fn next(&mut self) -> Option<Result<T, StreamError>> {
        std::future::poll_fn(|cx| self.poll_item(cx)).await
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, StreamError>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let item = std::task::ready!(self.items.poll_recv(cx));
        let item = match item {
            Some(Item::Next(item)) => return Poll::Ready(Some(Ok(item))),
            Some(Item::End) => None,
            Some(Item::Broken(error)) => Some(Err(StreamError::Codec(error))),
            None => Some(Err(StreamError::Interrupted)),
        };
        self.over = true;
        Poll::Ready(item)
    }
}

impl<T> Stream for EntityStream<T> {
    type Item = Result<T, StreamError>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<T, StreamError>>> {
        self.poll_item(cx)
    }
}
