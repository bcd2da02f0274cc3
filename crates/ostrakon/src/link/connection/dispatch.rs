//! What a connection does with each frame that arrives, except messages.

use std::{
    sync::{Arc, Weak},
    task::Context,
};

use ostrakon_core::{Assignment, EntityId, GroupName, NodeName, ShardId};

use super::{Connection, End};
use crate::{
    CodecError,
    link::{
        Class, Link,
        arrival::tail,
        fault::{About, Fault},
        frame::{self, EndOfStream, Frame, RequestId, Returned},
        handshake::printable,
        outbox::LaneKey,
        requests::Owed,
    },
    stream::{self, Credit, EndOfItems},
    wire::{AnswerBytes, Port},
};

/// An answer with more than this is decoded by its asker, not where others wait for the link.
const LARGE_ANSWER: usize = 16 * 1024;

impl Connection {
    pub(super) fn handle(&mut self, frame: Frame<'_>, cx: &mut Context<'_>) -> Result<(), End> {
        if let Frame::Message(message) = frame {
            return self.message(&message, cx);
        }
        if let Frame::Answer { request, bytes } = frame {
            self.answer(request, bytes);
            return Ok(());
        }
        self.handle_other(frame)
    }

    /// Apart, so that what nearly all frames are takes few lines of the processor's cache.
    #[inline(never)]
    fn handle_other(&mut self, frame: Frame<'_>) -> Result<(), End> {
        match frame {
            Frame::Fault { request, fault } => self.fault(request, &fault),
            Frame::Returned(returned) => self.returned(&returned),
            Frame::Dropped { kind, id, fault } => {
                self.hub.undelivered_named(kind, id, fault.label());
            }
            Frame::Item { request, bytes } => self.item(request, bytes)?,
            Frame::End { request, how } => self.end_of_stream(request, how),
            Frame::Credit { request, units } => {
                if let Some(credit) = self.link.guest_stream(self.session, request) {
                    credit.read(units);
                }
            }
            Frame::Cancel { request } => self.link.cancel(self.session, request),
            Frame::Fence {
                token,
                group,
                shard,
            } => self.fence(token, group, shard),
            Frame::Fenced { token } => self.link.fenced(token),
            Frame::PartsRead { bytes } => self.link.parts_read(bytes),
            Frame::Goodbye { reason } => {
                return Err(End::Goodbye(printable(reason, 512)));
            }
            Frame::Ping { token } => self.sign(LaneKey::None, |out| frame::put_pong(out, token)),
            Frame::Pong { .. } | Frame::Void => {}
            Frame::Unknown { kind, request } => self.unknown(kind, request),
            Frame::Part { .. } => return Err(End::Misbehaved("sent a part within a part")),
            Frame::Message(_) | Frame::Answer { .. } => {}
        }
        Ok(())
    }

    pub(super) fn sign(&self, lane: LaneKey, write: impl FnOnce(&mut Vec<u8>)) {
        self.link.reply(self.session, Class::Sign, lane, write);
    }

    /// Something that only a later version understands: whoever waits for it is told.
    fn unknown(&self, kind: u8, request: RequestId) {
        metrics::counter!("ostrakon_unknown_frames_total").increment(1);
        if request != 0 {
            let fault = Fault::unsupported(kind);
            self.sign(LaneKey::None, |out| frame::put_fault(out, request, &fault));
        }
    }

    fn answer(&mut self, request: RequestId, bytes: &[u8]) {
        self.answered += 1;
        let Some(request) = self.link.finish(request) else {
            self.hub.counts.late_answer();
            return;
        };
        match request.owed {
            Owed::Reply(Port::Answer(port)) => {
                let answer = if bytes.len() > LARGE_ANSWER {
                    AnswerBytes::Owned(tail(self.whole.as_ref(), bytes))
                } else {
                    AnswerBytes::Borrowed(bytes)
                };
                self.wakers.extend(port.deliver(Ok(answer)).waker);
            }
            Owed::Reply(Port::Items(port)) => port.sink.end(EndOfItems::Interrupted),
            Owed::Opening(asker) => {
                asker.begin();
            }
        }
    }

