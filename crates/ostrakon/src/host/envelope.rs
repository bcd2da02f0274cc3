//! `Envelope`: a message on its way to one entity, and what must be known about it before it is handled.

use std::sync::Arc;

use bytes::Bytes;
use ostrakon_core::Time;

use crate::{
    CallChain, CodecError, Entity, TraceContext, link::Load, reply::Pending, wire, wire::Ports,
};

pub(crate) struct Envelope<E: Entity> {
    pub(crate) letter: Letter<E>,
    /// `None` for a tell.
    pub(crate) ask: Option<Ask>,
    /// The trace it belongs to.
    pub(crate) trace: Option<Arc<TraceContext>>,
}

/// The message itself.
pub(crate) enum Letter<E: Entity> {
    Open(E::Message),
    /// Handling it has failed before.
    Again(Box<Again<E>>),
    /// From another node and large: it is decoded when its turn has come, not where others wait for the link.
    Sealed(Box<Sealed>),
}

pub(crate) struct Again<E: Entity> {
    pub(crate) message: E::Message,
    /// How often, this time included.
    pub(crate) failures: u8,
}

pub(crate) struct Sealed {
    pub(crate) bytes: Bytes,
    pub(crate) ports: Ports,
    /// What it takes of its sender's share of memory; given back when this is dropped.
    pub(crate) load: Load,
}

impl<E: Entity> Letter<E> {
    pub(crate) fn open(self) -> Result<E::Message, CodecError> {
        match self {
            Self::Open(message) => Ok(message),
            Self::Again(again) => Ok(again.message),
            Self::Sealed(sealed) => {
                let Sealed { bytes, ports, load } = *sealed;
                let bytes = &bytes;
                let message = wire::decode(E::CODEC, wire::Encoded { bytes, ports });
                drop(load);
                message
            }
        }
    }

    /// How often handling it has failed.
    pub(crate) fn failures(&self) -> u8 {
        match self {
            Self::Open(_) | Self::Sealed(_) => 0,
            Self::Again(again) => again.failures,
        }
    }

    /// The message, if it has been decoded.
    pub(crate) fn message(&self) -> Option<&E::Message> {
        match self {
            Self::Open(message) => Some(message),
            Self::Again(again) => Some(&again.message),
            Self::Sealed(_) => None,
        }
    }
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
        Self::new(Letter::Open(message), None)
    }

    pub(crate) fn ask(message: E::Message, ask: Ask) -> Self {
        Self::new(Letter::Open(message), Some(ask))
    }

    pub(crate) fn new(letter: Letter<E>, ask: Option<Ask>) -> Self {
        Self {
            letter,
            ask,
            trace: None,
        }
    }

    pub(crate) fn traced(mut self, trace: Option<Arc<TraceContext>>) -> Self {
        self.trace = trace;
        self
    }
}
