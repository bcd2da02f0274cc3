//! `Link`: everything between this node and one other node.
//!
//! ```text
//!   senders ─▶ Outbox ─▶ Connection (one task) ─▶ socket        messages, answers, streams
//!   askers  ◀─ Requests ◀─┘    └─▶ Host::arrive                 (what arrives is handled by that task if it can be)
//!                          Control (one task) ──▶ its own socket  heartbeats
//! ```
//!
//! The link outlives its connections. What was not sent waits for the next one; what was sent and not answered ends as
//! [`AskError::Lost`] when the connection does. Invariant: a message is written to at most one connection, once.

mod arrival;
#[cfg(test)]
mod campaign;
mod connection;
mod control;
mod expiry;
mod fault;
pub(crate) mod frame;
mod guest;
mod handshake;
mod hub;
mod inbox;
mod lane;
mod limits;
mod listener;
mod outbox;
mod parcel;
mod requests;
mod supervisor;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::task::AtomicWaker;
use ostrakon_core::{GroupName, Incarnation, NodeName, ShardId, Time};
use smallvec::SmallVec;
use tokio::sync::{Notify, mpsc, oneshot};

pub use self::limits::Limits;
pub(crate) use self::{
    arrival::{Arrival, Load, TurnedAway},
    handshake::Me,
    hub::{Home, Hub, HubParts, KnownKind},
    lane::{Asking, Draft, Lane, Lanes, Leads, Ticket, Way},
    listener::bind,
    outbox::LaneKey,
    parcel::{Parcel, write_options},
    requests::asker_id,
};

use self::{
    connection::End,
    frame::{Addressee, NewMessage, PortTag, RequestId},
    guest::Guest,
    outbox::{Outbox, Spot},
    requests::{Asker, AskerId, Request, Requests},
    supervisor::{Established, Rank},
};
use crate::{
    AskError, TellError,
    clock::Clock,
    lock::Mutex,
    reply::Settle,
    stream::{Credit, EndOfItems, FarProducer},
    wire::{Port, Ports},
};

pub(crate) struct Link {
    pub(crate) peer: NodeName,
    /// This node's name.
    me: NodeName,
    limits: Limits,
    state: Mutex<State>,
    /// The largest message that both sides accept.
    most: AtomicUsize,
    /// Wakes the connection's task when there is something to write.
    writer: AtomicWaker,
    /// Wakes the supervisor when there is something to send and no connection.
    wanted: Notify,
    /// Wakes the supervisor from a pause: the other node is elsewhere, or has begun anew.
    begun_anew: Notify,
    /// Connections that the other side has opened, for the supervisor.
    accepted: mpsc::Sender<Established>,
    /// How many bytes of the other node's large messages wait here to be handled.
    load: Arc<AtomicUsize>,
    /// When something was last heard on the control connection, in the clock's nanoseconds.
    heard: AtomicU64,
    clock: Clock,
    /// A session has begun or ended.
    changed: Notify,
    /// An ask has an earlier deadline than all before it.
    expiry: Arc<Notify>,
    /// Ends the supervisor.
    supervisor: OnceLock<tokio::task::AbortHandle>,
}

struct State {
    outbox: Outbox,
    requests: Requests,
    /// Lanes that wait to hear that their messages have been judged.
    fences: BTreeMap<RequestId, oneshot::Sender<()>>,
    next_token: u64,
    phase: Phase,
    /// The latest connection that was used.
    latest: Option<Rank>,
    /// How many connections of the other side are being let in.
    greetings: usize,
    /// Nothing is sent to this node any more.
    closed: bool,
}

/// Whether there is a connection.
enum Phase {
    Idle,
    Dialing,
    Up(Session),
}

/// One connection's worth of memory.
struct Session {
    number: u64,
    incarnation: Incarnation,
    /// Requests of the other side that are not answered yet.
    guests: BTreeMap<RequestId, Weak<Guest>>,
    streams: BTreeMap<RequestId, Arc<Credit>>,
    /// It has its control connection.
    controlled: bool,
    /// Ordered to end.
    cut: Option<End>,
}

