//! How the replies inside a message cross a codec.
//!
//! serde cannot carry context, so while a message is encoded or decoded a thread-local holds its list of ports, and
//! a reply writes its place in that list. A link sends the list's request ids beside the payload; forced
//! serialization passes the list on as it is. Nothing here outlives one encode or decode call.

use std::{cell::RefCell, sync::Arc};

use tokio::sync::mpsc;

use crate::{
    AskError, Codec, CodecError, Payload,
    reply::{Answered, Reply},
    stream::Item,
};

/// The far end of a reply inside a message.
#[derive(Clone)]
pub(crate) enum Port {
    Answer(AnswerPort),
    Items(ItemsPort),
}

/// Where a decoded [`Reply`] sends its answer: encoded, to whoever can bring it to the asker.
#[derive(Clone)]
pub(crate) struct AnswerPort {
    codec: Codec,
    sink: Arc<dyn AnswerSink>,
}

/// Where a decoded [`StreamReply`](crate::StreamReply) sends its items. The channel's bound is the back-pressure.
#[derive(Clone)]
pub(crate) struct ItemsPort {
    pub(crate) codec: Codec,
    pub(crate) items: mpsc::Sender<Item<Vec<u8>>>,
}

/// Takes an encoded answer.
pub(crate) trait AnswerSink: Send + Sync {
    fn deliver(&self, answer: Result<Vec<u8>, CodecError>) -> Answered;
    fn is_wanted(&self) -> bool;
}

impl AnswerPort {
    /// A port that decodes the answer again and hands it to `reply`.
    pub(crate) fn decoding<T: Payload>(reply: Reply<T>, codec: Codec) -> Self {
        let sink = Arc::new(Decoding { reply, codec });
        Self { codec, sink }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.sink.is_wanted()
    }

    pub(crate) fn send<T: Payload>(&self, value: &T) -> Answered {
        self.sink.deliver(self.codec.encode(value))
    }
}

struct Decoding<T: Payload> {
    reply: Reply<T>,
    codec: Codec,
}

impl<T: Payload> AnswerSink for Decoding<T> {
    fn deliver(&self, answer: Result<Vec<u8>, CodecError>) -> Answered {
        let value = answer.and_then(|bytes| self.codec.decode(&bytes));
        self.reply.settle(value.map_err(AskError::BadReply))
    }

    fn is_wanted(&self) -> bool {
        self.reply.is_wanted()
    }
}

/// An encoded message and the far ends of the replies inside it.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ports: Vec<Port>,
}

/// Encodes a message with its replies.
pub(crate) fn encode<T: Payload>(codec: Codec, message: &T) -> Result<Encoded, CodecError> {
    let ports = Vec::new();
    let (bytes, scope) = within(Some(Scope { codec, ports }), || codec.encode(message));
    let ports = scope.map(|scope| scope.ports).unwrap_or_default();
    Ok(Encoded {
        bytes: bytes?,
        ports,
    })
}

/// Decodes a message; its replies answer to the ports that came with it.
pub(crate) fn decode<T: Payload>(codec: Codec, encoded: Encoded) -> Result<T, CodecError> {
    let Encoded { bytes, ports } = encoded;
    within(Some(Scope { codec, ports }), || codec.decode(&bytes)).0
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
    ports: Vec<Port>,
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
