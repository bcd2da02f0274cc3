//! Dead letters: messages that were accepted and will never be handled to the end.
//!
//! Only what nobody else is told about ends here: an asker gets its error. Each is counted, logged and given to whoever
//! has subscribed. Subscribers that fall behind lose the oldest, which the subscription says.

use ostrakon_core::EntityId;
use tokio::sync::broadcast;

use crate::{Cause, Entity, host::gate};

/// How many dead letters wait for a slow subscriber.
const BACKLOG: usize = 1024;

/// A message that will not be handled.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The kind of the entity it was for.
    pub kind: &'static str,
    /// The id of the entity it was for.
    pub id: EntityId,
    /// Why it was given up.
    pub reason: DeadReason,
    /// The message, encoded with its kind's codec; `None` when the handler had taken it.
    pub message: Option<Vec<u8>>,
}

/// Why a message was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadReason {
    /// Its handler failed, and it may not be handled twice.
    Failed(Cause),
    /// Its handler failed three times on it.
    Poison(Cause),
    /// The entity could not start while it waited.
    StartFailed(Cause),
    /// The entity was stopped for good while it waited.
    Stopped,
    /// It came from another node and could not be decoded.
    Unreadable(Cause),
    /// A timer's message found the mailbox full, or the entity had too many timers.
    Overloaded,
}

impl DeadReason {
    fn label(&self) -> &'static str {
        match self {
            Self::Failed(_) => "failed",
            Self::Poison(_) => "poison",
            Self::StartFailed(_) => "start_failed",
            Self::Stopped => "stopped",
            Self::Unreadable(_) => "unreadable",
            Self::Overloaded => "overloaded",
        }
    }
}

#[derive(Clone)]
pub(crate) struct DeadLetters(broadcast::Sender<DeadLetter>);

impl DeadLetters {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }

    pub(crate) fn subscribe(&self) -> DeadLetterSubscription {
        DeadLetterSubscription(self.0.subscribe())
    }

    pub(crate) fn bury<E: Entity>(
        &self,
        id: &EntityId,
        reason: DeadReason,
        message: Option<&E::Message>,
    ) {
        metrics::counter!("ostrakon_dead_letters_total", "kind" => E::KIND, "reason" => reason.label())
            .increment(1);
        tracing::warn!(kind = E::KIND, %id, reason = reason.label(), "dead letter");
        if self.0.receiver_count() == 0 {
            return;
        }
        let letter = DeadLetter {
            kind: E::KIND,
            id: id.clone(),
            reason,
            // One that cannot be encoded is still worth a letter.
            message: message.and_then(|message| gate::call(|| E::CODEC.encode(message)).ok()?.ok()),
        };
        // The last subscriber may have gone just now.
        let _ = self.0.send(letter);
    }
}

/// Receives dead letters from the moment of subscribing.
pub struct DeadLetterSubscription(broadcast::Receiver<DeadLetter>);

impl DeadLetterSubscription {
    /// The next dead letter; `None` once the node is gone. Letters that came faster than they were read are skipped, and counted in the log.
    pub async fn next(&mut self) -> Option<DeadLetter> {
        loop {
            match self.0.recv().await {
                Ok(letter) => return Some(letter),
                Err(broadcast::error::RecvError::Closed) => return None,
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "a dead-letter subscriber fell behind");
                }
            }
        }
    }
}