/// How a frame is treated when much is waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// An answer or an item of so many bytes: it has more room than messages, for it ends something.
    Answer { size: usize },
    /// A message that goes back.
    Returned { size: usize },
    /// Small, and the other side depends on it.
    Sign,
}

impl Class {
    fn size(self) -> usize {
        match self {
            Self::Answer { size } | Self::Returned { size } => size,
            Self::Sign => 0,
        }
    }
}

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

/// What became of an attempt to take an ask back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withdrawn {
    /// It has not left this node, and will not.
    Unsent,
    /// It may have been handled.
    Sent,
}

impl Link {
    fn new(hub: &Arc<Hub>, peer: NodeName) -> (Arc<Self>, mpsc::Receiver<Established>) {
        let (accepted, incoming) = mpsc::channel(1);
        let link = Self {
            peer,
            me: hub.me.name.clone(),
            limits: hub.limits,
            state: Mutex::new(State {
                outbox: Outbox::default(),
                requests: Requests::default(),
                fences: BTreeMap::new(),
                next_token: 1,
                phase: Phase::Idle,
                latest: None,
                greetings: 0,
                closed: false,
            }),
            most: AtomicUsize::new(hub.limits.message),
            writer: AtomicWaker::new(),
            wanted: Notify::new(),
            begun_anew: Notify::new(),
            accepted,
            load: Arc::default(),
            heard: AtomicU64::new(0),
            clock: hub.clock,
            changed: Notify::new(),
            expiry: Arc::default(),
            supervisor: OnceLock::new(),
        };
        (Arc::new(link), incoming)
    }

    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    pub(crate) fn me(&self) -> &NodeName {
        &self.me
    }

    /// Sends a message, or keeps it until there is a connection. `ports` are taken if it was accepted.
    pub(crate) fn send(
        self: &Arc<Self>,
        message: &Outgoing<'_>,
        ports: &mut Ports,
    ) -> Result<RequestId, TellError> {
        let (size, limit) = (message.payload.len(), self.most());
        if size > limit {
            return Err(TellError::TooLarge { size, limit });
        }
        let mut state = self.state.lock();
        let has_room = state.outbox.waiting() < self.limits.waiting
            && state.requests.have_room(ports.len() + 1)
            && ports.len() <= frame::MOST_PORTS;
        if state.closed || !has_room {
            let node = self.peer.clone();
            return Err(TellError::Congested { node });
        }
        if let Some(asker) = message.asker {
            asker.set_out();
        }
        let request = state.enter(self, message, ports);
        let deadline = message.deadline;
        let is_earlier = deadline.is_some_and(|deadline| state.requests.note_deadline(deadline));
        self.wake(state);
        if is_earlier {
            self.expiry.notify_one();
        }
        Ok(request)
    }

    /// Lets the connection know that there is something to write, or the supervisor that a connection is needed.
    fn wake(&self, mut state: std::sync::MutexGuard<'_, State>) {
        let parked = std::mem::replace(&mut state.outbox.parked, false);
        let is_idle = matches!(state.phase, Phase::Idle);
        drop(state);
        if is_idle {
            self.wanted.notify_one();
        } else if parked {
            self.writer.wake();
        }
    }

    /// Sends something that belongs to one session. `false`: it is over, or there is no room.
    pub(crate) fn reply(
        &self,
        session: u64,
        class: Class,
        lane: LaneKey,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        let mut state = self.state.lock();
        let waiting = state.outbox.waiting();
        let limits = &self.limits;
        let Some(current) = state.session(session) else {
            return false;
        };
        if matches!(class, Class::Answer { .. }) && waiting > limits.waiting_answers() {
            return false;
        }
        if waiting > limits.waiting_signs() {
            current.cut = Some(End::NotReading);
            drop(state);
            self.writer.wake();
            return false;
        }
        let token = state.token();
        state.outbox.push_sized(lane, token, class.size(), write);
        self.wake(state);
        true
    }

