//! How the replies inside a message cross a codec.
//!
//! serde cannot carry context, so while a message is encoded or decoded a thread-local holds its list of ports, and
//! a reply writes its place in that list. A link sends a request id for each beside the payload; forced
//! serialization passes the list on as it is. Nothing here outlives one encode or decode call.

mod nobody;

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    task::Waker,
};

use bytes::Bytes;
use smallvec::SmallVec;

pub(crate) use self::nobody::Nobody;

use crate::{
    AskError, Codec, CodecError, Payload,
    reply::{Answered, Settle},
    stream::{EndOfItems, ItemsSink},
};

/// The far end of a reply inside a message.
#[derive(Clone)]
pub(crate) enum Port {
    Answer(AnswerPort),
    Items(ItemsPort),
}

impl Port {
    /// There will be no answer, or no more items.
    pub(crate) fn fail(&self, error: &AskError) {
        match self {
            Self::Answer(port) => port.sink.fail(error.clone()),
            Self::Items(port) => port.sink.end(EndOfItems::Interrupted),
        }
    }

    pub(crate) fn codec(&self) -> Codec {
        match self {
            Self::Answer(port) => port.codec,
            Self::Items(port) => port.codec,
        }
    }
}

/// The replies inside a message: nearly always none or one.
pub(crate) type Ports = SmallVec<[Port; 1]>;

/// Where a decoded [`Reply`](crate::Reply) sends its answer: encoded, to whoever can bring it to the asker.
pub(crate) struct AnswerPort {
    pub(crate) codec: Codec,
    pub(crate) sink: Arc<dyn AnswerSink>,
    /// Whether the sink knows it as a copy of the reply, and must know when it is gone.
    is_counted: bool,
}

/// Where a decoded [`StreamReply`](crate::StreamReply) sends its items.
#[derive(Clone)]
pub(crate) struct ItemsPort {
    pub(crate) codec: Codec,
    pub(crate) sink: Arc<dyn ItemsSink>,
}

/// An encoded answer.
pub(crate) enum AnswerBytes<'b> {
    Borrowed(&'b [u8]),
    /// A large one, which can be decoded later and elsewhere.
    Owned(Bytes),
}

impl AnswerBytes<'_> {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// What became of an encoded answer, and who is to be woken for it.
pub(crate) struct Delivery {
    pub(crate) answered: Answered,
    pub(crate) waker: Option<Waker>,
}

impl From<Answered> for Delivery {
    /// Nobody waits in this process.
    fn from(answered: Answered) -> Self {
        let waker = None;
        Self { answered, waker }
    }
}

impl Delivery {
    pub(crate) fn wake(self) -> Answered {
        if let Some(waker) = self.waker {
            waker.wake();
        }
        self.answered
    }
}

/// Takes an encoded answer.
pub(crate) trait AnswerSink: Settle {
    fn deliver(&self, codec: Codec, answer: Result<AnswerBytes<'_>, CodecError>) -> Delivery;
    /// There is one more reply that may answer.
    fn copied(&self);
    /// There is one fewer.
    fn dropped(&self);
}

impl AnswerPort {
    /// A new copy of the reply to `sink`.
    pub(crate) fn new(codec: Codec, sink: Arc<dyn AnswerSink>) -> Self {
        sink.copied();
        Self {
            codec,
            sink,
            is_counted: true,
        }
    }

    /// The port of an ask that somebody else speaks for until it has been handled. Only its clones count.
    pub(crate) fn of_ask(codec: Codec, sink: Arc<dyn AnswerSink>) -> Self {
        Self {
            codec,
            sink,
            is_counted: false,
        }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        !self.sink.is_over()
    }

    pub(crate) fn send<T: Payload>(self, value: &T) -> Answered {
        in_scratch(|buffer| {
            let encoded = self.codec.encode_into(value, buffer);
            let answer = encoded.map(|()| AnswerBytes::Borrowed(buffer));
            self.deliver(answer).wake()
        })
    }

    /// Brings the outcome. After that nobody needs to know how many copies there are.
    pub(crate) fn deliver(mut self, answer: Result<AnswerBytes<'_>, CodecError>) -> Delivery {
        self.is_counted = false;
        self.sink.deliver(self.codec, answer)
    }
}

impl Clone for AnswerPort {
    fn clone(&self) -> Self {
        Self::new(self.codec, Arc::clone(&self.sink))
    }
}

impl Drop for AnswerPort {
    fn drop(&mut self) {
        if self.is_counted {
            self.sink.dropped();
        }
    }
}

/// Lends out a buffer of this thread, so that a small message needs none of its own.
pub(crate) fn in_scratch<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    thread_local! {
        static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    /// What a large message has made of the buffer is not kept.
    const KEPT: usize = 64 * 1024;

    // Taken out, so that user code that encodes while it is encoded gets one of its own.
    let mut buffer = SCRATCH.take();
    buffer.clear();
    let result = work(&mut buffer);
    if buffer.capacity() <= KEPT {
        SCRATCH.set(buffer);
    }
    result
}

/// An encoded message and the far ends of the replies inside it.
pub(crate) struct Encoded<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) ports: Ports,
}

/// Encodes a message behind `out`; what is returned are its replies.
pub(crate) fn encode<T: Payload>(
    codec: Codec,
    message: &T,
    out: &mut Vec<u8>,
) -> Result<Ports, CodecError> {
    let ports = Ports::new();
    let (encoded, scope) = within(Some(Scope { codec, ports }), || {
        codec.encode_into(message, out)
    });
    encoded?;
    Ok(scope.map(|scope| scope.ports).unwrap_or_default())
}

/// Decodes a message; its replies answer to the ports that came with it.
pub(crate) fn decode<T: Payload>(codec: Codec, encoded: Encoded<'_>) -> Result<T, CodecError> {
    let Encoded { bytes, ports } = encoded;
    within(Some(Scope { codec, ports }), || codec.decode(bytes)).0
}

/// Runs `look` outside any message: replies that are decoded meanwhile answer to nobody.
pub(crate) fn outside<R>(look: impl FnOnce() -> R) -> R {
    within(None, look).0
}

/// Called by a reply that is being encoded: enters its port and returns the place in the list.
pub(crate) fn export<E: serde::ser::Error>(port: impl FnOnce(Codec) -> Port) -> Result<u32, E> {
    SCOPE.with_borrow_mut(|scope| {
        let scope = scope
            .as_mut()
            .ok_or_else(|| E::custom("a reply travels only inside a message to an entity"))?;
        scope.ports.push(port(scope.codec));
        u32::try_from(scope.ports.len() - 1).map_err(|_| E::custom("too many replies in a message"))
    })
}

/// Called by a reply that is being decoded: the port at `place`, or none outside a message.
pub(crate) fn import<E: serde::de::Error>(place: u32) -> Result<Option<Port>, E> {
    SCOPE.with_borrow(|scope| {
        let Some(scope) = scope else {
            return Ok(None);
        };
        let port = scope.ports.get(place as usize).cloned();
        port.map(Some)
            .ok_or_else(|| E::custom("the message names a reply that did not come with it"))
    })
}

struct Scope {
    codec: Codec,
    ports: Ports,
}

thread_local! {
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

fn within<R>(scope: Option<Scope>, work: impl FnOnce() -> R) -> (R, Option<Scope>) {
    /// Puts the outer scope back also when a user's serde code panics.
    struct Restore(Option<Scope>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPE.set(self.0.take());
        }
    }
    let restore = Restore(SCOPE.replace(scope));
    let result = work();
    let inner = SCOPE.take();
    drop(restore);
    (result, inner)
}
