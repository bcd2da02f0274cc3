//! `Fault`: why a message brought no answer, as it travels between nodes.
//!
//! The numbers never change meaning. A number that this version does not know is a refusal, with the sender's own words; from
//! [`MAY_BE_EXECUTED`] on it says that the message may have taken effect.

use std::borrow::Cow;

use ostrakon_core::{EntityId, NodeName, ShardId};

use super::frame::{BadFrame, Fields, put_number, put_section};
use crate::{AskError, Cause, CodecError, TellError};

/// The longest explanation that is sent along.
const MOST_TEXT: usize = 4096;

/// A reason, by number, and what there is to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault<'a> {
    code: u64,
    text: Cow<'a, str>,
}

const UNKNOWN_KIND: u64 = 1;
const OVERLOADED: u64 = 2;
const STOPPED: u64 = 3;
const CODEC: u64 = 4;
const NO_SHARD: u64 = 5;
const START_FAILED: u64 = 6;
const EXPIRED: u64 = 7;
const TIMED_OUT: u64 = 8;
const FAILED: u64 = 9;
const NO_REPLY: u64 = 10;
const INTERRUPTED: u64 = 11;
const BAD_REPLY: u64 = 12;
const CYCLE: u64 = 13;
const NO_SUCH_ACTOR: u64 = 14;
const UNSUPPORTED: u64 = 15;
const CONGESTED: u64 = 16;
const LOST: u64 = 17;
const HASH_DIFFERS: u64 = 18;
/// The shard was ours when the message came, and is not any more. What is said besides is its number.
const NO_OWNER: u64 = 19;
/// Whatever later versions mean by it.
const MAY_BE_EXECUTED: u64 = 128;

/// Whom a fault is about, for errors that name it.
pub(crate) struct About<'a> {
    pub(crate) node: &'a NodeName,
    pub(crate) kind: &'static str,
    pub(crate) id: &'a EntityId,
}

impl<'a> Fault<'a> {
    fn new(code: u64, text: impl Into<Cow<'a, str>>) -> Self {
        let mut text = text.into();
        if text.len() > MOST_TEXT {
            let end = (0..=MOST_TEXT)
                .rev()
                .find(|&end| text.is_char_boundary(end));
            text = Cow::Owned(text[..end.unwrap_or(0)].to_owned());
        }
        Self { code, text }
    }

    pub(crate) fn unsupported(kind: u8) -> Self {
        Self::new(
            UNSUPPORTED,
            format!("frames of kind {kind} are unknown here"),
        )
    }

