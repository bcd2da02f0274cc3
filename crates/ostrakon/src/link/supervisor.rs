//! The supervisor of a link: one task that sees to it that there is a connection when one is needed.
//!
//! It dials, or takes the connection that the other side has opened, runs it, and pauses before it tries again. Being one
//! task it decides alone which connection is the one.

use std::{
    sync::{Arc, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use ostrakon_core::{Incarnation, NodeName};
use ostrakon_tls::Wire;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{
    Hub, Link, Phase, Session,
    connection::{Connection, End},
    control,
    dialing::{self, Dialed},
    frame::Addressee,
    handshake::{HandshakeError, Purpose},
    pen::Pen,
    watch,
};
use crate::{TellError, entity_ref::DEFAULT_TIMEOUT};

/// A connection that both sides have agreed on.
pub(crate) struct Established {
    pub(crate) wire: Box<dyn Wire>,
    pub(crate) pen: Option<Pen>,
    /// Our number for it.
    pub(crate) session: u64,
    pub(crate) turn: u64,
    pub(crate) incarnation: Incarnation,
    /// The largest message the other side accepts.
    pub(crate) message: usize,
    pub(crate) opened: Opened,
    /// Its place among the connections that this node accepts.
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

/// A connection's place among all between two nodes. Both use them in this order only: otherwise what was sent on an older one could
/// be handled after what was sent on a newer one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    incarnation: Incarnation,
    turn: u64,
    /// Tells two apart that were opened at once.
    dialer: NodeName,
}

/// Who opened a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    /// This node; the other side has its own number for the session.
    Here {
        their_session: u64,
    },
    There,
}

impl Rank {
    /// Whether it is of a later start of the other node than this one.
    pub(crate) fn is_of_later(&self, incarnation: Incarnation) -> bool {
        self.incarnation > incarnation
    }

    /// Whether `me` opened it, and the other side did not know of it when its own latest had this turn.
    pub(crate) fn is_news(&self, me: &NodeName, turn: u64) -> bool {
        self.dialer == *me && turn < self.turn
    }
}

impl Established {
    fn rank(&self, link: &Link) -> Rank {
        let dialer = match self.opened {
            Opened::Here { .. } => link.me(),
            Opened::There => &link.peer,
        };
        Rank {
            incarnation: self.incarnation,
            turn: self.turn,
            dialer: dialer.clone(),
        }
    }
}

impl Link {
    fn is_later(&self, rank: &Rank) -> bool {
        let state = self.state.lock();
        state.latest.as_ref().is_none_or(|latest| latest < rank)
    }

    /// `false`: the other side is just being let in.
    fn begin_dialing(&self) -> bool {
        let mut state = self.state.lock();
        if state.greetings > 0 {
            return false;
        }
        state.phase = Phase::Dialing;
        true
    }

    /// The turn of the latest connection that this node has used.
    pub(crate) fn latest_turn(&self) -> u64 {
        let state = self.state.lock();
        state.latest.as_ref().map_or(0, |latest| latest.turn)
    }
}

pub(crate) async fn run(
    hub: Weak<Hub>,
    link: Arc<Link>,
    mut incoming: mpsc::Receiver<Established>,
) {
    let mut next = None;
    let mut failures = 0;
    loop {
        let established = match next.take() {
            Some(established) => established,
            None => match connect(&hub, &link, &mut incoming, &mut failures).await {
                Some(established) => established,
                None => return,
            },
        };
        let Some(hub) = hub.upgrade() else {
            return;
        };
        let began = tokio::time::Instant::now();
        let (end, replaced_by) = live(&hub, &link, established, &mut incoming).await;
        next = replaced_by;
        // A connection that ends at once is no better than none.
        failures = if began.elapsed() < Duration::from_secs(1) {
            failures + 1
        } else {
            0
        };
        tracing::info!(peer = %link.peer, reason = %end, "connection ended");
        metrics::counter!("ostrakon_connections_ended_total", "reason" => end.label()).increment(1);
        if next.is_none() {
            hub.peer_is(&link.peer, &end);
        }
        if end.is_final() {
            return;
        }
    }
}

/// Waits until a connection is needed or offered. `None`: the link is not used any more.
async fn connect(
    hub: &Weak<Hub>,
    link: &Arc<Link>,
    incoming: &mut mpsc::Receiver<Established>,
    failures: &mut u32,
) -> Option<Established> {
    let mut failing_since = None;
    loop {
        if *failures > 0 {
            let pause = pause(&link.limits, *failures);
            tokio::select! {
                biased;
                offered = offered(link, incoming) => return offered,
                () = link.begun_anew.notified() => *failures = 0,
                () = tokio::time::sleep(pause) => {}
            }
        }
        if !link.has_work() {
            failing_since = None;
        }
        let unused = link.clock.now() + link.limits.silence;
        tokio::select! {
            biased;
            offered = offered(link, incoming) => return offered,
            () = is_wanted(link) => {}
            () = link.clock.sleep_until(unused) => {
                if hub.upgrade()?.forget(link) {
                    return None;
                }
                continue;
            }
        }
        let hub = hub.upgrade()?;
        if !link.begin_dialing() {
            continue;
        }
        let dialed = tokio::select! {
            biased;
            // Ours is dropped: the other side was faster.
            offered = offered(link, incoming) => return offered,
            () = link.begun_anew.notified() => {
                link.state.lock().phase = Phase::Idle;
                continue;
            }
            dialed = dial(&hub, link) => dialed,
        };
        match dialed {
            Ok(established) => return Some(established),
            Err(error) => {
                link.state.lock().phase = Phase::Idle;
                *failures += 1;
                // One that is about to dial us may be unknown, too, and a tell waits that long for an owner as well.
                let now = link.clock.now();
                let failing = now.saturating_since(*failing_since.get_or_insert(now));
                if hub.address(&link.peer).is_none() && failing >= DEFAULT_TIMEOUT {
                    link.give_up_tells();
                }
                hub.unreachable(&link.peer);
                tracing::warn!(peer = %link.peer, %error, attempt = *failures, "cannot connect");
            }
        }
    }
}

/// The next connection that the other side has opened. One that is older than the latest has come too late.
async fn offered(link: &Link, incoming: &mut mpsc::Receiver<Established>) -> Option<Established> {
    std::future::poll_fn(|cx| poll_offered(link, incoming, cx)).await
}

fn poll_offered(
    link: &Link,
    incoming: &mut mpsc::Receiver<Established>,
    cx: &mut Context<'_>,
) -> Poll<Option<Established>> {
    loop {
        let Some(offered) = ready!(incoming.poll_recv(cx)) else {
            return Poll::Ready(None);
        };
        if link.is_later(&offered.rank(link)) {
            return Poll::Ready(Some(offered));
        }
        tracing::info!(peer = %link.peer, turn = offered.turn, "a connection came too late and is closed");
    }
}

async fn is_wanted(link: &Link) {
    loop {
        let wanted = link.wanted.notified();
        if link.has_work() {
            return;
        }
        wanted.await;
    }
}

/// Doubles with every failure; a random part of it keeps nodes from trying in step.
fn pause(limits: &super::Limits, failures: u32) -> Duration {
    let doubled = limits
        .first_pause
        .saturating_mul(1 << failures.saturating_sub(1).min(16));
    let longest = doubled.min(limits.longest_pause);
    longest.mul_f64(0.5 + fastrand::f64() / 2.0)
}

async fn dial(hub: &Arc<Hub>, link: &Arc<Link>) -> Result<Established, HandshakeError> {
    let latest = link.latest_turn();
    let Dialed { wire, pen, welcome } = dialing::dial(hub, link, Purpose::Data, latest).await?;
    Ok(Established {
        wire,
        pen,
        session: hub.next_session(),
        turn: welcome.turn,
        incarnation: Incarnation::new(welcome.incarnation),
        message: usize::try_from(welcome.message).unwrap_or(usize::MAX),
        opened: Opened::Here {
            their_session: welcome.session,
        },
        place: None,
    })
}

/// Runs a connection to its end, or until another one takes its place.
async fn live(
    hub: &Arc<Hub>,
    link: &Arc<Link>,
    established: Established,
    incoming: &mut mpsc::Receiver<Established>,
) -> (End, Option<Established>) {
    let rank = established.rank(link);
    let Established {
        wire,
        pen,
        session,
        turn: _,
        incarnation,
        message,
        opened,
        place: _place,
    } = established;
    link.state.lock().latest = Some(rank);
    let pen = pen.map(Arc::new);
    let weak = pen.as_ref().map_or_else(Weak::new, Arc::downgrade);
    begin(hub, link, Session::new(session, incarnation, weak), message);
    tracing::info!(peer = %link.peer, %incarnation, ?opened, "connected");
    hub.peer_is_up(&link.peer);
    let heartbeats = match opened {
        Opened::Here { their_session } => {
            let control = control::dial(
                Arc::downgrade(hub),
                Arc::clone(link),
                session,
                their_session,
            );
            Some(AbortOnDrop(tokio::spawn(control).abort_handle()))
        }
        Opened::There => None,
    };
    let watch = watch::keep(Arc::clone(link), session);
    let watch = AbortOnDrop(tokio::spawn(watch).abort_handle());
    let mut connection = Connection::new(hub, link, session, wire);
    let mut has_looked = false;
    let (end, replaced_by) = std::future::poll_fn(|cx| {
        // Whoever offers another one wakes this task, as soon as it has looked once: every message passes here.
        if !has_looked || !incoming.is_empty() {
            has_looked = true;
            if let Poll::Ready(offered) = poll_offered(link, incoming, cx) {
                return Poll::Ready((End::Replaced, offered));
            }
        }
        connection.poll(cx).map(|end| (end, None))
    })
    .await;
    // From now on the connection alone writes, and these are its last words.
    drop((heartbeats, watch, pen));
    connection.finish(&end).await;
    (end, replaced_by)
}

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn begin(hub: &Hub, link: &Link, session: Session, message: usize) {
    let most = message.min(link.limits.message);
    link.heard_now();
    link.stuck_since(None);
    let mut state = link.state.lock();
    link.most.store(most, std::sync::atomic::Ordering::Relaxed);
    state.phase = Phase::Up(session);
    // What waited may be more than this peer accepts.
    let super::State {
        outbox, requests, ..
    } = &mut *state;
    let mut too_large = Vec::new();
    outbox.recall(
        |waiting| waiting.payload.len() > most,
        |waiting| {
            let ids = waiting
                .ports()
                .map(|tag| tag.request)
                .chain([waiting.request]);
            let size = waiting.payload.len();
            too_large.extend(ids.filter_map(|id| Some((requests.remove(id)?, size))));
            if let (Addressee::Entity { .. }, 0) = (waiting.to, waiting.request) {
                hub.undelivered_named(waiting.kind, waiting.id, "too_large");
            }
        },
    );
    drop(state);
    link.changed.notify_waiters();
    for (request, size) in too_large {
        let limit = most;
        request.fail(&TellError::TooLarge { size, limit }.into());
    }
}

#[cfg(test)]
mod tests;
