//! `Session`: what is known of one connection and of nothing before it.
//!
//! It begins when both sides have agreed on a connection, and whatever belongs to it ends with it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use ostrakon_core::Incarnation;

use super::{
    Link, Phase, State, connection::End, frame::RequestId, guest::Guest, outbox::Spot, pen::Pen,
};
use crate::{AskError, stream::Credit};

/// One connection's worth of memory.
pub(super) struct Session {
    pub(super) number: u64,
    pub(super) incarnation: Incarnation,
    /// Requests of the other side that are not answered yet.
    pub(super) guests: BTreeMap<RequestId, Weak<Guest>>,
    pub(super) streams: BTreeMap<RequestId, Arc<Credit>>,
    /// It has its control connection.
    pub(super) controlled: bool,
    /// Ordered to end.
    pub(super) cut: Option<End>,
    /// Writes beside the connection, as long as that lives and the wire allows it.
    pub(super) pen: Weak<Pen>,
}

impl Session {
    pub(super) fn new(number: u64, incarnation: Incarnation, pen: Weak<Pen>) -> Self {
        Self {
            number,
            incarnation,
            guests: BTreeMap::new(),
            streams: BTreeMap::new(),
            controlled: false,
            cut: None,
            pen,
        }
    }

    /// It is over: nobody waits for what the other side has asked for.
    pub(super) fn forget_guests(self) {
        for guest in self.guests.values().filter_map(Weak::upgrade) {
            guest.forget();
        }
        for credit in self.streams.values() {
            credit.close();
        }
    }
}

impl State {
    /// Something was read on this session: it is not to end because nothing was.
    pub(super) fn is_heard(&mut self, session: u64) {
        if let Some(session) = self.session(session)
            && let Some(End::Deaf) = session.cut
        {
            session.cut = None;
        }
    }
}

impl Link {
    pub(super) fn is_session(&self, session: u64) -> bool {
        self.state.lock().session(session).is_some()
    }

    /// Waits until a session has begun that is about to.
    pub(super) async fn session_begins(&self, session: u64) {
        loop {
            let changed = self.changed.notified();
            if self.is_session(session) {
                return;
            }
            changed.await;
        }
    }

    /// Takes the one place for a session's control connection. `false`: it is taken, or the session over.
    pub(super) fn take_control(&self, session: u64) -> bool {
        let mut state = self.state.lock();
        let session = state.session(session);
        session.is_some_and(|session| !std::mem::replace(&mut session.controlled, true))
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
    pub(super) fn cut(&self, session: u64, end: End) {
        if let Some(session) = self.state.lock().session(session) {
            session.cut.get_or_insert(end);
        }
        self.writer.wake();
    }

    /// The other node is no member any more: nobody waits for its answers any longer.
    pub(super) fn run_is_over(&self) {
        if let Phase::Up(session) = &mut self.state.lock().phase {
            session.cut.get_or_insert(End::RunOver);
        }
        self.writer.wake();
    }

    /// Sends what waits, says goodbye, and waits until that is done.
    pub(super) async fn leave(&self) {
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

    /// A connection is over. What it was writing goes back if it did not go out; what was sent and not answered is lost.
    pub(super) fn session_over(&self, session: u64, writing: &[u8], written: usize) {
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
        session.forget_guests();
    }
}
