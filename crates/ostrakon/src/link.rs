//! `Link`: everything between this node and one other node.
//!
//! ```text
//!      ┌──────── Pen ────────────────────────────┐              an ask that is the only one under way
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
mod counts;
mod dialing;
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
mod outgoing;
mod parcel;
mod pen;
mod replying;
mod requests;
mod session;
mod supervisor;
mod taking_back;
mod watch;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use futures_util::task::AtomicWaker;
use ostrakon_core::NodeName;
use tokio::sync::{Notify, mpsc, oneshot};

pub use self::limits::Limits;
pub(crate) use self::{
    arrival::{Arrival, Load, TurnedAway},
    handshake::Me,
    hub::{Home, Hub, HubParts, KnownKind},
    lane::{Asking, Draft, Lane, LaneGroup, Lanes, Leads, Leftovers, Ticket, Way},
    listener::bind,
    outbox::LaneKey,
    outgoing::{Outgoing, remaining},
    parcel::{Parcel, write_options},
    replying::Class,
    taking_back::{Fenced, Withdrawn},
};

use self::{
    frame::{Addressee, RequestId},
    outbox::{Outbox, Spot},
    requests::{Owed, Request, Requests},
    session::Session,
    supervisor::{Established, Rank},
};
use crate::{
    AskError, TellError,
    apart::Apart,
    clock::Clock,
    lock::Mutex,
    wire::{ItemsPort, Port},
};

pub(crate) struct Link {
    pub(crate) peer: NodeName,
    /// This node's name.
    me: NodeName,
    limits: Limits,
    state: Apart<Mutex<State>>,
    /// The largest message that both sides accept.
    most: AtomicUsize,
    /// Wakes the connection's task when there is something to write.
    writer: Apart<AtomicWaker>,
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
    /// How often something was read from the data connection.
    reads: Apart<AtomicU64>,
    /// Since when the other side takes nothing of what is being written; [`NOT_STUCK`] if it does.
    stuck: AtomicU64,
    clock: Clock,
    /// A session has begun or ended.
    changed: Notify,
    /// An ask has an earlier deadline than all before it.
    expiry: Arc<Notify>,
    /// Ends the supervisor.
    supervisor: OnceLock<tokio::task::AbortHandle>,
}

const NOT_STUCK: u64 = u64::MAX;

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

impl Link {
    fn new(hub: &Arc<Hub>, peer: NodeName) -> (Arc<Self>, mpsc::Receiver<Established>) {
        let (accepted, incoming) = mpsc::channel(1);
        let link = Self {
            peer,
            me: hub.me.name.clone(),
            limits: hub.limits,
            state: Apart(Mutex::new(State {
                outbox: Outbox::default(),
                requests: Requests::default(),
                fences: BTreeMap::new(),
                next_token: 1,
                phase: Phase::Idle,
                latest: None,
                greetings: 0,
                closed: false,
            })),
            most: AtomicUsize::new(hub.limits.message),
            writer: Apart(AtomicWaker::new()),
            wanted: Notify::new(),
            begun_anew: Notify::new(),
            accepted,
            load: Arc::default(),
            heard: AtomicU64::new(0),
            reads: Apart(AtomicU64::new(0)),
            stuck: AtomicU64::new(NOT_STUCK),
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

    /// A request of ours is over.
    fn finish(&self, request: RequestId) -> Option<Request> {
        self.state.lock().requests.remove(request)
    }

    /// An item of a stream arrived: where it goes.
    fn stream_port(&self, request: RequestId) -> Option<ItemsPort> {
        match &self.state.lock().requests.get_mut(request)?.owed {
            Owed::Reply(Port::Items(port)) => Some(port.clone()),
            Owed::Reply(Port::Answer(_)) | Owed::Opening(_) => None,
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

    /// Whether there is no connection, and nothing that waits for one.
    fn is_at_rest(&self) -> bool {
        let mut state = self.state.lock();
        let is_offered = self.accepted.capacity() < self.accepted.max_capacity();
        if !matches!(state.phase, Phase::Idle) || state.greetings > 0 || is_offered {
            return false;
        }
        state.outbox.forget_void();
        state.outbox.is_empty() && state.requests.len() == 0
    }

    /// Sends nothing to this node any more, and fails what waits.
    fn close(&self) {
        // Declared first, so dropped after the lock is released.
        let mut silent = Vec::new();
        let mut state = self.state.lock();
        state.closed = true;
        let untold = state.recall_tells(|_| true, &mut silent);
        let phase = std::mem::replace(&mut state.phase, Phase::Idle);
        state.fences.clear();
        let requests = state.requests.sweep(|_| true);
        let outbox = &mut state.outbox;
        let (unsent, sent): (Vec<_>, Vec<_>) =
            requests
                .into_iter()
                .partition(|request| match request.spot {
                    Spot::Ordinary { start } => start >= outbox.handed_over(),
                    Spot::Large { token } => outbox.is_untouched(token),
                });
        // The connection may go on for a moment: what is called unsent must not be sent by it.
        outbox.recall(|_| true, |_| {});
        drop(state);
        if let Some(supervisor) = self.supervisor.get() {
            supervisor.abort();
        }
        self.count_untold("left", untold);
        let node = || self.peer.clone();
        let lost = AskError::Lost { node: node() };
        sent.into_iter().for_each(|request| request.fail(&lost));
        let unreachable = TellError::Unreachable { node: node() }.into();
        for request in unsent {
            request.fail(&unreachable);
        }
        if let Phase::Up(session) = phase {
            session.forget_guests();
        }
    }

    /// Nobody knows where this node is, and has not for long: what was told to its actors is lost. What was told to entities goes where their shards
    /// go, and whoever asks has a deadline.
    fn give_up_tells(&self) {
        // Declared first, so dropped after the lock is released.
        let mut silent = Vec::new();
        let mut state = self.state.lock();
        let untold = state.recall_tells(|to| to == Addressee::Actor, &mut silent);
        drop(state);
        self.count_untold("unreachable", untold);
    }

    fn count_untold(&self, reason: &'static str, untold: u64) {
        if untold > 0 {
            metrics::counter!("ostrakon_undelivered_total", "kind" => "any", "reason" => reason)
                .increment(untold);
            tracing::warn!(peer = %self.peer, reason, untold, "told messages were not delivered");
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Whoever watches its deadlines sees that it is gone.
        self.expiry.notify_one();
    }
}

impl State {
    /// Takes back the told messages to those that are `wanted`, and says how many these are. What they ask for is put into `owed`, to be dropped
    /// where no lock is held.
    fn recall_tells(&mut self, wanted: impl Fn(Addressee) -> bool, owed: &mut Vec<Request>) -> u64 {
        let mut count = 0;
        let requests = &mut self.requests;
        self.outbox.recall(
            |message| message.request == 0 && wanted(message.to),
            |message| {
                count += 1;
                let ids = message.ports().map(|tag| tag.request);
                owed.extend(ids.filter_map(|id| requests.remove(id)));
            },
        );
        count
    }

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
}
