//! `Arrival`: a message that has come from another node, on its way to its host.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use ostrakon_core::{EntityId, Epoch, ShardId, Time};

use super::frame::Addressee;
use crate::{
    Entity, TellError, TraceContext,
    host::envelope::{Ask, Envelope, Letter, Sealed},
    wire::{self, Ports},
};

/// A payload with this much is not decoded where others wait for the link.
pub(crate) const LARGE: usize = 16 * 1024;

pub(crate) struct Arrival<'a> {
    pub(crate) id: EntityId,
    /// `None` for an actor, which nobody owns.
    pub(crate) claim: Option<Claim>,
    pub(crate) payload: &'a [u8],
    /// What a large payload is the last part of.
    pub(crate) whole: Option<&'a Bytes>,
    pub(crate) ports: Ports,
    pub(crate) ask: Option<Ask>,
    pub(crate) trace: Option<Arc<TraceContext>>,
    /// The time, where it is known without reading the clock.
    pub(crate) now: Option<Time>,
    /// How much of the sender's messages waits here.
    pub(crate) load: &'a Arc<AtomicUsize>,
}

/// As whose owner a message takes us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) shard: ShardId,
    pub(crate) epoch: Epoch,
}

impl Claim {
    /// `None` for an actor, which nobody owns.
    pub(crate) fn of(addressee: Addressee) -> Option<Self> {
        match addressee {
            Addressee::Entity { shard, epoch } => Some(Self { shard, epoch }),
            Addressee::Actor => None,
        }
    }
}

impl Arrival<'_> {
    /// The envelope for its entity, and whether it is small enough to be handled at once.
    pub(crate) fn open<E: Entity>(self) -> Result<(EntityId, bool, Envelope<E>), TurnedAway> {
        let Self {
            id,
            payload,
            whole,
            ports,
            ask,
            trace,
            load,
            ..
        } = self;
        let small = payload.len() < LARGE;
        let letter = if small {
            let bytes = payload;
            match wire::decode(E::CODEC, wire::Encoded { bytes, ports }) {
                Ok(message) => Letter::Open(message),
                Err(error) => return Err(TurnedAway::refused(error.into(), ask)),
            }
        } else {
            seal(payload, whole, ports, load)
        };
        Ok((id, small, Envelope::new(letter, ask).traced(trace)))
    }

    #[cold]
    pub(crate) fn turned_away(self, error: TellError) -> TurnedAway {
        TurnedAway::refused(error, self.ask)
    }
}

/// A message that its host does not take. It was not executed.
pub(crate) enum TurnedAway {
    /// The shard is not ours: the message goes back.
    NotOwner {
        ask: Option<Ask>,
        /// The message and its replies, which must not be dropped before they have been told to be silent.
        letter: Box<dyn Any + Send>,
    },
    Refused {
        error: TellError,
        ask: Option<Ask>,
        /// As above, if the message had come as far as its host.
        letter: Option<Box<dyn Any + Send>>,
    },
}

impl TurnedAway {
    #[cold]
    pub(crate) fn not_owner<E: Entity>(envelope: Envelope<E>) -> Self {
        let (ask, letter) = parts(envelope);
        Self::NotOwner { ask, letter }
    }

    /// Its mailbox is full.
    #[cold]
    pub(crate) fn full<E: Entity>(error: TellError, envelope: Envelope<E>) -> Self {
        let (ask, letter) = parts(envelope);
        let letter = Some(letter);
        Self::Refused { error, ask, letter }
    }

    #[cold]
    pub(crate) fn refused(error: TellError, ask: Option<Ask>) -> Self {
        let letter = None;
        Self::Refused { error, ask, letter }
    }
}

/// What is decoded when its turn comes.
#[inline(never)]
fn seal<E: Entity>(
    payload: &[u8],
    whole: Option<&Bytes>,
    ports: Ports,
    load: &Arc<AtomicUsize>,
) -> Letter<E> {
    Letter::Sealed(Box::new(Sealed {
        bytes: tail(whole, payload),
        ports,
        load: Load::new(load, payload.len()),
    }))
}

/// Shares a payload with the frame that it ends, or copies it.
pub(crate) fn tail(whole: Option<&Bytes>, payload: &[u8]) -> Bytes {
    match whole {
        Some(whole) => whole.slice(whole.len() - payload.len()..),
        None => Bytes::copy_from_slice(payload),
    }
}

fn parts<E: Entity>(envelope: Envelope<E>) -> (Option<Ask>, Box<dyn Any + Send>) {
    let Envelope { letter, ask, .. } = envelope;
    let letter: Box<dyn Any + Send> = match letter {
        Letter::Open(message) => Box::new(message),
        Letter::Again(again) => again,
        Letter::Sealed(sealed) => sealed,
    };
    (ask, letter)
}

/// A message's part of the memory that its sender may use here; given back when it is dropped.
pub(crate) struct Load {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

impl Load {
    pub(crate) fn new(all: &Arc<AtomicUsize>, bytes: usize) -> Self {
        all.fetch_add(bytes, Ordering::Relaxed);
        Self {
            all: Arc::clone(all),
            bytes,
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
