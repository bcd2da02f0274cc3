//! `Outgoing`: a message on its way into the outbox, and what it asks for on its way into the table of requests.
//!
//! Both happen under one lock: whoever finds a request finds its message sent, waiting, or taken back.

use std::sync::{Arc, Weak};

use ostrakon_core::Time;
use smallvec::SmallVec;

use super::{
    Link, Phase, Session, State,
    frame::{self, Addressee, NewMessage, PortTag, RequestId},
    outbox::{LaneKey, Spot},
    requests::{Asked, Owed, Request},
};
use crate::{
    TellError,
    reply::{AskId, Settle},
    stream::{Credit, FarProducer},
    wire::{Port, Ports},
};

/// A message that is about to be sent.
pub(crate) struct Outgoing<'a> {
    pub(crate) kind: &'static str,
    pub(crate) id: &'a ostrakon_core::EntityId,
    pub(crate) to: Addressee,
    pub(crate) lane: LaneKey,
    pub(crate) asker: Option<&'a Arc<dyn Settle>>,
    /// When the asker gives up, and how many milliseconds that leaves; nothing for a tell.
    pub(crate) deadline: Option<Time>,
    pub(crate) remaining: u64,
    pub(crate) options: &'a [u8],
    pub(crate) payload: &'a [u8],
}

impl Link {
    /// Sends a message, or keeps it until there is a connection. `ports` are taken if it was accepted.
    pub(crate) fn send(
        self: &Arc<Self>,
        message: &Outgoing<'_>,
        ports: &mut Ports,
    ) -> Result<RequestId, TellError> {
        let mut state = self.state.lock();
        // Under the lock: a connection that begins looks through what waits, for what is too large for it.
        let (size, limit) = (message.payload.len(), self.most());
        if size > limit {
            return Err(TellError::TooLarge { size, limit });
        }
        if state.closed {
            let node = self.peer.clone();
            return Err(TellError::Unreachable { node });
        }
        let has_room = state.outbox.waiting() < self.limits.waiting
            && state.requests.have_room(ports.len() + 1)
            && ports.len() <= frame::MOST_PORTS;
        if !has_room {
            let node = self.peer.clone();
            return Err(TellError::Congested { node });
        }
        if let Some(asker) = message.asker {
            asker.set_out();
        }
        let mut unread = Vec::new();
        let request = state.enter(self, message, ports, &mut unread);
        let deadline = message.deadline;
        let is_earlier = deadline.is_some_and(|deadline| state.requests.note_deadline(deadline));
        // Only whoever waits for an answer writes alone: whoever does not may have more to send at once.
        if message.asker.is_some() && state.write_alone() {
            drop(state);
        } else {
            self.wake(state);
        }
        if is_earlier {
            self.expiry.notify_one();
        }
        for stream in unread {
            self.cancel_unread(stream, message.lane);
        }
        Ok(request)
    }

    /// The consumer of a stream has gone away before its message was sent. Its producers learn it right behind that.
    #[cold]
    fn cancel_unread(&self, stream: RequestId, lane: LaneKey) {
        let owed = self.finish(stream);
        self.sign_behind(lane, |out| frame::put_cancel(out, stream));
        drop(owed);
    }
}

impl State {
    /// Enters a message and what it asks for.
    fn enter(
        &mut self,
        link: &Arc<Link>,
        message: &Outgoing<'_>,
        ports: &mut Ports,
        unread: &mut Vec<RequestId>,
    ) -> RequestId {
        let token = self.token();
        let size = message.payload.len();
        let expected = self.outbox.expected_spot(message.lane, token, size);
        let (request, tags) = self.enter_requests(link, message, ports, expected, unread);
        let frame = NewMessage {
            request,
            to: message.to,
            kind: message.kind,
            id: message.id.as_str(),
            remaining: message.remaining,
            options: message.options,
            payload: message.payload,
        };
        let spot = self.outbox.push_sized(message.lane, token, size, |out| {
            frame.put(out, &tags);
        });
        if spot != expected {
            let own = (request != 0).then_some(request);
            for id in tags.iter().map(|tag| tag.request).chain(own) {
                if let Some(entry) = self.requests.get_mut(id) {
                    entry.spot = spot;
                }
            }
        }
        request
    }

