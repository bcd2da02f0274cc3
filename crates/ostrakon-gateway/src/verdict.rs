//! What each error of an ask or a tell becomes: its status, and what to do. The table in `docs/gateway.md` is this file.
//!
//! | status | means | the same request again |
//! |---|---|---|
//! | 400, 413 | the request cannot be used | fails again |
//! | 422 | the entity has answered with its own error | is executed again |
//! | 429, 503 | surely not executed | is safe, after `Retry-After` |
//! | 500 | the entity or the cluster is at fault; `outcome` says whether it was executed | helps only when that is mended |
//! | 504 | nobody knows whether it was executed | may execute it twice |
//!
//! What is known of the message is taken from the runtime, not decided here. Every variant is named: the enums may grow, so there is an arm for the rest,
//! but the lint against wildcards refuses it as long as it hides a variant that there is.

use axum::http::StatusCode;
use ostrakon::{AskError, StreamError, TellError};

use crate::problem::{Fate, Problem, Retry};

const WAIT: &str = "it was not executed: send it again after a pause";
const LESS: &str = "it was not executed: send less, or the same again after a pause";
const LOOK: &str = "it may have been executed: look before you send it again";
const SETUP: &str = "it was not executed: the cluster is not set up for it, see the error";

impl From<TellError> for Problem {
    fn from(error: TellError) -> Self {
        let (status, remedy) = match &error {
            TellError::InvalidId(_) => (StatusCode::BAD_REQUEST, "choose another id"),
            TellError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "send less at once"),
            TellError::Overloaded { .. } | TellError::Congested { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, LESS)
            }
            TellError::NoOwner { .. } | TellError::Unreachable { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, WAIT)
            }
            TellError::Stopped { .. } => (
                StatusCode::SERVICE_UNAVAILABLE,
                "it was not executed: this gateway's node is leaving, send it to another one",
            ),
            TellError::NoShard(_)
            | TellError::UnknownKind { .. }
            | TellError::NoSuchActor { .. }
            | TellError::HashDiffers { .. }
            | TellError::Unsupported { .. }
            | TellError::Codec(_) => (StatusCode::INTERNAL_SERVER_ERROR, SETUP),
            _ if error.is_retryable() => (StatusCode::SERVICE_UNAVAILABLE, WAIT),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, SETUP),
        };
        Self::new(status, words(&error), remedy).advised()
    }
}

impl From<AskError> for Problem {
    fn from(error: AskError) -> Self {
        let outcome = Fate::from(error.outcome());
        let is_retryable = error.is_retryable();
        let text = words(&error);
        let (status, remedy) = match error {
            AskError::Rejected(never) => match never {},
            AskError::NotSent(error) => return error.into(),
            AskError::StartFailed(_) | AskError::Expired => (StatusCode::SERVICE_UNAVAILABLE, WAIT),
            AskError::TimedOut | AskError::Interrupted | AskError::Lost { .. } => {
                (StatusCode::GATEWAY_TIMEOUT, LOOK)
            }
            AskError::Failed(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "it may have taken effect in part: look before you send it again",
            ),
            AskError::NoReply | AskError::BadReply(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "it was executed: do not send it again",
            ),
            AskError::Cycle(_) => (StatusCode::INTERNAL_SERVER_ERROR, SETUP),
            _ if is_retryable => (StatusCode::SERVICE_UNAVAILABLE, WAIT),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, LOOK),
        };
        Self {
            outcome,
            ..Self::new(status, text, remedy).advised()
        }
    }
}

/// Why a stream ended before its end.
impl From<StreamError> for Problem {
    fn from(error: StreamError) -> Self {
        let remedy = match error {
            StreamError::Interrupted => "the items so far are good: call again for the rest",
            StreamError::Codec(_) => "the nodes need the same types",
            StreamError::NotOpened(_) | _ => "call again for the rest",
        };
        Self {
            outcome: Fate::Failed,
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, words(&error), remedy)
        }
    }
}

impl Problem {
    /// Whether the same request may be sent again follows from the status.
    fn advised(mut self) -> Self {
        let is_safe = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        if is_safe.contains(&self.status) {
            self.retry = Retry::Safe;
        }
        self
    }
}

/// An error with its causes.
fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words += &format!(": {cause}");
        source = cause.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use ostrakon::{CodecError, EntityId, NodeName, ShardId};

    use super::*;

    fn id() -> EntityId {
        EntityId::new("x").unwrap()
    }

    fn node() -> NodeName {
        NodeName::new("node-1").unwrap()
    }

    fn codec() -> CodecError {
        CodecError::Remote {
            node: node(),
            cause: "another version".to_owned(),
        }
    }

    /// What was not sent, with the status it gets.
    fn not_sent() -> Vec<(TellError, u16)> {
        let (kind, id, node) = ("account", id(), node());
        let shard = ShardId::new(1).unwrap();
        vec![
            (EntityId::new("").unwrap_err().into(), 400),
            (TellError::TooLarge { size: 2, limit: 1 }, 413),
            (
                TellError::Overloaded {
                    kind,
                    id: id.clone(),
                    capacity: 1,
                },
                429,
            ),
            (TellError::Congested { node: node.clone() }, 429),
            (
                TellError::NoOwner {
                    kind,
                    id: id.clone(),
                    shard,
                },
                503,
            ),
            (TellError::Unreachable { node: node.clone() }, 503),
            (
                TellError::Stopped {
                    kind,
                    id: id.clone(),
                },
                503,
            ),
            (
                TellError::UnknownKind {
                    kind: kind.to_owned(),
                },
                500,
            ),
            (
                TellError::NoSuchActor {
                    name: id,
                    node: node.clone(),
                },
                500,
            ),
            (TellError::HashDiffers { kind }, 500),
            (
                TellError::Unsupported {
                    node,
                    reason: "old".to_owned(),
                },
                500,
            ),
            (TellError::Codec(codec()), 500),
        ]
    }

    #[test]
    fn what_was_not_sent_was_not_executed_and_is_repeated_where_that_can_help() {
        for (error, status) in not_sent() {
            let is_worth_it = error.is_retryable() || matches!(error, TellError::Stopped { .. });
            let retry = if is_worth_it { Retry::Safe } else { Retry::No };
            for problem in [
                Problem::from(error.clone()),
                Problem::from(AskError::NotSent(error.clone())),
            ] {
                assert_eq!(problem.status, status, "{error}");
                assert_eq!(problem.outcome, Fate::NotExecuted, "{error}");
                assert_eq!(problem.retry, retry, "{error}");
            }
        }
    }

    #[test]
    fn what_was_sent_is_repeated_only_if_it_was_surely_not_executed() {
        let table = [
            (AskError::Expired, 503, Fate::NotExecuted, Retry::Safe),
            (AskError::TimedOut, 504, Fate::Unknown, Retry::No),
            (AskError::Interrupted, 504, Fate::Unknown, Retry::No),
            (
                AskError::Lost { node: node() },
                504,
                Fate::Unknown,
                Retry::No,
            ),
            (AskError::NoReply, 500, Fate::Executed, Retry::No),
            (AskError::BadReply(codec()), 500, Fate::Executed, Retry::No),
        ];
        for (error, status, outcome, retry) in table {
            assert_eq!(error.is_retryable(), retry == Retry::Safe, "{error}");
            let problem = Problem::from(error);
            assert_eq!(problem.status, status, "{problem:?}");
            assert_eq!((problem.outcome, problem.retry), (outcome, retry));
        }
    }
}