    pub(crate) fn read(fields: &mut Fields<'a>) -> Result<Self, BadFrame> {
        Ok(Self {
            code: fields.number()?,
            text: Cow::Borrowed(fields.text(MOST_TEXT)?),
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_number(out, self.code);
        put_section(out, self.text.as_bytes());
    }

    pub(crate) fn of(error: &AskError) -> Self {
        match error {
            AskError::Rejected(never) => match *never {},
            AskError::NotSent(error) => Self::refusal(error),
            AskError::Cycle(chain) => Self::new(CYCLE, chain.to_string()),
            AskError::StartFailed(cause) => Self::new(START_FAILED, cause.to_string()),
            AskError::Expired => Self::new(EXPIRED, ""),
            AskError::TimedOut => Self::new(TIMED_OUT, ""),
            AskError::Failed(cause) => Self::new(FAILED, cause.to_string()),
            AskError::NoReply => Self::new(NO_REPLY, ""),
            AskError::Interrupted => Self::new(INTERRUPTED, ""),
            AskError::Lost { .. } => Self::new(LOST, ""),
            AskError::BadReply(error) => Self::new(BAD_REPLY, error.to_string()),
        }
    }

    pub(crate) fn refusal(error: &TellError) -> Self {
        match error {
            TellError::UnknownKind { .. } => Self::new(UNKNOWN_KIND, ""),
            TellError::Overloaded { capacity, .. } => Self::new(OVERLOADED, capacity.to_string()),
            TellError::Stopped { .. } => Self::new(STOPPED, ""),
            TellError::NoSuchActor { .. } => Self::new(NO_SUCH_ACTOR, ""),
            TellError::Congested { .. } => Self::new(CONGESTED, ""),
            TellError::HashDiffers { .. } => Self::new(HASH_DIFFERS, ""),
            TellError::Codec(error) => Self::new(CODEC, error.to_string()),
            TellError::NoOwner { shard, .. } => Self::new(NO_OWNER, shard.get().to_string()),
            TellError::NoShard(_)
            | TellError::InvalidId(_)
            | TellError::Unreachable { .. }
            | TellError::TooLarge { .. }
            | TellError::Unsupported { .. } => Self::new(NO_SHARD, error.to_string()),
        }
    }

    /// A word for it, as a label of metrics.
    pub(crate) fn label(&self) -> &'static str {
        match self.code {
            UNKNOWN_KIND => "unknown_kind",
            OVERLOADED => "overloaded",
            STOPPED => "stopped",
            CODEC => "codec",
            NO_SUCH_ACTOR => "no_such_actor",
            CONGESTED => "congested",
            HASH_DIFFERS => "hash_differs",
            NO_OWNER => "no_owner",
            _ => "refused",
        }
    }

    /// The error that an asker on this side sees.
    pub(crate) fn error(&self, about: &About<'_>) -> AskError {
        let cause = || Cause::said(&self.text);
        match self.code {
            START_FAILED => AskError::StartFailed(cause()),
            EXPIRED => AskError::Expired,
            TIMED_OUT => AskError::TimedOut,
            FAILED => AskError::Failed(cause()),
            NO_REPLY => AskError::NoReply,
            INTERRUPTED => AskError::Interrupted,
            LOST => AskError::Lost {
                node: about.node.clone(),
            },
            BAD_REPLY => AskError::BadReply(CodecError::remote(about.node, &self.text)),
            MAY_BE_EXECUTED.. => AskError::Interrupted,
            _ => AskError::NotSent(self.tell_error(about)),
        }
    }

    fn tell_error(&self, about: &About<'_>) -> TellError {
        let (kind, id, node) = (about.kind, || about.id.clone(), || about.node.clone());
        let other = || TellError::Unsupported {
            node: node(),
            reason: self.text.to_string(),
        };
        match self.code {
            UNKNOWN_KIND => TellError::UnknownKind {
                kind: kind.to_owned(),
            },
            OVERLOADED => TellError::Overloaded {
                kind,
                id: id(),
                capacity: self.text.parse().unwrap_or(0),
            },
            STOPPED => TellError::Stopped { kind, id: id() },
            CODEC => TellError::Codec(CodecError::remote(about.node, &self.text)),
            NO_SUCH_ACTOR => TellError::NoSuchActor {
                name: id(),
                node: node(),
            },
            CONGESTED => TellError::Congested { node: node() },
            HASH_DIFFERS => TellError::HashDiffers { kind },
            NO_OWNER => {
                let shard = self.text.parse().ok().and_then(ShardId::new);
                shard.map_or_else(other, |shard| TellError::NoOwner {
                    kind,
                    id: id(),
                    shard,
                })
            }
            _ => other(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    fn read(code: u64, text: &str) -> AskError {
        let (node, id) = (NodeName::new("b"), EntityId::new("alice"));
        let (node, id) = (node.expect("a name"), id.expect("an id"));
        let about = About {
            node: &node,
            kind: "account",
            id: &id,
        };
        Fault::new(code, text).error(&about)
    }

    #[test]
    fn who_lost_the_shard_meanwhile_says_that_it_may_be_tried_again() {
        let lost = TellError::NoOwner {
            kind: "account",
            id: EntityId::new("alice").expect("an id"),
            shard: ShardId::new(7).expect("a shard"),
        };
        let fault = Fault::refusal(&lost);
        let error = read(fault.code, &fault.text);
        assert_eq!(error, AskError::NotSent(lost));
        assert!(error.is_retryable());
        // Whatever is not a number of a shard.
        for text in ["0", "", "seven"] {
            assert_eq!(read(NO_OWNER, text).outcome(), Outcome::NotExecuted);
        }
    }

    #[test]
    fn of_reasons_that_only_later_versions_know_some_are_no_refusals() {
        let outcome = |code| read(code, "something new").outcome();
        assert_eq!(outcome(MAY_BE_EXECUTED - 1), Outcome::NotExecuted);
        assert_eq!(outcome(MAY_BE_EXECUTED), Outcome::Unknown);
        assert_eq!(outcome(u64::MAX), Outcome::Unknown);
    }
}
