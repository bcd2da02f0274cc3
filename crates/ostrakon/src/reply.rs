//! `Reply<T>`: the way back from an entity to whoever asked.
//!
//! A reply travels inside the message. Asker and reply share a slot; the runtime holds a third hand on it, the
//! [`Pending`], with which it says what became of the message when the handler does not. Invariant: the asker
//! learns exactly one outcome, and the first one counts.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    AskError, Payload,
    lock::Mutex,
    wire::{self, AnswerPort, Port},
};

/// Answers one ask. Send it to its asker with [`Reply::send`], keep it for later, or pass it on inside another message.
///
/// Dropping the last copy without answering gives the asker [`AskError::NoReply`].
pub struct Reply<T: Payload>(Target<T>);

enum Target<T: Payload> {
    /// A tell: nobody waits.
    Nobody,
    /// The asker is in this process.
    Here(Arc<Slot<T>>),
    /// The asker is behind a codec: on another node, or in this one with forced serialization.
    There(AnswerPort),
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The asker has it, or it is on its way.
    Delivered,
    /// The message was told, not asked: nobody waits.
    NotAsked,
    /// The asker has given up: its deadline passed, or it dropped the ask.
    TooLate,
    /// Another copy of this reply was faster.
    Already,
}

impl<T: Payload> Reply<T> {
    /// A reply that nobody waits for: put it into a message that is told.
    pub fn ignored() -> Self {
        Self(Target::Nobody)
    }

    /// Answers. Of several copies of one reply the first answer counts.
    pub fn send(mut self, value: T) -> Answered {
        let answered = match mem::replace(&mut self.0, Target::Nobody) {
            Target::Nobody => Answered::NotAsked,
            // The count of copies no longer matters once there is an outcome, so it is not brought down.
            Target::Here(slot) => slot.answer(Ok(value)),
            Target::There(port) => port.send(&value),
        };
        if answered == Answered::TooLate {
            metrics::counter!("ostrakon_late_replies_total").increment(1);
        }
        answered
    }

    /// Whether somebody still waits for the answer: lets a handler skip work that nobody wants any more.
    pub fn is_wanted(&self) -> bool {
        match &self.0 {
            Target::Nobody => false,
            Target::Here(slot) => slot.is_wanted(),
            Target::There(port) => port.is_wanted(),
        }
    }

    /// Answers or fails without using this copy up.
    pub(crate) fn settle(&self, outcome: Result<T, AskError>) -> Answered {
        match &self.0 {
            Target::Here(slot) => slot.answer(outcome),
            Target::Nobody | Target::There(_) => Answered::NotAsked,
        }
    }

    /// The first copy of the reply to a new ask, which counts it already.
    pub(crate) fn first(slot: &Arc<Slot<T>>) -> Self {
        Self(Target::Here(Arc::clone(slot)))
    }
}

impl<T: Payload> Clone for Reply<T> {
    fn clone(&self) -> Self {
        match &self.0 {
            Target::Nobody => Self::ignored(),
            Target::Here(slot) => {
                slot.copies.fetch_add(1, Ordering::Relaxed);
                Self(Target::Here(Arc::clone(slot)))
            }
            Target::There(port) => Self(Target::There(port.clone())),
        }
    }
}

impl<T: Payload> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Target::Here(slot) = &self.0 {
            slot.copy_dropped();
        }
    }
}

impl<T: Payload> std::fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Target::Nobody => "Reply(nobody)",
            Target::Here(_) => "Reply(here)",
            Target::There(_) => "Reply(there)",
        })
    }
}

impl<T: Payload> Serialize for Reply<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = match &self.0 {
            Target::Nobody => None,
            Target::Here(_) => Some(wire::export(|codec| {
                Port::Answer(AnswerPort::decoding(self.clone(), codec))
            })?),
            Target::There(port) => Some(wire::export(|_| Port::Answer(port.clone()))?),
        };
        place.serialize(serializer)
    }
}

impl<'de, T: Payload> Deserialize<'de> for Reply<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(place) = Option::<u32>::deserialize(deserializer)? else {
            return Ok(Self::ignored());
        };
        match wire::import(place)? {
            None => Ok(Self::ignored()),
            Some(Port::Answer(port)) => Ok(Self(Target::There(port))),
            Some(Port::Items(_)) => Err(serde::de::Error::custom(
                "the message has a stream reply where a reply is expected",
            )),
        }
    }
}

/// What asker, reply and runtime share for one ask.
///
/// The stage decides who may do what and is changed by compare-and-swap; the value and the waker are only touched by
/// whoever the stage has let through.
pub(crate) struct Slot<T> {
    stage: AtomicU8,
    /// Live [`Reply`] copies.
    copies: AtomicU32,
    mail: Mutex<Mail<T>>,
}

struct Mail<T> {
    outcome: Option<Result<T, AskError>>,
    waker: Option<Waker>,
}

/// The message waits for its turn.
const WAITING: u8 = 0;
/// A handler has it.
const RUNNING: u8 = 1;
/// The handler ended well and somebody kept the reply: the answer may come later.
const KEPT: u8 = 2;
/// Answered or failed.
const SETTLED: u8 = 3;
/// The asker is gone.
const ABANDONED: u8 = 4;

