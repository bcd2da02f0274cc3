//! Streaming replies: many answers to one ask, at the consumer's pace.
//!
//! The handler gets a [`StreamReply`], the asker an [`EntityStream`]. The channel between them is bounded: a slow consumer
//! slows the producer. Either side may go away; the other learns it. A stream is complete only when the producer
//! says so with [`StreamReply::finish`], so that an entity that died in the middle is not taken for one that was done.

mod branch;
mod relay;
mod resuming;

use std::{
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use futures_core::Stream;
use futures_util::StreamExt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::{Notify, Semaphore, mpsc};

pub use self::resuming::ResumingStream;
use self::{branch::Branch, relay::Relay};
use crate::{
    Codec, CodecError, Payload, StreamError,
    lock::Mutex,
    wire::{self, ItemsPort, Port},
};

/// How much may wait for the consumer, in units.
const WINDOW: u32 = 64;
/// What an item costs that never left the process.
const COST_HERE: u32 = 4;
/// An encoded item costs one unit for each so many bytes that it has begun.
const BYTES_PER_UNIT: usize = 4096;
/// The most an item costs. The last part of what was read, less than a quarter of the window, is not given back at once; the rest
/// must be enough for any item, or its producer would wait for ever.
const MOST_COST: u32 = WINDOW - WINDOW / 4;

/// What an encoded item costs.
pub(crate) fn cost(bytes: usize) -> u32 {
    let units = u32::try_from(bytes / BYTES_PER_UNIT).unwrap_or(WINDOW);
    units.saturating_add(1).min(MOST_COST)
}

/// Produces the items of one streaming ask. It may be moved into [`Context::spawn`](crate::Context::spawn), so that the entity handles other messages meanwhile.
pub struct StreamReply<T: Payload>(Target<T>);

enum Target<T: Payload> {
    Nobody,
    Here(Arc<Pipe<T>>),
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
        let (items, receiver) = mpsc::unbounded_channel();
        let credit = Arc::new(Credit::new());
        let pipe = Arc::new(Pipe {
            items,
            credit: Arc::clone(&credit),
        });
        (
            Self(Target::Here(pipe)),
            EntityStream::new(receiver, credit),
        )
    }

    /// Sends one item; waits while the consumer is behind.
    pub async fn send(&self, item: T) -> Result<(), ConsumerGone> {
        match &self.0 {
            Target::Nobody => Err(ConsumerGone),
            Target::Here(pipe) => {
                pipe.credit.take(COST_HERE).await?;
                pipe.put(Item::Next(item, None))
            }
            Target::There(port) => {
                let sink = &port.sink;
                match port.codec.encode(&item) {
                    Ok(bytes) => {
                        sink.credit().take(cost(bytes.len())).await?;
                        sink.deliver(port.codec, &bytes)
                    }
                    Err(error) => {
                        sink.end(EndOfItems::Broken(error));
                        Ok(())
                    }
                }
            }
        }
    }

    /// Says that the stream is complete.
    pub async fn finish(self) {
        // A consumer that has gone away needs no ending.
        match self.0 {
            Target::Nobody => {}
            Target::Here(pipe) => pipe.end(EndOfItems::Finished),
            Target::There(port) => port.sink.end(EndOfItems::Finished),
        }
    }

    /// Waits until the consumer goes away.
    pub async fn closed(&self) {
        match &self.0 {
            Target::Nobody => {}
            Target::Here(pipe) => pipe.credit.closed().await,
            Target::There(port) => port.sink.credit().closed().await,
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
            Target::Here(pipe) => Target::Here(Arc::clone(pipe)),
            Target::There(port) => Target::There(port.clone()),
        })
    }
}

impl<T: Payload> Serialize for StreamReply<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = match &self.0 {
            Target::Nobody => None,
            Target::Here(pipe) => Some(wire::export(|codec| {
                let sink = Arc::new(Branch::of(pipe)) as Arc<dyn ItemsSink>;
                Port::Items(ItemsPort { codec, sink })
            })?),
            Target::There(port) => Some(wire::export(|_| Port::Items(Relay::before(port)))?),
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

/// What travels through a pipe; an item with who gave how much credit for it, if that was not the pipe itself.
enum Item<T> {
    Next(T, Option<(Arc<Credit>, u32)>),
    End(EndOfItems),
}

/// How a stream ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndOfItems {
    Finished,
    /// The producer went away without finishing.
    Interrupted,
    /// An item could not be encoded or decoded.
    Broken(CodecError),
}

/// Takes the encoded items of a stream.
pub(crate) trait ItemsSink: Send + Sync {
    /// Takes an item that has been paid for.
    fn deliver(&self, codec: Codec, item: &[u8]) -> Result<(), ConsumerGone>;
    /// Nothing counts after the first end.
    fn end(&self, end: EndOfItems);
    /// What a producer pays from.
    fn credit(&self) -> &Arc<Credit>;
}

/// The way from the producers of a stream to its consumer in this process. The channel has no bound of its own: credit is the bound.
struct Pipe<T> {
    items: mpsc::UnboundedSender<Item<T>>,
    credit: Arc<Credit>,
}

impl<T> Pipe<T> {
    fn put(&self, item: Item<T>) -> Result<(), ConsumerGone> {
        self.items.send(item).map_err(|_| ConsumerGone)
    }

    fn end(&self, end: EndOfItems) {
        // A consumer that has gone away needs no ending.
        let _ = self.put(Item::End(end));
    }
}

