//! `Connection`: one task that reads, dispatches and writes on one data connection.
//!
//! One task does both directions, because what arrives is mostly answered on the spot: a batch is read, its messages are handled, and
//! their answers leave with one write. It always goes on reading, whatever waits to be written, so two nodes can never block each other.

use std::{
    collections::BTreeSet,
    fmt, io,
    pin::Pin,
    sync::{Arc, Weak, atomic::Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use ostrakon_core::{Assignment, EntityId, GroupName, NodeName, ShardId, Time};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    time::{Instant, Interval, MissedTickBehavior},
};

use super::{
    Arrival, Class, Hub, Link, State, TurnedAway,
    arrival::{Claim, tail},
    fault::{About, Fault},
    frame::{self, Addressee, BadFrame, EndOfStream, Frame, Message, RequestId, Returned, option},
    guest::{Guest, GuestStream},
    handshake::printable,
    inbox::Inbox,
    outbox::LaneKey,
    security::Wire,
};
use crate::{
    AskError, CallChain, Codec, CodecError, TellError, TraceContext,
    host::envelope::Ask,
    reply::{Pending, Settle},
    stream::{self, EndOfItems},
    wire::{AnswerBytes, AnswerPort, AnswerSink, ItemsPort, Port, Ports},
};

/// A peer that takes nothing for so long does not read.
const WRITE_STALL: Duration = Duration::from_secs(10);
/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// An answer with more than this is decoded by its asker, not where others wait for the link.
const LARGE_ANSWER: usize = 16 * 1024;
/// How often the task reads and writes before it lets others run.
const ROUNDS: usize = 16;

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The other side closed it without a word: its process is gone.
    Closed,
    /// The other side said goodbye.
    Goodbye(String),
    Io(io::Error),
    Bad(BadFrame),
    Misbehaved(&'static str),
    NotReading,
    Silent,
    NoControl,
    Replaced,
    /// This node leaves.
    Leaving,
}

impl End {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Goodbye(_) => "goodbye",
            Self::Io(_) => "io",
            Self::Bad(_) | Self::Misbehaved(_) => "bad_input",
            Self::NotReading => "not_reading",
            Self::Silent => "silent",
            Self::NoControl => "no_control",
            Self::Replaced => "replaced",
            Self::Leaving => "leaving",
        }
    }

    /// Whether there shall be no other connection after this.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Leaving)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the other side closed it without a word"),
            Self::Goodbye(reason) => write!(f, "the other side said goodbye: {reason}"),
            Self::Io(error) => error.fmt(f),
            Self::Bad(error) => write!(f, "the other side sent {error}"),
            Self::Misbehaved(what) => write!(f, "the other side {what}"),
            Self::NotReading => f.write_str("the other side does not read"),
            Self::Silent => f.write_str("nothing was heard from the other side"),
            Self::NoControl => f.write_str("its control connection ended"),
            Self::Replaced => f.write_str("another connection takes its place"),
            Self::Leaving => f.write_str("this node leaves"),
        }
    }
}

pub(crate) struct Connection {
    hub: Arc<Hub>,
    link: Arc<Link>,
    session: u64,
    wire: Box<dyn Wire>,
    inbox: Inbox,
    /// What is being written, and how much of it has been.
    writing: Vec<u8>,
    written: usize,
    needs_flush: bool,
    last_progress: Instant,
    /// The large frame that is being handled.
    whole: Option<Bytes>,
    /// When the bytes were read that are being dispatched.
    now: Time,
    tick: Interval,
    /// Lanes of which something was sent back, until the other side has noticed.
    refusing: BTreeSet<(GroupName, ShardId)>,
    /// How many askers the last batch of answers has woken: they are likely to send something next.
    woken: usize,
    lingered: bool,
}

