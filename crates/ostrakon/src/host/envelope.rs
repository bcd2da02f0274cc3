//! `Envelope`: a message on its way to one entity, and what must be known about it before it is handled.

use ostrakon_core::Time;

use crate::{CallChain, Entity, reply::Pending};

pub(crate) struct Envelope<E: Entity> {
    pub(crate) message: E::Message,
    /// `None` for a tell.
    pub(crate) ask: Option<Ask>,
    /// How often handling this message has failed.
    pub(crate) failures: u8,
}

/// The asker's side of an envelope.
pub(crate) struct Ask {
    pub(crate) pending: Pending,
    pub(crate) deadline: Time,
    /// Who waits for the answer, when it is an entity.
    pub(crate) chain: Option<CallChain>,
}

impl<E: Entity> Envelope<E> {
    pub(crate) fn tell(message: E::Message) -> Self {
        Self {
            message,
            ask: None,
            failures: 0,
        }
    }

    pub(crate) fn ask(message: E::Message, ask: Ask) -> Self {
        Self {
            message,
            ask: Some(ask),
            failures: 0,
        }
    }
}
