//! `Entity`: what a user writes, by hand or through `#[entity]`.
//!
//! An entity is a value that handles one message at a time. It is made on the first message for its id, started,
//! and stopped when it is idle, moved or no longer wanted. Nothing here knows about nodes or shards.

use std::{
    error::Error,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{Codec, Context, EntityRef};

/// A stateful thing with an id, of which at most one live copy exists.
///
/// Most entities are written with [`#[entity]`](macro@crate::entity), which implements this trait. Written by hand it
/// is an enum of messages and one function:
///
/// ```
/// use ostrakon::{Context, Entity, EntityRef, Failure, Node, Reply};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Default)]
/// struct Counter(i64);
///
/// #[derive(Serialize, Deserialize)]
/// enum CounterMessage {
///     Add(i64),
///     Get(Reply<i64>),
/// }
///
/// impl Entity for Counter {
///     const KIND: &'static str = "counter";
///     type Message = CounterMessage;
///     type Ref = EntityRef<Self>;
///
///     async fn handle(&mut self, message: CounterMessage, _: &mut Context<Self>) -> Result<(), Failure> {
///         match message {
///             CounterMessage::Add(n) => self.0 += n,
///             CounterMessage::Get(reply) => {
///                 reply.send(self.0);
///             }
///         }
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let node = Node::builder("node-1").host::<Counter>().start().await?;
/// let counter = node.entity::<Counter>("visits");
/// counter.tell(CounterMessage::Add(2)).await?;
/// assert_eq!(counter.ask(CounterMessage::Get).await?, 2);
/// # node.leave().await?;
/// # Ok(())
/// # }
/// ```
pub trait Entity: Sized + Send + 'static {
    /// The family's name, the same on every node: `[a-z0-9_.-]`, starting with a letter.
    const KIND: &'static str;

    /// How messages of this kind are written when they leave the process.
    const CODEC: Codec = Codec::MessagePack;

    /// Everything that may be sent to the entity. Answers travel through a [`Reply`](crate::Reply) inside it.
    type Message: Payload;

    /// The handle that callers hold: [`EntityRef<Self>`] when written by hand.
    type Ref: From<EntityRef<Self>> + AsRef<EntityRef<Self>> + Clone + Send + Sync;

    /// Handles one message. No other message of this entity is handled meanwhile, also across `.await`.
    ///
    /// An error, like a panic, ends this life of the entity: the asker is told, the state is dropped, and the entity
    /// starts again after a pause. An answer such as "insufficient funds" belongs into the reply instead.
    fn handle(
        &mut self,
        message: Self::Message,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Runs before the first message, for instance to load state. Messages wait meanwhile.
    ///
    /// When it fails, those who wait are told why, and it is tried again after a pause.
    fn start(
        &mut self,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let _ = ctx;
        async { Ok(()) }
    }

    /// Runs after the last message, for instance to save state. It has the kind's stop deadline: at its end the entity
    /// is over, finished or not.
    fn stop(&mut self, ctx: &mut Context<Self>) -> impl Future<Output = ()> + Send {
        let _ = ctx;
        async {}
    }

    /// A copy of `message` if it may be handled again after a failure, which is to say that handling it twice does no harm.
    ///
    /// The default is no: each message is handled at most once. With a copy, it is tried up to three times.
    fn redeliver(message: &Self::Message) -> Option<Self::Message> {
        let _ = message;
        None
    }
}

/// Anything that can travel between nodes. Implemented for every type with serde's two traits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel between nodes",
    label = "this must be serializable, `Send` and `'static`",
    note = "add `#[derive(serde::Serialize, serde::Deserialize)]` to `{Self}`; references cannot be sent, send owned values"
)]
pub trait Payload: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Payload for T {}

/// Why a handler or a `start` gave up; any error converts with `?`.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The reason of a failure as text, cheap to clone because several askers may be told of the same one.
#[derive(Clone, PartialEq, Eq)]
pub struct Cause(Arc<str>);

impl Cause {
    pub(crate) fn from_failure(failure: &Failure) -> Self {
        let mut text = failure.to_string();
        let mut source = failure.source();
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        Self(text.into())
    }

    /// Runs code of the user's; if it panics, that is the cause.
    #[inline]
    pub(crate) fn catch<T>(code: impl FnOnce() -> T) -> Result<T, Self> {
        catch_unwind(AssertUnwindSafe(code)).map_err(|panic| Self::from_panic(&*panic))
    }

    #[cold]
    fn from_panic(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self(format!("panicked: {}", text.unwrap_or("(no message)")).into())
    }

    /// What another node said.
    pub(crate) fn said(text: &str) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
