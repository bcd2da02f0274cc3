//! `Asked`: the asker's hold on its ask, from sending to the outcome.

use ostrakon_core::Time;

use crate::{
    AskError, Payload,
    clock::Clock,
    link::{Ticket, Withdrawn},
    reply::{Settle, Slot},
};

/// The asker's hold on its ask: letting go takes the message back.
pub(super) struct Asked<'s, R: Payload> {
    slot: &'s Slot<R>,
    /// The message has gone to another node.
    away: Option<Ticket<'s>>,
    over: bool,
}

/// Why an asker stopped waiting.
pub(super) enum GaveUp {
    Error(AskError),
    /// The message never left this node.
    Unsent,
}

impl<'s, R: Payload> Asked<'s, R> {
    pub(super) fn new(slot: &'s Slot<R>) -> Self {
        Self {
            slot,
            away: None,
            over: false,
        }
    }

    /// The message has gone to another node.
    pub(super) fn went_away(&mut self, ticket: Ticket<'s>) {
        self.away = Some(ticket);
    }

    /// Waits for the outcome, until the deadline at most.
    pub(super) async fn outcome(mut self, clock: Clock, deadline: Time) -> Result<R, GaveUp> {
        let slot = self.slot;
        // The link watches the deadline, as long as it has the message.
        if self.is_on_link()
            && let Some(outcome) = std::future::poll_fn(|cx| slot.poll_on_link(cx)).await
        {
            self.over = true;
            return outcome.map_err(GaveUp::Error);
        }
        let outcome = match slot.take() {
            Some(outcome) => outcome.map_err(GaveUp::Error),
            None => {
                let answer = std::future::poll_fn(|cx| slot.poll(cx));
                let deadline = clock.instant(deadline);
                // Boxed, so that the many asks that need no timer do not carry its space around.
                let answer = Box::pin(tokio::time::timeout_at(deadline, answer)).await;
                match answer {
                    Ok(outcome) => outcome.map_err(GaveUp::Error),
                    Err(_) => self.give_up(),
                }
            }
        };
        self.over = true;
        outcome
    }

    /// Whether a link has the message; it may also wait in a lane.
    fn is_on_link(&self) -> bool {
        let ticket = self.away.as_ref();
        ticket.is_some_and(|ticket| ticket.request != 0)
    }

    /// The deadline has passed.
    fn give_up(&self) -> Result<R, GaveUp> {
        let outcome = self.slot.give_up();
        match outcome {
            Err(AskError::TimedOut) if self.withdraw() == Some(Withdrawn::Unsent) => {
                Err(GaveUp::Unsent)
            }
            Err(AskError::Expired) => {
                // It waits in a lane; nobody must send it now.
                match self.withdraw() {
                    Some(_) => Err(GaveUp::Unsent),
                    None => Err(GaveUp::Error(AskError::Expired)),
                }
            }
            outcome => outcome.map_err(GaveUp::Error),
        }
    }

    fn withdraw(&self) -> Option<Withdrawn> {
        Some(self.away.as_ref()?.withdraw(self.slot.id()))
    }
}

impl<R: Payload> Drop for Asked<'_, R> {
    fn drop(&mut self) {
        if !self.over && self.slot.abandon() {
            self.withdraw();
        }
    }
}
