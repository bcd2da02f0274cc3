//! `Envelope`: a message on its way to one entity, and what must be known about it before it is handled.

use bytes::Bytes;
use ostrakon_core::Time;

use crate::{
    CallChain, CodecError, Entity, TraceContext, link::Load, reply::Pending, wire, wire::Ports,
};

pub(crate) struct Envelope<E: Entity> {
    pub(crate) letter: Letter<E>,
    /// `None` for a tell.
    pub(crate) ask: Option<Ask>,
    /// The trace it belongs to; boxed, because few have one.
    pub(crate) trace: Option<Box<TraceContext>>,
    /// How often handling this message has failed.
    pub(crate) failures: u8,
}

/// The message itself.
pub(crate) enum Letter<E: Entity> {
    Open(E::Message),
    /// From another node and large: it is decoded when its turn has come, not where others wait for the link.
    Sealed(Box<Sealed>),
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
            Self::Sealed(sealed) => {
                let Sealed { bytes, ports, load } = *sealed;
                let bytes = &bytes;
                let message = wire::decode(E::CODEC, wire::Encoded { bytes, ports });
                drop(load);
                message
            }
        }
    }

    /// The message, if it has been decoded.
    pub(crate) fn message(&self) -> Option<&E::Message> {
        match self {
            Self::Open(message) => Some(message),
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
            failures: 0,
        }
    }

    pub(crate) fn traced(mut self, trace: Option<TraceContext>) -> Self {
        self.trace = trace.map(Box::new);
        self
    }
}