    fn fault(&mut self, request: RequestId, fault: &Fault<'_>) {
        self.answered += 1;
        let Some(request) = self.link.finish(request) else {
            return;
        };
        let nobody = EntityId::new("-").expect("a valid id");
        let about = match &request.asked {
            Some(asked) => About {
                node: &self.link.peer,
                kind: asked.kind,
                id: &asked.id,
            },
            None => About {
                node: &self.link.peer,
                kind: "-",
                id: &nobody,
            },
        };
        let error = fault.error(&about);
        request.fail(&error);
    }

    fn returned(&self, returned: &Returned<'_>) {
        let Some(parcel) = self.link.take_returned(&self.hub, &returned.message) else {
            return;
        };
        let owner = NodeName::new(returned.owner).ok().map(|owner| Assignment {
            owner,
            epoch: returned.epoch,
        });
        match self.hub.lane(parcel.kind, parcel.shard) {
            Some(lane) => lane.returned(parcel, owner),
            None => {
                let error = parcel.no_owner();
                parcel.fail(&self.hub, error);
            }
        }
    }

    fn item(&mut self, request: RequestId, bytes: &[u8]) -> Result<(), End> {
        self.answered += 1;
        let Some(port) = self.link.stream_port(request) else {
            // The consumer has said that it is gone, but perhaps before the producer was there.
            self.sign(LaneKey::None, |out| frame::put_cancel(out, request));
            return Ok(());
        };
        if !port.sink.credit().try_take(stream::cost(bytes.len())) {
            return Err(End::Misbehaved("sent more of a stream than it was allowed"));
        }
        if port.sink.deliver(port.codec, bytes).is_err() && self.link.finish(request).is_some() {
            self.sign(LaneKey::None, |out| frame::put_cancel(out, request));
        }
        Ok(())
    }

    fn end_of_stream(&mut self, request: RequestId, how: EndOfStream) {
        self.answered += 1;
        let Some(Owed::Reply(Port::Items(port))) =
            self.link.finish(request).map(|request| request.owed)
        else {
            return;
        };
        match how {
            EndOfStream::Finished => port.sink.end(EndOfItems::Finished),
            // Its producers there have gone; the stream is interrupted if there are no others.
            EndOfStream::Interrupted => drop(port),
            EndOfStream::Broken => port.sink.end(EndOfItems::Broken(CodecError::remote(
                &self.link.peer,
                "an item of the stream cannot be encoded",
            ))),
        }
    }

    fn fence(&mut self, token: RequestId, group: &str, shard: ShardId) {
        let Ok(group) = GroupName::new(group) else {
            return;
        };
        let lane = LaneKey::of(&group, shard);
        self.refusing.remove(&(group, shard));
        self.sign(lane, |out| frame::put_fenced(out, token));
    }
}

impl Link {
    fn guest_stream(&self, session: u64, request: RequestId) -> Option<Arc<Credit>> {
        let mut state = self.state.lock();
        state.session(session)?.streams.get(&request).cloned()
    }

    /// The other side does not want something any more.
    fn cancel(&self, session: u64, request: RequestId) {
        let mut state = self.state.lock();
        let Some(session) = state.session(session) else {
            return;
        };
        let guest = session
            .guests
            .remove(&request)
            .as_ref()
            .and_then(Weak::upgrade);
        let credit = session.streams.remove(&request);
        drop(state);
        if let Some(guest) = guest {
            guest.forget();
        }
        if let Some(credit) = credit {
            credit.close();
        }
    }

    fn fenced(&self, token: RequestId) {
        let fence = self.state.lock().fences.remove(&token);
        if let Some(fence) = fence {
            // Whoever waited may have lost patience.
            let _ = fence.send(());
        }
    }

    fn parts_read(&self, bytes: u64) {
        let now = self.clock.now();
        let look_again = self.state.lock().outbox.parts_read(bytes, now);
        if look_again {
            self.writer.wake();
        }
    }
}
