//! What can go wrong when sending: one enum per verb.
//!
//! Each variant says in which state one is left, and [`AskError::outcome`] says it in a form that code can branch on:
//! was the message executed, surely not, or is it unknown?

use std::{convert::Infallible, error::Error};

use ostrakon_core::{EntityId, InvalidId, ShardOutOfRange};
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
    /// The message could not be written or read. Not executed; the type or the codec must change.
    #[error("the message cannot be encoded")]
    Codec(#[from] CodecError),
}

impl TellError {
    /// Whether the same message may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Overloaded { .. } => true,
            Self::InvalidId(_)
            | Self::NoShard(_)
            | Self::UnknownKind { .. }
            | Self::Stopped { .. }
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
            Self::TimedOut | Self::Interrupted => Outcome::Unknown,
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
    /// An item could not be read.
    #[error("an item of the stream cannot be decoded")]
    Codec(#[from] CodecError),
}
