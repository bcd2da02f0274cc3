//! Guests: asks and streams from another node, as this node serves them.
//!
//! A guest is the local end of a request: what happens to its message here is sent back as one answer or fault. Invariant: exactly one,
//! and only while the connection lives that the request came on.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use super::{
    Class, Link, Load,
    fault::Fault,
    frame::{self, EndOfStream, RequestId},
    outbox::LaneKey,
};
use crate::{
    AskError, Codec, CodecError, TellError,
    reply::{Answered, AskId, Settle},
    stage::{Closed, Stage},
    stream::{ConsumerGone, Credit, EndOfItems, ItemsSink},
    wire::{AnswerBytes, AnswerSink, Delivery},
};

/// An ask, or a reply inside a message, whose asker is on another node.
pub(crate) struct Guest {
    link: Arc<Link>,
    session: u64,
    request: RequestId,
    stage: Stage,
    opens_stream: bool,
    /// The session knows it, so that it can be cancelled.
    noted: AtomicBool,
    /// What its message takes of its sender's share of memory, if it was not answered at once.
    load: OnceLock<Load>,
}

impl Guest {
    /// An ask: the runtime speaks for it until it has been handled.
    pub(crate) fn asking(
        link: &Arc<Link>,
        session: u64,
        request: RequestId,
        opens_stream: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            link: Arc::clone(link),
            session,
            request,
            stage: Stage::new(0),
            opens_stream,
            noted: AtomicBool::new(false),
            load: OnceLock::new(),
        })
    }

    /// A reply inside a message: only whoever holds it speaks for it.
    pub(crate) fn replying(link: &Arc<Link>, session: u64, request: RequestId) -> Arc<Self> {
        Arc::new(Self {
            link: Arc::clone(link),
            session,
            request,
            stage: Stage::kept(),
            opens_stream: false,
            noted: AtomicBool::new(false),
            load: OnceLock::new(),
        })
    }

    pub(crate) fn request(&self) -> RequestId {
        self.request
    }

    /// Whether it still has to be answered.
    pub(crate) fn is_open(&self) -> bool {
        self.stage.is_open()
    }

    /// Its message stays here for a while.
    pub(crate) fn carry(&self, load: Load) {
        // Nobody else says so.
        let _ = self.load.set(load);
    }

    /// The session knows this guest from now on.
    pub(crate) fn set_noted(&self) {
        self.noted.store(true, Ordering::Release);
    }

    /// Its asker is gone, or asks somebody else: nothing is to be said about it.
    pub(crate) fn forget(&self) {
        self.stage.abandon();
    }

    fn answer_with(&self, class: Class, write: impl FnOnce(&mut Vec<u8>)) -> Answered {
        match self.stage.settle() {
            Closed::Settled => return Answered::Already,
            Closed::Abandoned => return Answered::TooLate,
            Closed::Waiting | Closed::Running => {}
        }
        let sent = self.link.reply(self.session, class, LaneKey::None, write);
        if self.noted.load(Ordering::Acquire) {
            self.link.guest_left(self.session, self.request);
        }
        if sent {
            return Answered::Delivered;
        }
        if matches!(class, Class::Answer { .. }) {
            // It had no room; that much can be said.
            let fault = Fault::of(&AskError::NoReply);
            self.link
                .reply(self.session, Class::Sign, LaneKey::None, |out| {
                    frame::put_fault(out, self.request, &fault);
                });
        }
        Answered::TooLate
    }

    fn send_fault(&self, error: &AskError) {
        let fault = Fault::of(error);
        self.answer_with(Class::Sign, |out| {
            frame::put_fault(out, self.request, &fault)
        });
    }
}

impl Settle for Guest {
    fn id(&self) -> AskId {
        AskId::of(self)
    }

    fn set_out(&self) {}

    fn begin(&self) -> bool {
        let wanted = self.stage.begin();
        if wanted && self.opens_stream {
            self.answer_with(Class::Sign, |out| frame::put_answer(out, self.request, &[]));
        }
        wanted
    }

