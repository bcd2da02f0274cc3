//! What can go wrong when sending: one enum per verb.
//!
//! Each variant says in which state one is left, and [`AskError::outcome`] says it in a form that code can branch on:
//! was the message executed, surely not, or is it unknown?

use std::{convert::Infallible, error::Error};

use ostrakon_core::{EntityId, InvalidId, NodeName, ShardId, ShardOutOfRange};
use thiserror::Error;

use crate::{CallChain, Cause, CodecError};

/// Why a message was not accepted. It was not executed and will not be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TellError {
    /// The id is empty or too long. Not executed; the same id will never work.
    #[error("the entity id cannot be used")]
    InvalidId(#[from] InvalidId),
    /// The group's own hash function answered a shard that does not exist. Not executed; mend the function.
    #[error("the entity has no shard")]
    NoShard(#[from] ShardOutOfRange),
    /// No node hosts this kind. Not executed; add `.host::<E>()` to a node's builder.
    #[error("no node hosts entities of kind `{kind}`; add `.host::<…>()` to a node's builder")]
    UnknownKind {
        /// The kind that was asked for.
        kind: String,
    },
    /// The mailbox is full. Not executed; try again later, or send less.
    #[error("the mailbox of {kind}/{id} is full ({capacity} messages wait); try again later")]
    Overloaded {
        /// The entity's kind.
        kind: &'static str,
        /// The entity's id.
        id: EntityId,
        /// How many messages its mailbox holds.
        capacity: usize,
    },
    /// The entity's node (or the actor) has stopped. Not executed; send through a running node.
    #[error("{kind}/{id} is not running any more and will not start again here")]
    Stopped {
        /// The entity's kind.
        kind: &'static str,
        /// The entity's id.
        id: EntityId,
    },
    /// No actor of this name, or one of another type, runs on that node. Not executed.
    #[error("no actor named `{name}` of this type is running on `{node}`")]
    NoSuchActor {
        /// The actor's name.
        name: EntityId,
        /// The node.
        node: NodeName,
    },
    /// Nobody took the shard in time, or its owner could not be reached. Not executed; try again later.
    #[error(
        "shard {shard} of {kind}/{id} has no owner that can be reached; the message was not sent"
    )]
    NoOwner {
        /// The entity's kind.
        kind: &'static str,
        /// The entity's id.
        id: EntityId,
        /// Its shard.
        shard: ShardId,
    },
    /// There was no connection to that node in time. Not executed; try again later.
    #[error("`{node}` cannot be reached; the message was not sent")]
    Unreachable {
        /// The node.
        node: NodeName,
    },
    /// Too much waits to be sent to that node, or too many answers from it are outstanding. Not executed; send less, or wait.
    #[error("too much is under way to `{node}`; the message was not sent, try again later")]
    Congested {
        /// The node.
        node: NodeName,
    },
    /// The message is larger than a node accepts. Not executed; send less at once, or raise the limit on all nodes.
    #[error("the message has {size} bytes, but {limit} is the most that travels between nodes")]
    TooLarge {
        /// How large it is, encoded.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// This node computes another shard for the id than the sender does. Not executed; all nodes need the same custom hash function.
    #[error(
        "the nodes do not agree on the hash of kind `{kind}`; use the same function everywhere"
    )]
    HashDiffers {
        /// The kind.
        kind: &'static str,
    },
    /// The other node could not take the message for a reason that it has said. Not executed.
    #[error("`{node}` refused the message: {reason}")]
    Unsupported {
        /// The node.
        node: NodeName,
        /// What it said.
        reason: String,
    },
    /// The message could not be written or read. Not executed; the type or the codec must change.
    #[error("the message cannot be encoded")]
    Codec(#[from] CodecError),
}

impl TellError {
    /// Whether the same message may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Overloaded { .. }
            | Self::NoOwner { .. }
            | Self::Unreachable { .. }
            | Self::Congested { .. } => true,
            Self::InvalidId(_)
            | Self::NoShard(_)
            | Self::UnknownKind { .. }
            | Self::Stopped { .. }
            | Self::NoSuchActor { .. }
            | Self::TooLarge { .. }
            | Self::HashDiffers { .. }
            | Self::Unsupported { .. }
            | Self::Codec(_) => false,
        }
    }
}