    /// Sends a sign on the present session, if there is one.
    fn sign(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let session = match &self.state.lock().phase {
            Phase::Up(session) => session.number,
            Phase::Idle | Phase::Dialing => return,
        };
        self.reply(session, Class::Sign, LaneKey::None, write);
    }

    /// Takes an ask back; what has been sent is cancelled.
    pub(crate) fn withdraw(&self, request: RequestId, settle: AskerId) -> Withdrawn {
        let mut state = self.state.lock();
        let is_it =
            |found: &mut Request| found.asker.as_ref().is_some_and(|asker| asker.is(settle));
        let known = state.requests.get_mut(request).is_some_and(is_it);
        let request = if known {
            Some(request)
        } else {
            state.requests.find(settle)
        };
        let Some((id, request)) = request.and_then(|id| Some((id, state.requests.remove(id)?)))
        else {
            return Withdrawn::Sent;
        };
        if state.outbox.withdraw(request.spot) {
            return Withdrawn::Unsent;
        }
        drop(state);
        self.sign(|out| frame::put_cancel(out, id));
        Withdrawn::Sent
    }

    /// Waits until every message of a lane that was sent before has been judged, or the connection is gone.
    pub(crate) async fn fence(&self, group: &GroupName, shard: ShardId) -> Fenced {
        let (judged, wait) = oneshot::channel();
        {
            let mut state = self.state.lock();
            if !matches!(state.phase, Phase::Up(_)) {
                return Fenced::NotConnected;
            }
            let token = state.token();
            state.fences.insert(token, judged);
            let lane = LaneKey::of(group, shard);
            state.outbox.push(lane, token, |out| {
                frame::put_fence(out, token, group.as_str(), shard);
            });
            self.wake(state);
        }
        match wait.await {
            Ok(()) => Fenced::Judged,
            Err(_) => Fenced::NotConnected,
        }
    }