    fn handled(&self) {
        if self.stage.handled() {
            self.send_fault(&AskError::NoReply);
        }
    }

    fn fail(&self, error: AskError) {
        self.send_fault(&error);
    }

    fn let_go(&self) {
        if self.stage.is_unhandled() {
            self.send_fault(&AskError::Interrupted);
        }
    }

    fn forget(&self) {
        self.forget();
    }

    fn is_over(&self) -> bool {
        !self.stage.is_open()
    }
}

impl AnswerSink for Guest {
    fn deliver(&self, _: Codec, answer: Result<AnswerBytes<'_>, CodecError>) -> Delivery {
        let answered = match answer {
            Ok(bytes) if bytes.as_slice().len() > self.link.most() => {
                let (size, limit) = (bytes.as_slice().len(), self.link.most());
                let error = TellError::TooLarge { size, limit };
                self.send_fault(&AskError::BadReply(CodecError::remote(
                    self.link.me(),
                    &error.to_string(),
                )));
                Answered::TooLate
            }
            Ok(bytes) => {
                let bytes = bytes.as_slice();
                let class = Class::Answer { size: bytes.len() };
                self.answer_with(class, |out| frame::put_answer(out, self.request, bytes))
            }
            Err(error) => {
                self.send_fault(&AskError::BadReply(error));
                Answered::Delivered
            }
        };
        answered.into()
    }

    fn copied(&self) {
        self.stage.copied();
    }

    fn dropped(&self) {
        if self.stage.dropped() {
            self.send_fault(&AskError::NoReply);
        }
    }
}

/// A stream whose consumer is on another node.
pub(crate) struct GuestStream {
    link: Arc<Link>,
    session: u64,
    request: RequestId,
    credit: Arc<Credit>,
    over: AtomicBool,
}

impl GuestStream {
    pub(crate) fn new(link: &Arc<Link>, session: u64, request: RequestId) -> Arc<Self> {
        Arc::new(Self {
            link: Arc::clone(link),
            session,
            request,
            credit: Arc::new(Credit::new()),
            over: AtomicBool::new(false),
        })
    }

    /// The message it came with goes back: nothing is to be said.
    pub(crate) fn forget(&self) {
        self.over.store(true, Ordering::Release);
        self.link.stream_ended(self.session, self.request);
    }
}

impl ItemsSink for GuestStream {
    fn deliver(&self, _: Codec, item: &[u8]) -> Result<(), ConsumerGone> {
        let lane = LaneKey::Stream(self.request);
        let sent = item.len() <= self.link.most()
            && self.link.reply(
                self.session,
                Class::Answer { size: item.len() },
                lane,
                |out| {
                    frame::put_item(out, self.request, item);
                },
            );
        if sent {
            return Ok(());
        }
        self.end(if item.len() > self.link.most() {
            // Not only interrupted: others must not bring the stream to a good end, and to ask for it again would not help.
            let why = "an item is larger than a message may be";
            EndOfItems::Broken(CodecError::remote(self.link.me(), why))
        } else {
            EndOfItems::Interrupted
        });
        Err(ConsumerGone)
    }

    fn end(&self, end: EndOfItems) {
        if self.over.swap(true, Ordering::AcqRel) {
            return;
        }
        let how = match end {
            EndOfItems::Finished => EndOfStream::Finished,
            EndOfItems::Interrupted => EndOfStream::Interrupted,
            EndOfItems::Broken(_) => EndOfStream::Broken,
        };
        let lane = LaneKey::Stream(self.request);
        self.link.reply(self.session, Class::Sign, lane, |out| {
            frame::put_end(out, self.request, how);
        });
        self.link.stream_ended(self.session, self.request);
        // Nobody gives any more: whoever still wants to send must not wait for it.
        self.credit.close();
    }

    fn credit(&self) -> &Arc<Credit> {
        &self.credit
    }
}

impl Drop for GuestStream {
    fn drop(&mut self) {
        self.end(EndOfItems::Interrupted);
    }
}