/// How much may be sent before the consumer of a stream has read: by its producers in one process, for which it is a [`Pipe`]'s or that of a stream whose
/// consumer is on another node; or by the producers on one other node.
pub(crate) struct Credit {
    units: Semaphore,
    gone: AtomicBool,
    going: Notify,
    /// The producers are on another node: they are told what the consumer does.
    far: Mutex<Option<Arc<dyn FarProducer>>>,
    /// Read, but not yet given back to producers on another node.
    owed: AtomicU32,
    /// That of producers on other nodes, who are to be told when the consumer has gone away.
    branches: Mutex<Vec<Weak<Self>>>,
}

/// The producers of a stream on another node.
pub(crate) trait FarProducer: Send + Sync {
    /// There is room for so much more.
    fn has_room(&self, units: u32);
    /// The consumer has gone away.
    fn stop(&self);
}

impl Credit {
    pub(crate) fn new() -> Self {
        Self {
            units: Semaphore::new(WINDOW as usize),
            gone: AtomicBool::new(false),
            going: Notify::new(),
            far: Mutex::new(None),
            owed: AtomicU32::new(0),
            branches: Mutex::default(),
        }
    }

    /// The credit of other producers for the same consumer: what they send does not come out of this one.
    fn branch(&self) -> Arc<Self> {
        let branch = Arc::new(Self::new());
        let mut branches = self.branches.lock();
        branches.retain(|branch| branch.strong_count() > 0);
        branches.push(Arc::downgrade(&branch));
        drop(branches);
        if self.gone.load(Ordering::Acquire) {
            branch.close();
        }
        branch
    }

    /// The consumer has read what cost so much: that is given back at once to producers here, by the quarter window to those on another node.
    fn was_read(&self, units: u32) {
        let owed = self.owed.fetch_add(units, Ordering::AcqRel) + units;
        if owed >= WINDOW / 4 || self.far().is_none() {
            self.read(self.owed.swap(0, Ordering::AcqRel));
        }
    }

    /// Waits until there is room.
    async fn take(&self, units: u32) -> Result<(), ConsumerGone> {
        let permit = self.units.acquire_many(units).await;
        permit.map_err(|_| ConsumerGone)?.forget();
        Ok(())
    }

    /// An item came from another node. `false`: there was no room for it, it must not have been sent.
    pub(crate) fn try_take(&self, units: u32) -> bool {
        use tokio::sync::TryAcquireError;
        match self.units.try_acquire_many(units) {
            Ok(permit) => {
                permit.forget();
                true
            }
            // The consumer has gone and the producer does not know yet.
            Err(TryAcquireError::Closed) => true,
            Err(TryAcquireError::NoPermits) => false,
        }
    }

    /// The consumer has read so much.
    pub(crate) fn give(&self, units: u32) {
        // A window's worth at most: whoever gives more than was taken makes no difference.
        let room = (WINDOW as usize).saturating_sub(self.units.available_permits());
        self.units.add_permits((units as usize).min(room));
    }

    /// The same, also if the producers are one node further.
    pub(crate) fn read(&self, units: u32) {
        self.give(units);
        if let Some(far) = self.far() {
            far.has_room(units);
        }
    }

    /// The consumer has gone away.
    pub(crate) fn close(&self) {
        self.gone.store(true, Ordering::Release);
        self.units.close();
        self.going.notify_waiters();
        if let Some(far) = self.far() {
            far.stop();
        }
        let branches = std::mem::take(&mut *self.branches.lock());
        for branch in branches.iter().filter_map(Weak::upgrade) {
            branch.close();
        }
    }

    /// Says that the producers are on another node. `false`: the consumer has gone away, and they are still to be told.
    #[must_use]
    pub(crate) fn set_far(&self, far: Arc<dyn FarProducer>) -> bool {
        // The last one counts: its message may have come back from another node before.
        *self.far.lock() = Some(far);
        !self.gone.load(Ordering::Acquire)
    }

    fn far(&self) -> Option<Arc<dyn FarProducer>> {
        self.far.lock().clone()
    }

    async fn closed(&self) {
        let going = self.going.notified();
        if !self.gone.load(Ordering::Acquire) {
            going.await;
        }
    }
}

/// The consumer's side of a streaming ask: a `Stream`. Dropping it tells the producer to stop. It ends with its entity's life on a node;
/// [`EntityStream::resuming`] goes on after that.
pub struct EntityStream<T> {
    items: mpsc::UnboundedReceiver<Item<T>>,
    credit: Arc<Credit>,
    over: bool,
}

impl<T> EntityStream<T> {
    fn new(items: mpsc::UnboundedReceiver<Item<T>>, credit: Arc<Credit>) -> Self {
        Self {
            items,
            credit,
            over: false,
        }
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
        let end = match item {
            Some(Item::Next(item, from)) => {
                match from {
                    None => self.credit.give(COST_HERE),
                    Some((credit, units)) => credit.was_read(units),
                }
                return Poll::Ready(Some(Ok(item)));
            }
            Some(Item::End(end)) => end,
            None => EndOfItems::Interrupted,
        };
        self.over = true;
        Poll::Ready(match end {
            EndOfItems::Finished => None,
            EndOfItems::Interrupted => Some(Err(StreamError::Interrupted)),
            EndOfItems::Broken(error) => Some(Err(StreamError::Codec(error))),
        })
    }
}

impl<T> Drop for EntityStream<T> {
    fn drop(&mut self) {
        self.credit.close();
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