/// Why an ask brought no value. `E` is the entity's own error, for methods that return a `Result`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AskError<E: Error + 'static = Infallible> {
    /// The entity handled the message and answered with its own error.
    #[error("{0}")]
    Rejected(E),
    /// The message was not accepted. Not executed.
    #[error("the message was not accepted")]
    NotSent(#[from] TellError),
    /// An entity waits for itself through this chain of asks. Not executed; tell instead of asking, or spawn the work.
    #[error("asking would wait for ever: {0}")]
    Cycle(CallChain),
    /// The entity could not start. Not executed; starting is tried again, so may the ask.
    #[error("the entity could not start: {0}")]
    StartFailed(Cause),
    /// The deadline passed before the message's turn came. Not executed, and will not be.
    #[error("the deadline passed while the message waited its turn; it was not executed")]
    Expired,
    /// The deadline passed while the message was being handled. Unknown: it may yet take effect.
    #[error("the deadline passed while the message was being handled; it may have taken effect")]
    TimedOut,
    /// The handler failed on this message. It may have taken effect in part; the entity's memory starts afresh.
    #[error("the handler failed: {0}")]
    Failed(Cause),
    /// The handler ended without answering. It was executed.
    #[error("the handler ended without an answer")]
    NoReply,
    /// The entity was ended in the middle of the message, because its stop deadline passed. Unknown.
    #[error("the entity was stopped while it handled the message; it may have taken effect")]
    Interrupted,
    /// The connection to the entity's node broke after the message was sent and before it was answered. Unknown.
    #[error(
        "the connection to `{node}` was lost before it answered; the message may have taken effect"
    )]
    Lost {
        /// The node.
        node: NodeName,
    },
    /// The answer came but could not be read. It was executed.
    #[error("the answer cannot be decoded")]
    BadReply(#[source] CodecError),
}

impl<E: Error + 'static> AskError<E> {
    /// What is known about the message's execution.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Rejected(_) | Self::NoReply | Self::BadReply(_) => Outcome::Executed,
            Self::NotSent(_) | Self::Cycle(_) | Self::StartFailed(_) | Self::Expired => {
                Outcome::NotExecuted
            }
            Self::Failed(_) => Outcome::FailedInHandler,
            Self::TimedOut | Self::Interrupted | Self::Lost { .. } => Outcome::Unknown,
        }
    }

    /// Whether the same ask may be repeated without the risk of a second execution, and may succeed then.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NotSent(error) => error.is_retryable(),
            Self::StartFailed(_) | Self::Expired => true,
            Self::Rejected(_)
            | Self::Cycle(_)
            | Self::TimedOut
            | Self::Failed(_)
            | Self::NoReply
            | Self::Interrupted
            | Self::Lost { .. }
            | Self::BadReply(_) => false,
        }
    }
}

impl AskError {
    /// The same error, for a method whose own error is `E`.
    pub fn widen<E: Error + 'static>(self) -> AskError<E> {
        match self {
            Self::Rejected(never) => match never {},
            Self::NotSent(error) => AskError::NotSent(error),
            Self::Cycle(chain) => AskError::Cycle(chain),
            Self::StartFailed(cause) => AskError::StartFailed(cause),
            Self::Expired => AskError::Expired,
            Self::TimedOut => AskError::TimedOut,
            Self::Failed(cause) => AskError::Failed(cause),
            Self::NoReply => AskError::NoReply,
            Self::Interrupted => AskError::Interrupted,
            Self::Lost { node } => AskError::Lost { node },
            Self::BadReply(error) => AskError::BadReply(error),
        }
    }

    /// Folds an entity's own `Result` into the ask's: what generated refs do for methods that return one.
    pub fn flatten<T, E: Error + 'static>(
        asked: Result<Result<T, E>, Self>,
    ) -> Result<T, AskError<E>> {
        match asked {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(own)) => Err(AskError::Rejected(own)),
            Err(error) => Err(error.widen()),
        }
    }
}

/// What is known about a message after an ask has ended with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was handled to the end.
    Executed,
    /// It was not handled and will not be: repeating it is safe.
    NotExecuted,
    /// The handler gave up in the middle.
    FailedInHandler,
    /// It may or may not have been handled.
    Unknown,
}

/// Why a stream ended before its producer said it was complete.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The entity stopped, moved or failed while streaming. Items so far are good; ask again for the rest.
    #[error("the entity ended while it was streaming; ask again to go on")]
    Interrupted,
    /// A [resuming stream](crate::ResumingStream) could not be asked for, at first or again. Items so far are good.
    #[error("the stream could not be asked for")]
    NotOpened(#[source] AskError),
    /// An item could not be read.
    #[error("an item of the stream cannot be decoded")]
    Codec(#[from] CodecError),
}