impl<T> Slot<T> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            stage: AtomicU8::new(WAITING),
            copies: AtomicU32::new(1),
            mail: Mutex::new(Mail {
                outcome: None,
                waker: None,
            }),
        })
    }

    /// Moves from one stage to another. `false`: it was in a different one.
    fn advance(&self, from: u8, to: u8) -> bool {
        let swapped = self
            .stage
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        swapped.is_ok()
    }

    /// Moves to `to` from any stage in which the ask is open, and returns the stage it was in.
    fn close(&self, to: u8) -> u8 {
        let closed = self
            .stage
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |stage| {
                (stage < SETTLED).then_some(to)
            });
        closed.unwrap_or_else(|stage| stage)
    }

    fn stage(&self) -> u8 {
        self.stage.load(Ordering::Acquire)
    }

    /// The outcome, if it is there: once.
    pub(crate) fn take(&self) -> Option<Result<T, AskError>> {
        self.mail.lock().outcome.take()
    }

    /// The asker's side: the outcome, once.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<T, AskError>> {
        let mut mail = self.mail.lock();
        if let Some(outcome) = mail.outcome.take() {
            return Poll::Ready(outcome);
        }
        if !mail.waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            mail.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// The asker's deadline has passed: tells what is known at this moment.
    pub(crate) fn give_up(&self) -> Result<T, AskError> {
        match self.close(ABANDONED) {
            WAITING => Err(AskError::Expired),
            RUNNING | KEPT => Err(AskError::TimedOut),
            // Settled a moment ago: its outcome is there, or about to be.
            _ => self.take().unwrap_or(Err(AskError::TimedOut)),
        }
    }

    /// The asker is gone and wants nothing any more.
    pub(crate) fn abandon(&self) {
        self.close(ABANDONED);
    }

    pub(crate) fn answer(&self, outcome: Result<T, AskError>) -> Answered {
        match self.close(SETTLED) {
            SETTLED => return Answered::Already,
            ABANDONED => return Answered::TooLate,
            _ => {}
        }
        let mut mail = self.mail.lock();
        mail.outcome = Some(outcome);
        let waker = mail.waker.take();
        drop(mail);
        if let Some(waker) = waker {
            waker.wake();
        }
        Answered::Delivered
    }

    fn is_wanted(&self) -> bool {
        self.stage() < SETTLED
    }

    fn copy_dropped(&self) {
        // Before its turn is over the runtime speaks for the message: it knows better why there is no answer.
        if self.copies.fetch_sub(1, Ordering::AcqRel) == 1 && self.stage() == KEPT {
            self.answer(Err(AskError::NoReply));
        }
    }
}

/// The runtime's hand on an ask, whatever the type of its answer.
pub(crate) trait Settle: Send + Sync {
    /// The message's turn has come. `false`: nobody wants it any more, it must not run.
    fn begin(&self) -> bool;
    /// The handler ended well; if nobody answered and nobody can any more, that is the outcome.
    fn handled(&self);
    /// The message failed with `error`, unless it was answered before.
    fn fail(&self, error: AskError);
    /// The runtime lets go without a word: the entity ended under the message.
    fn let_go(&self);
}

impl<T: Send> Settle for Slot<T> {
    fn begin(&self) -> bool {
        self.advance(WAITING, RUNNING) || self.stage() != ABANDONED
    }

    fn handled(&self) {
        // The last copy may be dropped right after we look: then it sees that the reply is kept, and answers itself.
        if self.stage() == RUNNING
            && self.advance(RUNNING, KEPT)
            && self.copies.load(Ordering::Acquire) == 0
        {
            self.answer(Err(AskError::NoReply));
        }
    }

    fn fail(&self, error: AskError) {
        self.answer(Err(error));
    }

    fn let_go(&self) {
        if self.stage() < KEPT {
            self.answer(Err(AskError::Interrupted));
        }
    }
}

/// A streaming ask: it is answered when its turn has come, the items follow on their own way.
pub(crate) struct Opening(pub(crate) Arc<Slot<()>>);

impl Settle for Opening {
    fn begin(&self) -> bool {
        let wanted = self.0.begin();
        if wanted {
            self.0.answer(Ok(()));
        }
        wanted
    }

    fn handled(&self) {}

    fn fail(&self, error: AskError) {
        self.0.fail(error);
    }

    fn let_go(&self) {
        self.0.let_go();
    }
}

/// The envelope's hand on its ask. If it is dropped without a word, the asker learns that the entity ended.
pub(crate) struct Pending(Option<Arc<dyn Settle>>);

impl Pending {
    pub(crate) fn new(slot: Arc<dyn Settle>) -> Self {
        Self(Some(slot))
    }

    pub(crate) fn begin(&self) -> bool {
        self.0.as_ref().is_some_and(|slot| slot.begin())
    }

    pub(crate) fn handled(mut self) {
        if let Some(slot) = self.0.take() {
            slot.handled();
        }
    }

    pub(crate) fn fail(mut self, error: AskError) {
        if let Some(slot) = self.0.take() {
            slot.fail(error);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(slot) = &self.0 {
            slot.let_go();
        }
    }
}