impl Connection {
    pub(crate) fn new(hub: &Arc<Hub>, link: &Arc<Link>, session: u64, wire: Box<dyn Wire>) -> Self {
        let mut tick = tokio::time::interval(link.limits.heartbeat);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            hub: Arc::clone(hub),
            link: Arc::clone(link),
            session,
            wire,
            inbox: Inbox::new(link.limits.message),
            writing: Vec::new(),
            written: 0,
            needs_flush: false,
            last_progress: Instant::now(),
            whole: None,
            now: hub.clock.now(),
            tick,
            refusing: BTreeSet::new(),
            woken: 0,
            lingered: false,
        }
    }

    /// Reads and writes until the connection ends.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.link.writer.register(cx.waker());
        while self.tick.poll_tick(cx).is_ready() {
            if let Some(end) = self.check() {
                return Poll::Ready(end);
            }
        }
        for _ in 0..ROUNDS {
            let wrote = match self.poll_write(cx) {
                Ok(wrote) => wrote,
                Err(end) => return Poll::Ready(end),
            };
            let read = match self.poll_read(cx) {
                Poll::Ready(Ok(())) => true,
                Poll::Ready(Err(end)) => return Poll::Ready(end),
                Poll::Pending => false,
            };
            if !wrote && !read {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Looks whether the other side is still there.
    fn check(&self) -> Option<End> {
        if self.link.silence(self.hub.clock.now()) > self.link.limits.silence {
            return Some(End::Silent);
        }
        let stalled = !self.writing.is_empty() && self.last_progress.elapsed() > WRITE_STALL;
        stalled.then_some(End::NotReading)
    }

    /// Writes what is ready. `false`: there is nothing, or no room.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        if !self.writing.is_empty() {
            // A peer that does not read must not keep the connection from ending.
            self.check_cut(&mut self.link.state.lock())?;
        } else if !self.take(cx)? && !self.needs_flush {
            return Ok(false);
        }
        let mut progress = false;
        while self.written < self.writing.len() {
            let rest = &self.writing[self.written..];
            match Pin::new(&mut self.wire).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => return Err(End::Closed),
                Poll::Ready(Ok(bytes)) => {
                    self.written += bytes;
                    self.last_progress = Instant::now();
                    self.needs_flush = true;
                    progress = true;
                }
                Poll::Ready(Err(error)) => {
                    // TLS does not say how much it has sent before it failed: all of it may arrive, so nothing is sent again.
                    self.written = self.writing.len();
                    return Err(End::Io(error));
                }
                Poll::Pending => break,
            }
        }
        if self.needs_flush {
            match Pin::new(&mut self.wire).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.needs_flush = false,
                Poll::Ready(Err(error)) => return Err(End::Io(error)),
                Poll::Pending => {}
            }
        }
        if self.written == self.writing.len() {
            self.writing.clear();
            self.written = 0;
        }
        Ok(progress)
    }

    /// Ends if it was ordered to.
    fn check_cut(&self, state: &mut State) -> Result<(), End> {
        let session = state.session(self.session);
        let end = session.and_then(|session| session.cut.take());
        end.map_or(Ok(()), Err)
    }

    /// Takes what is to be written next.
    fn take(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut state = self.link.state.lock();
        self.check_cut(&mut state)?;
        // Askers that were just answered tend to ask again at once: wait for them, but never longer than it takes to let
        // the tasks run that are ready.
        if state.outbox.frames > 0 && state.outbox.frames < self.woken && !self.lingered {
            self.lingered = true;
            state.outbox.parked = false;
            drop(state);
            cx.waker().wake_by_ref();
            return Ok(false);
        }
        let frames = state.outbox.frames;
        state.outbox.take(&mut self.writing);
        drop(state);
        if self.writing.is_empty() {
            return Ok(false);
        }
        self.woken = 0;
        self.lingered = false;
        self.last_progress = Instant::now();
        self.hub.counts.wrote(frames);
        Ok(true)
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        let mut space: ReadBuf<'_> = self.inbox.space();
        let read = Pin::new(&mut self.wire).poll_read(cx, &mut space);
        let bytes = space.filled().len();
        if let Err(error) = ready!(read) {
            return Poll::Ready(Err(End::Io(error)));
        }
        if bytes == 0 {
            return Poll::Ready(Err(End::Closed));
        }
        self.inbox.filled(bytes);
        self.now = self.hub.clock.now();
        Poll::Ready(self.dispatch(cx))
    }

    /// Deals with every whole frame that has been read.
    fn dispatch(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        // Taken out, so that a frame can be borrowed from it meanwhile.
        let mut inbox = std::mem::replace(&mut self.inbox, Inbox::new(0));
        let result = self.dispatch_from(&mut inbox, cx);
        self.inbox = inbox;
        result
    }

    fn dispatch_from(&mut self, inbox: &mut Inbox, cx: &mut Context<'_>) -> Result<(), End> {
        while let Some(range) = inbox.next().map_err(End::Bad)? {
            let start = range.start;
            let frame = Frame::read(inbox.bytes(range.clone())).map_err(End::Bad)?;
            let Frame::Part { last, bytes } = frame else {
                self.handle(frame, cx)?;
                continue;
            };
            let length = bytes.len();
            let part = range.end - length..range.end;
            debug_assert!(part.start > start);
            self.sign(LaneKey::None, |out| {
                frame::put_parts_read(out, length as u64)
            });
            if let Some(whole) = inbox.part(part, last).map_err(End::Bad)? {
                let whole = Bytes::from(whole);
                self.whole = Some(whole.clone());
                let frame = Frame::read(frame::body(&whole)).map_err(End::Bad)?;
                self.handle(frame, cx)?;
                self.whole = None;
            }
        }
        Ok(())
    }

    fn handle(&mut self, frame: Frame<'_>, cx: &mut Context<'_>) -> Result<(), End> {
        match frame {
            Frame::Message(message) => self.message(&message, cx)?,
            Frame::Answer { request, bytes } => self.answer(request, bytes),
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
        }
        Ok(())
    }

    fn sign(&self, lane: LaneKey, write: impl FnOnce(&mut Vec<u8>)) {
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
        self.woken += 1;
        let Some(request) = self.link.finish(request) else {
            self.hub.counts.late_answer();
            return;
        };
        match request.port {
            Some(Port::Answer(port)) => {
                let answer = if bytes.len() > LARGE_ANSWER {
                    AnswerBytes::Owned(tail(self.whole.as_ref(), bytes))
                } else {
                    AnswerBytes::Borrowed(bytes)
                };
                port.sink.deliver(port.codec, Ok(answer));
            }
            Some(Port::Items(port)) => port.sink.end(EndOfItems::Interrupted),
            // The opening of a stream: its turn has come.
            None => {
                if let Some(asker) = request.asker {
                    asker.settle.begin();
                }
            }
        }
    }

    fn fault(&mut self, request: RequestId, fault: &Fault<'_>) {
        self.woken += 1;
        let Some(request) = self.link.finish(request) else {
            return;
        };
        let nobody = EntityId::new("-").expect("a valid id");
        let about = match &request.asker {
            Some(asker) => About {
                node: &self.link.peer,
                kind: asker.kind,
                id: &asker.id,
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
        self.woken += 1;
        let Some(Port::Items(port)) = self.link.stream_port(request) else {
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
        self.woken += 1;
        let Some(port) = self.link.finish(request).and_then(|request| request.port) else {
            return;
        };
        port.end(match how {
            EndOfStream::Finished => EndOfItems::Finished,
            EndOfStream::Interrupted => EndOfItems::Interrupted,
            EndOfStream::Broken => EndOfItems::Broken(CodecError::remote(
                &self.link.peer,
                "an item of the stream cannot be encoded",
            )),
        });
    }

    fn fence(&mut self, token: RequestId, group: &str, shard: ShardId) {
        let Ok(group) = GroupName::new(group) else {
            return;
        };
        let lane = LaneKey::of(&group, shard);
        self.refusing.remove(&(group, shard));
        self.sign(lane, |out| frame::put_fenced(out, token));
    }

    /// Brings a message to its host.
    fn message(&mut self, message: &Message<'_>, cx: &mut Context<'_>) -> Result<(), End> {
        let host = match message.to {
            Addressee::Entity { .. } => self.hub.host(message.kind),
            Addressee::Actor => self.hub.actor_host(message.kind, message.id),
        };
        let lane = match (message.to, self.hub.group_of(message.kind)) {
            (Addressee::Entity { shard, .. }, Some(group)) => Some((group.clone(), shard)),
            _ => None,
        };
        if !self.refusing.is_empty()
            && let Some(lane) = &lane
            && self.refusing.contains(lane)
        {
            self.give_back(message, &lane.0, lane.1);
            return Ok(());
        }
        let id = EntityId::new(message.id);
        let (host, id) = match (host, id) {
            (Ok(host), Ok(id)) => (host, id),
            (Err(error), _) => return self.refuse(message, &error),
            (_, Err(error)) => return self.refuse(message, &error.into()),
        };
        if self.link.load.load(Ordering::Relaxed) > self.link.limits.waiting_answers() {
            let node = self.hub.me.name.clone();
            return self.refuse(message, &TellError::Congested { node });
        }
        let mut guests = Guests::default();
        let ports = match self.ports(message, &mut guests) {
            Ok(ports) => ports,
            Err(error) => {
                guests.forget();
                return self.refuse(message, &error);
            }
        };
        let ask = guests.asking.as_ref().map(|guest| Ask {
            pending: Pending::new(Arc::clone(guest) as Arc<dyn Settle>),
            deadline: self.now + Duration::from_millis(message.remaining),
            chain: message.option(option::CHAIN).and_then(CallChain::read),
        });
        let arrival = Arrival {
            id,
            claim: match message.to {
                Addressee::Entity { shard, epoch } => Some(Claim { shard, epoch }),
                Addressee::Actor => None,
            },
            payload: message.payload,
            whole: self.whole.as_ref(),
            ports,
            ask,
            trace: message
                .option(option::TRACE)
                .and_then(TraceContext::from_bytes),
            load: &self.link.load,
            now: Some(self.now),
        };
        match host.arrive(arrival, Some(cx)) {
            Ok(()) => guests.note(&self.link, self.session),
            Err(away) => self.turn_away(message, &guests, lane.as_ref(), away)?,
        }
        Ok(())
    }

    /// A host does not take a message: it goes back where that helps, else its sender is told.
    fn turn_away(
        &mut self,
        message: &Message<'_>,
        guests: &Guests,
        lane: Option<&(GroupName, ShardId)>,
        away: TurnedAway,
    ) -> Result<(), End> {
        let (ask, letter) = match away {
            TurnedAway::NotOwner { ask, letter } => (ask, Some(letter)),
            // Nobody waits for a tell, so nobody would know: it waits at its sender, who then knows to slow down.
            TurnedAway::Refused {
                error: TellError::Overloaded { .. },
                ask: None,
                letter,
            } if lane.is_some() => (None, letter),
            TurnedAway::Refused { error, ask, .. } => {
                return match ask {
                    Some(ask) => {
                        ask.pending.fail(AskError::NotSent(error));
                        Ok(())
                    }
                    None => self.refuse(message, &error),
                };
            }
        };
        guests.forget();
        if let Some(ask) = ask {
            ask.pending.forget();
        }
        drop(letter);
        if let Some((group, shard)) = lane {
            self.refusing.insert((group.clone(), *shard));
            self.give_back(message, group, *shard);
        }
        Ok(())
    }

    /// The local ends of the replies inside a message.
    fn ports(&self, message: &Message<'_>, guests: &mut Guests) -> Result<Ports, TellError> {
        let (link, session) = (&self.link, self.session);
        if message.request != 0 {
            let opens = message.option(option::OPENS_STREAM).is_some();
            guests.asking = Some(Guest::asking(link, session, message.request, opens));
        }
        let mut ports = Ports::new();
        for tag in message.ports() {
            let codec = Codec::from_id(tag.codec).ok_or_else(|| TellError::Unsupported {
                node: self.hub.me.name.clone(),
                reason: format!("codec {} is unknown here", tag.codec),
            })?;
            if tag.is_stream {
                let stream = GuestStream::new(link, session, tag.request);
                guests.streams.push(Arc::clone(&stream));
                if !link.note_stream(session, tag.request, stream.as_ref()) {
                    let node = self.hub.me.name.clone();
                    return Err(TellError::Congested { node });
                }
                let sink = stream;
                ports.push(Port::Items(ItemsPort { codec, sink }));
                continue;
            }
            let own = guests
                .asking
                .as_ref()
                .filter(|_| tag.request == message.request);
            let guest = match own {
                Some(guest) => Arc::clone(guest),
                None => {
                    let guest = Guest::replying(link, session, tag.request);
                    guests.replying.push(Arc::clone(&guest));
                    guest
                }
            };
            ports.push(Port::Answer(AnswerPort::new(
                codec,
                guest as Arc<dyn AnswerSink>,
            )));
        }
        Ok(ports)
    }

    /// Sends a message back whose shard is not ours.
    fn give_back(&self, message: &Message<'_>, group: &GroupName, shard: ShardId) {
        let map = self.hub.map.load();
        let owner = map.owner(group, shard);
        let (name, epoch) = match owner {
            Some(assignment) => (assignment.owner.as_str(), assignment.epoch),
            None => ("", ostrakon_core::Epoch::default()),
        };
        let class = Class::Returned {
            size: message.body.len(),
        };
        let lane = LaneKey::of(group, shard);
        self.link.reply(self.session, class, lane, |out| {
            frame::put_returned(out, name, epoch, message.body);
        });
    }

    fn refuse(&self, message: &Message<'_>, error: &TellError) -> Result<(), End> {
        let fault = Fault::refusal(error);
        self.sign(LaneKey::None, |out| match message.request {
            0 => frame::put_dropped(out, message.kind, message.id, &fault),
            request => frame::put_fault(out, request, &fault),
        });
        // Whoever has passed a reply on must learn that nobody has it.
        for tag in message.ports().filter(|tag| tag.request != message.request) {
            self.sign(LaneKey::None, |out| {
                if tag.is_stream {
                    frame::put_end(out, tag.request, EndOfStream::Interrupted);
                } else {
                    frame::put_fault(out, tag.request, &Fault::of(&AskError::NoReply));
                }
            });
        }
        Ok(())
    }

    /// The last words on a connection, and what must be told to those who waited for it.
    pub(crate) async fn finish(mut self, end: &End) {
        let says_why = match end {
            End::Leaving | End::Bad(_) | End::Misbehaved(_) | End::Silent | End::Replaced => true,
            End::Closed | End::Goodbye(_) | End::Io(_) | End::NotReading | End::NoControl => false,
        };
        if says_why {
            let reason = end.to_string();
            let said = async {
                if !matches!(end, End::Leaving) {
                    return self.say_goodbye(&reason).await;
                }
                self.write_rest().await?;
                self.say_goodbye(&reason).await?;
                // To close while something waits to be read would take back what the other side has not received yet.
                let mut nowhere = tokio::io::sink();
                tokio::io::copy(&mut self.wire, &mut nowhere)
                    .await
                    .map(drop)
            };
            // Whoever does not listen any more will learn it otherwise.
            let _ = tokio::time::timeout(LAST_WORDS, said).await;
        }
        self.link
            .session_over(self.session, &self.writing, self.written);
    }

    /// Writes all that waits.
    async fn write_rest(&mut self) -> io::Result<()> {
        loop {
            if self.writing.is_empty() {
                self.link.state.lock().outbox.take_all(&mut self.writing);
            }
            if self.writing.is_empty() {
                return Ok(());
            }
            while self.written < self.writing.len() {
                self.written += self.wire.write(&self.writing[self.written..]).await?;
            }
            self.writing.clear();
            self.written = 0;
        }
    }

    async fn say_goodbye(&mut self, reason: &str) -> io::Result<()> {
        // In the middle of a frame it would be taken for a piece of it.
        if self.written == 0 {
            let mut goodbye = Vec::new();
            frame::put_goodbye(&mut goodbye, reason);
            self.wire.write_all(&goodbye).await?;
        }
        self.wire.shutdown().await
    }
}

/// What a message from another node has brought along.
#[derive(Default)]
struct Guests {
    asking: Option<Arc<Guest>>,
    replying: Vec<Arc<Guest>>,
    streams: Vec<Arc<GuestStream>>,
}

impl Guests {
    /// Nothing is to be said about them.
    fn forget(&self) {
        self.asking
            .iter()
            .chain(&self.replying)
            .for_each(|guest| guest.forget());
        self.streams.iter().for_each(|stream| stream.forget());
    }

    /// Those that are not answered yet can be cancelled from now on.
    fn note(&self, link: &Link, session: u64) {
        for guest in self.asking.iter().chain(&self.replying) {
            if guest.is_open() {
                link.note_guest(session, guest);
            }
        }
    }
}

impl Link {
    fn note_guest(&self, session: u64, guest: &Arc<Guest>) {
        guest.set_noted();
        let request = guest.request();
        if let Some(session) = self.state.lock().session(session) {
            session.guests.insert(request, Arc::downgrade(guest));
        }
        // It may have been answered just before it was noted.
        if !guest.is_open() {
            self.guest_left(session, request);
        }
    }

    /// `false`: there are too many.
    fn note_stream(&self, session: u64, request: RequestId, stream: &GuestStream) -> bool {
        let most = self.limits.streams;
        let mut state = self.state.lock();
        let Some(session) = state.session(session) else {
            return true;
        };
        if session.streams.len() >= most {
            return false;
        }
        let credit = crate::stream::ItemsSink::credit(stream);
        session.streams.insert(request, Arc::clone(credit));
        true
    }

    fn guest_stream(&self, session: u64, request: RequestId) -> Option<Arc<crate::stream::Credit>> {
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
        let look_again = self.state.lock().outbox.parts_read(bytes);
        if look_again {
            self.writer.wake();
        }
    }
}
