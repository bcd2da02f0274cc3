//! `Reply<T>`: the way back from an entity to whoever asked.
//!
//! A reply travels inside the message. Asker and reply share a slot; the runtime holds a third hand on it, the
//! [`Pending`], with which it says what became of the message when the handler does not. Invariant: the asker
//! learns exactly one outcome, and the first one counts.

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    AskError, Codec, CodecError, Payload,
    lock::Mutex,
    stage::{Closed, Stage},
    wire::{self, AnswerBytes, AnswerPort, AnswerSink, Delivery, Port},
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
            Target::Here(slot) => slot.answer(value),
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
            Target::Here(slot) => slot.stage.is_open(),
            Target::There(port) => port.is_wanted(),
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
                slot.stage.copied();
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
            Target::Here(slot) => Some(wire::export(|codec| {
                let sink = Arc::clone(slot) as Arc<dyn AnswerSink>;
                Port::Answer(AnswerPort::new(codec, sink))
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
/// The stage decides who may do what; the mail is only touched by whoever the stage has let through.
pub(crate) struct Slot<T> {
    stage: Stage,
    mail: Mutex<Mail<T>>,
}

struct Mail<T> {
    outcome: Option<Result<Answer<T>, AskError>>,
    waker: Option<Waker>,
    /// The message was on a link and is no more.
    is_back: bool,
}

enum Answer<T> {
    Value(T),
    /// Large, and from another node: the asker decodes it on its own time.
    Encoded(Codec, Bytes),
}

impl<T: Payload> Slot<T> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            stage: Stage::new(1),
            mail: Mutex::new(Mail {
                outcome: None,
                waker: None,
                is_back: false,
            }),
        })
    }

    /// The outcome, if it is there: once.
    pub(crate) fn take(&self) -> Option<Result<T, AskError>> {
        let outcome = self.mail.lock().outcome.take()?;
        Some(outcome.and_then(Answer::open))
    }

    /// The asker's side: the outcome, once.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<T, AskError>> {
        let mut mail = self.mail.lock();
        if let Some(outcome) = mail.outcome.take() {
            drop(mail);
            return Poll::Ready(outcome.and_then(Answer::open));
        }
        if !mail.waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            mail.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// The same for an asker whose message is on a link, which watches the deadline: `None` when it has come back from there.
    pub(crate) fn poll_on_link(&self, cx: &mut Context<'_>) -> Poll<Option<Result<T, AskError>>> {
        match self.poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending if self.mail.lock().is_back => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }

    /// The asker's deadline has passed: tells what is known at this moment.
    pub(crate) fn give_up(&self) -> Result<T, AskError> {
        match self.stage.abandon() {
            Closed::Waiting => Err(AskError::Expired),
            Closed::Running => Err(AskError::TimedOut),
            // Settled a moment ago: its outcome is there, or about to be.
            Closed::Settled | Closed::Abandoned => self.take().unwrap_or(Err(AskError::TimedOut)),
        }
    }

    /// The asker is gone and wants nothing any more. `false`: it has its outcome.
    pub(crate) fn abandon(&self) -> bool {
        matches!(self.stage.abandon(), Closed::Waiting | Closed::Running)
    }

    fn answer(&self, value: T) -> Answered {
        self.post(Ok(Answer::Value(value)))
    }

    fn post(&self, outcome: Result<Answer<T>, AskError>) -> Answered {
        self.put(outcome).wake()
    }

    /// Puts in the outcome; the caller wakes the asker.
    fn put(&self, outcome: Result<Answer<T>, AskError>) -> Delivery {
        match self.stage.settle() {
            Closed::Settled => return Answered::Already.into(),
            Closed::Abandoned => return Answered::TooLate.into(),
            Closed::Waiting | Closed::Running => {}
        }
        let mut mail = self.mail.lock();
        mail.outcome = Some(outcome);
        Delivery {
            answered: Answered::Delivered,
            waker: mail.waker.take(),
        }
    }

    fn copy_dropped(&self) {
        if self.stage.dropped() {
            self.post(Err(AskError::NoReply));
        }
    }
}

impl<T: Payload> Answer<T> {
    fn open(self) -> Result<T, AskError> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Encoded(codec, bytes) => codec.decode(&bytes).map_err(AskError::BadReply),
        }
    }
}