    /// Takes back every message of a lane that has not been sent, in order. Only without a connection is that all there is.
    pub(crate) fn recall(
        &self,
        hub: &Hub,
        group: &GroupName,
        shard: ShardId,
    ) -> Option<Vec<Parcel>> {
        let mut state = self.state.lock();
        let state = &mut *state;
        if matches!(state.phase, Phase::Up(_)) {
            return None;
        }
        let mut parcels = Vec::new();
        let is_mine = |message: &frame::Message<'_>| match message.to {
            Addressee::Entity { shard: its, .. } => {
                its == shard && hub.group_of(message.kind) == Some(group)
            }
            Addressee::Actor => false,
        };
        let requests = &mut state.requests;
        state.outbox.recall(is_mine, |message| {
            parcels.extend(Parcel::taken_back(hub, message, |id| requests.remove(id)));
        });
        Some(parcels)
    }

    /// A message of ours comes back.
    fn take_returned(&self, hub: &Hub, message: &frame::Message<'_>) -> Option<Parcel> {
        let mut state = self.state.lock();
        Parcel::taken_back(hub, message, |id| state.requests.remove(id))
    }

    /// A request of ours is over.
    fn finish(&self, request: RequestId) -> Option<Request> {
        self.state.lock().requests.remove(request)
    }

    /// An item of a stream arrived: where it goes.
    fn stream_port(&self, request: RequestId) -> Option<Port> {
        self.state.lock().requests.get_mut(request)?.port.clone()
    }

    pub(crate) fn guest_left(&self, session: u64, request: RequestId) {
        if let Some(session) = self.state.lock().session(session) {
            session.guests.remove(&request);
        }
    }

    pub(crate) fn stream_ended(&self, session: u64, request: RequestId) {
        if let Some(session) = self.state.lock().session(session) {
            session.streams.remove(&request);
        }
    }

    /// Ends a session for a reason.
    fn cut(&self, session: u64, end: End) {
        if let Some(session) = self.state.lock().session(session) {
            session.cut.get_or_insert(end);
        }
        self.writer.wake();
    }

    /// The other node is no member any more: nobody waits for its answers any longer.
    fn run_is_over(&self) {
        if let Phase::Up(session) = &mut self.state.lock().phase {
            session.cut.get_or_insert(End::RunOver);
        }
        self.writer.wake();
    }

    /// A connection is over. What it was writing goes back if it did not go out; what was sent and not answered is lost.
    fn session_over(&self, session: u64, writing: &[u8], written: usize) {
        let mut state = self.state.lock();
        if state.session(session).is_none() {
            return;
        }
        let Phase::Up(session) = std::mem::replace(&mut state.phase, Phase::Idle) else {
            return;
        };
        state.outbox.put_back(writing, written);
        let State {
            requests, outbox, ..
        } = &mut *state;
        let sent = outbox.handed_over();
        let lost = requests.sweep(|request| match request.spot {
            Spot::Ordinary { start } => start < sent,
            Spot::Large { token } => !outbox.holds_large(token),
        });
        // Whoever waits for a fence sees that it was dropped.
        state.fences.clear();
        drop(state);
        self.changed.notify_waiters();
        let node = self.peer.clone();
        let error = AskError::Lost { node };
        for request in lost {
            request.fail(&error);
        }
        for guest in session.guests.values().filter_map(Weak::upgrade) {
            guest.forget();
        }
        for credit in session.streams.values() {
            credit.close();
        }
    }

    /// Something was heard from the other side.
    fn heard_now(&self) {
        self.heard
            .store(self.clock.now().as_nanos(), Ordering::Relaxed);
    }

    /// For how long nothing has been heard.
    fn silence(&self, now: Time) -> Duration {
        now.saturating_since(Time::from_nanos(self.heard.load(Ordering::Relaxed)))
    }

    fn is_session(&self, session: u64) -> bool {
        self.state.lock().session(session).is_some()
    }

    /// Takes the one place for a session's control connection. `false`: it is taken, or the session over.
    fn take_control(&self, session: u64) -> bool {
        let mut state = self.state.lock();
        let session = state.session(session);
        session.is_some_and(|session| !std::mem::replace(&mut session.controlled, true))
    }

    /// Waits until a session has begun that is about to.
    async fn session_begins(&self, session: u64) {
        loop {
            let changed = self.changed.notified();
            if self.is_session(session) {
                return;
            }
            changed.await;
        }
    }

    /// Sends what waits, says goodbye, and waits until that is done.
    async fn leave(&self) {
        loop {
            let changed = self.changed.notified();
            match &mut self.state.lock().phase {
                Phase::Up(session) => {
                    session.cut.get_or_insert(End::Leaving);
                }
                Phase::Idle | Phase::Dialing => return,
            }
            self.writer.wake();
            changed.await;
        }
    }

    /// Whether something waits for a connection, and none is about to come.
    fn has_work(&self) -> bool {
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Up(_)) {
            state.outbox.forget_void();
        }
        !state.outbox.is_empty() && state.greetings == 0
    }

    /// Sends nothing to this node any more, and fails what waits.
    fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let mut untold = 0;
        state.outbox.recall(
            |message| message.request == 0,
            |_| {
                untold += 1;
            },
        );
        metrics::counter!("ostrakon_undelivered_total", "kind" => "any", "reason" => "left")
            .increment(untold);
        let requests = state.requests.sweep(|_| true);
        let outbox = &state.outbox;
        let (unsent, sent): (Vec<_>, Vec<_>) =
            requests
                .into_iter()
                .partition(|request| match request.spot {
                    Spot::Ordinary { start } => start >= outbox.handed_over(),
                    Spot::Large { token } => outbox.is_untouched(token),
                });
        drop(state);
        let node = || self.peer.clone();
        let lost = AskError::Lost { node: node() };
        sent.into_iter().for_each(|request| request.fail(&lost));
        let unreachable = TellError::Unreachable { node: node() }.into();
        for request in unsent {
            request.fail(&unreachable);
        }
        if let Some(supervisor) = self.supervisor.get() {
            supervisor.abort();
        }
    }
}