    /// Lets the sender of the only message that is under way write it itself: nothing could go out with it, so the connection's task need
    /// not run for it. `false`: it has to.
    fn write_alone(&mut self) -> bool {
        if self.requests.len() > 1 {
            return false;
        }
        let Phase::Up(session @ Session { cut: None, .. }) = &self.phase else {
            return false;
        };
        let (Some(frame), Some(pen)) = (self.outbox.alone(), session.pen.upgrade()) else {
            return false;
        };
        let written = pen.write(frame);
        self.outbox.sent_alone(written)
    }

    /// Enters what a message asks for: the ask itself, whose number is returned, and the replies inside it.
    fn enter_requests(
        &mut self,
        link: &Arc<Link>,
        message: &Outgoing<'_>,
        ports: &mut Ports,
        spot: Spot,
        unread: &mut Vec<RequestId>,
    ) -> (RequestId, SmallVec<[PortTag; 1]>) {
        let own = message.asker.map(|asker| asker.id());
        let asked = || Asked {
            kind: message.kind,
            id: message.id.clone(),
        };
        let mut request = 0;
        let mut tags = SmallVec::new();
        for port in ports.drain(..) {
            let is_own = own.is_some() && port.ask() == own;
            let codec = port.codec().id();
            let credit = port.credit().cloned();
            let is_stream = credit.is_some();
            let id = self.requests.insert(Request {
                owed: Owed::Reply(port),
                asked: is_own.then(asked),
                spot,
                deadline: message.deadline.filter(|_| is_own),
            });
            if is_own {
                request = id;
            }
            if let Some(credit) = credit
                && !flow_back(&credit, link, id)
            {
                unread.push(id);
            }
            tags.push(PortTag {
                is_stream,
                codec,
                request: id,
            });
        }
        if let Some(asker) = message.asker
            && request == 0
        {
            // An ask whose reply is not in the message: the opening of a stream.
            request = self.requests.insert(Request {
                owed: Owed::Opening(Arc::clone(asker)),
                asked: Some(asked()),
                spot,
                deadline: message.deadline,
            });
        }
        (request, tags)
    }
}

/// The producer, on the other node, of a stream that is consumed here.
struct FarStream {
    link: Weak<Link>,
    request: RequestId,
}

/// Lets the consumer of a stream tell its producer how much room there is. `false`: it has gone away.
#[inline(never)]
fn flow_back(credit: &Credit, link: &Arc<Link>, request: RequestId) -> bool {
    credit.set_far(Arc::new(FarStream {
        link: Arc::downgrade(link),
        request,
    }))
}

impl FarProducer for FarStream {
    fn has_room(&self, units: u32) {
        if let Some(link) = self.link.upgrade() {
            link.sign(|out| frame::put_credit(out, self.request, units));
        }
    }

    fn stop(&self) {
        let Some(link) = self.link.upgrade() else {
            return;
        };
        // Over already: nobody needs to be told.
        if let Some(request) = link.finish(self.request) {
            link.sign(|out| frame::put_cancel(out, self.request));
            drop(request);
        }
    }
}

/// Milliseconds from now to a deadline, at least one.
pub(crate) fn remaining(now: Time, deadline: Time) -> u64 {
    let left = deadline.saturating_since(now).as_millis();
    u64::try_from(left).unwrap_or(u64::MAX).max(1)
}

impl Port {
    /// Which ask the answer is for.
    fn ask(&self) -> Option<AskId> {
        match self {
            Self::Answer(port) => Some(port.sink.id()),
            Self::Items(_) => None,
        }
    }

    /// What the producer of a stream pays from.
    fn credit(&self) -> Option<&Arc<Credit>> {
        match self {
            Self::Items(port) => Some(port.sink.credit()),
            Self::Answer(_) => None,
        }
    }
}