impl<T: Payload> AnswerSink for Slot<T> {
    fn deliver(&self, codec: Codec, answer: Result<AnswerBytes<'_>, CodecError>) -> Delivery {
        self.put(match answer {
            Ok(AnswerBytes::Owned(bytes)) => Ok(Answer::Encoded(codec, bytes)),
            Ok(AnswerBytes::Borrowed(bytes)) => codec
                .decode(bytes)
                .map(Answer::Value)
                .map_err(AskError::BadReply),
            Err(error) => Err(AskError::BadReply(error)),
        })
    }

    fn copied(&self) {
        self.stage.copied();
    }

    fn dropped(&self) {
        self.copy_dropped();
    }
}

/// Tells one ask from another, as long as its asker keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AskId(usize);

impl AskId {
    /// By what only this ask has.
    pub(crate) fn of<T>(own: &T) -> Self {
        Self(std::ptr::from_ref(own).addr())
    }
}

/// The runtime's hand on an ask, whatever the type of its answer.
pub(crate) trait Settle: Send + Sync {
    fn id(&self) -> AskId;
    /// The message leaves for another node: from now on it may be handled at any time.
    fn set_out(&self);
    /// The message did not stay where it went, and goes on from this node: whoever waits watches the deadline again.
    fn came_back(&self) {}
    /// The message's turn has come. `false`: nobody wants it any more, it must not run.
    fn begin(&self) -> bool;
    /// The handler ended well; if nobody answered and nobody can any more, that is the outcome.
    fn handled(&self);
    /// The message failed with `error`, unless it was answered before.
    fn fail(&self, error: AskError);
    /// The runtime lets go without a word: the entity ended under the message.
    fn let_go(&self);
    /// Nothing is to be said about this any more.
    fn forget(&self);
    /// Whether nobody waits for it any more.
    fn is_over(&self) -> bool;
    /// Whether it is answered as soon as its turn has come, and items follow.
    fn opens_stream(&self) -> bool {
        false
    }
}

impl<T: Payload> Settle for Slot<T> {
    fn id(&self) -> AskId {
        AskId::of(self)
    }

    fn set_out(&self) {
        self.stage.set_out();
    }

    fn came_back(&self) {
        let mut mail = self.mail.lock();
        mail.is_back = true;
        let waker = mail.waker.take();
        drop(mail);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn begin(&self) -> bool {
        self.stage.begin()
    }

    fn handled(&self) {
        if self.stage.handled() {
            self.post(Err(AskError::NoReply));
        }
    }

    fn fail(&self, error: AskError) {
        self.post(Err(error));
    }

    fn let_go(&self) {
        if self.stage.is_unhandled() {
            self.post(Err(AskError::Interrupted));
        }
    }

    fn forget(&self) {
        self.abandon();
    }

    fn is_over(&self) -> bool {
        !self.stage.is_open()
    }
}

/// A streaming ask: it is answered when its turn has come, the items follow on their own way.
pub(crate) struct Opening(pub(crate) Arc<Slot<()>>);

impl Settle for Opening {
    fn id(&self) -> AskId {
        self.0.id()
    }

    fn set_out(&self) {
        self.0.set_out();
    }

    fn came_back(&self) {
        self.0.came_back();
    }

    fn begin(&self) -> bool {
        let wanted = self.0.begin();
        if wanted {
            self.0.answer(());
        }
        wanted
    }

    fn handled(&self) {}

    fn fail(&self, error: AskError) {
        self.0.post(Err(error));
    }

    fn let_go(&self) {
        self.0.let_go();
    }

    fn forget(&self) {
        self.0.abandon();
    }

    fn is_over(&self) -> bool {
        self.0.is_over()
    }

    fn opens_stream(&self) -> bool {
        true
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

    /// The message has left this node: others speak for it now.
    pub(crate) fn forget(mut self) {
        if let Some(slot) = self.0.take() {
            slot.forget();
        }
    }

    /// Hands the ask on to somebody else.
    pub(crate) fn hand_over(mut self) -> Option<Arc<dyn Settle>> {
        self.0.take()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(slot) = &self.0 {
            slot.let_go();
        }
    }
}