/// What a lane learns from its fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fenced {
    /// All messages before it were accepted or have come back.
    Judged,
    /// Nobody will tell: those that were sent are lost, the others wait to be recalled.
    NotConnected,
}

impl Session {
    fn new(number: u64, incarnation: Incarnation) -> Self {
        Self {
            number,
            incarnation,
            guests: BTreeMap::new(),
            streams: BTreeMap::new(),
            controlled: false,
            cut: None,
        }
    }
}

impl State {
    fn session(&mut self, number: u64) -> Option<&mut Session> {
        match &mut self.phase {
            Phase::Up(session) if session.number == number => Some(session),
            Phase::Up(_) | Phase::Idle | Phase::Dialing => None,
        }
    }

    fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    /// Enters a message and what it asks for.
    fn enter(&mut self, link: &Arc<Link>, message: &Outgoing<'_>, ports: &mut Ports) -> RequestId {
        let token = self.token();
        // As long as it is not known otherwise: small frames have a position.
        let large = Spot::Large { token };
        let (request, tags) = self.enter_requests(link, message, ports, large);
        let frame = NewMessage {
            request,
            to: message.to,
            kind: message.kind,
            id: message.id.as_str(),
            remaining: message.remaining,
            options: message.options,
            payload: message.payload,
        };
        let size = message.payload.len();
        let spot = self.outbox.push_sized(message.lane, token, size, |out| {
            frame.put(out, tags.iter().copied());
        });
        if spot != large {
            let own = (request != 0).then_some(request);
            for id in tags.iter().map(|tag| tag.request).chain(own) {
                if let Some(entry) = self.requests.get_mut(id) {
                    entry.spot = spot;
                }
            }
        }
        request
    }

    /// Enters what a message asks for: the ask itself, whose number is returned, and the replies inside it.
    fn enter_requests(
        &mut self,
        link: &Arc<Link>,
        message: &Outgoing<'_>,
        ports: &mut Ports,
        spot: Spot,
    ) -> (RequestId, SmallVec<[PortTag; 1]>) {
        let own = message.asker.map(asker_id);
        let mut asker = message.asker.map(|settle| Asker {
            settle: Arc::clone(settle),
            kind: message.kind,
            id: message.id.clone(),
        });
        let mut request = 0;
        let mut tags = SmallVec::new();
        for port in ports.drain(..) {
            let is_own = own.is_some() && port.sink() == own;
            let codec = port.codec().id();
            let credit = port.credit().cloned();
            let is_stream = credit.is_some();
            let id = self.requests.insert(Request {
                asker: if is_own { asker.take() } else { None },
                port: Some(port),
                spot,
                deadline: message.deadline.filter(|_| is_own),
            });
            if is_own {
                request = id;
            }
            if let Some(credit) = credit {
                credit.set_far(Arc::new(FarStream {
                    link: Arc::downgrade(link),
                    request: id,
                }));
            }
            tags.push(PortTag {
                is_stream,
                codec,
                request: id,
            });
        }
        if asker.is_some() {
            // An ask whose reply is not in the message: the opening of a stream.
            request = self.requests.insert(Request {
                asker,
                port: None,
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
    /// What identifies the receiver of the answer.
    fn sink(&self) -> Option<AskerId> {
        match self {
            Self::Answer(port) => Some(Arc::as_ptr(&port.sink).cast::<()>().addr()),
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

    /// Ends a stream whose producer has said so.
    fn end(&self, end: EndOfItems) {
        if let Self::Items(port) = self {
            port.sink.end(end);
        }
    }
}
