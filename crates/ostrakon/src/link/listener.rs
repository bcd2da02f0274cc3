//! The listener: lets other nodes in, after it has seen who they are.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Weak},
    time::Duration,
};

use ostrakon_core::Incarnation;
use ostrakon_tls::{Identity, Secured};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use super::{
    Hub, Link, Phase, control,
    handshake::{self, HandshakeError, Hello, Purpose, Refusal},
    pen::Pen,
    supervisor::{Established, Opened},
};

/// How long to wait when the system cannot give us another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Accepts connections until the hub is gone.
pub(crate) async fn run(hub: Weak<Hub>, listener: TcpListener, most: usize) {
    let places = Arc::new(Semaphore::new(most));
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(EXHAUSTED).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            metrics::counter!("ostrakon_connections_refused_total", "reason" => "too_many")
                .increment(1);
            tracing::warn!(%from, most, "too many connections; one is refused");
            continue;
        };
        let Some(hub) = hub.upgrade() else {
            return;
        };
        tokio::spawn(greet(hub, stream, from, place));
    }
}

async fn greet(hub: Arc<Hub>, stream: TcpStream, from: SocketAddr, place: OwnedSemaphorePermit) {
    let most = hub.limits.handshake;
    let greeted = tokio::time::timeout(most, meet(&hub, stream))
        .await
        .unwrap_or(Err(HandshakeError::Late(most)));
    let accepted = match greeted {
        Ok(accepted) => accepted,
        Err(error) => {
            metrics::counter!("ostrakon_connections_refused_total", "reason" => "handshake")
                .increment(1);
            tracing::warn!(%from, %error, "a connection is refused");
            return;
        }
    };
    let weak = Arc::downgrade(&hub);
    match accepted {
        Accepted::Data(greeting, mut established) => {
            established.place = Some(place);
            // The supervisor is gone when this node leaves.
            let _ = greeting.0.accepted.send(established).await;
        }
        Accepted::Control(link, session, secured) => {
            drop(hub);
            control::serve(weak, link, session, secured.wire).await;
            drop(place);
        }
    }
}

/// A connection that has been let in.
enum Accepted {
    Data(Greeting, Established),
    Control(Arc<Link>, u64, Secured),
}

async fn meet(hub: &Arc<Hub>, stream: TcpStream) -> Result<Accepted, HandshakeError> {
    let pen = Pen::of(hub, &stream);
    let mut secured = hub.security.accept(stream).await?;
    let judged = match handshake::read_hello(&mut secured.wire).await? {
        Ok(hello) => judge(hub, &hello, secured.identity.as_ref())
            .await
            .map(|(link, session)| (hello, link, session)),
        Err(refusal) => Err(refusal),
    };
    let (hello, link, session) = match judged {
        Ok(fits) => fits,
        Err(refusal) => {
            // The dialer may have gone already; the log says it in any case.
            let _ = handshake::refuse(&mut secured.wire, &refusal).await;
            return Err(HandshakeError::Refused(refusal));
        }
    };
    let turn = link.link().next_turn(hello.session);
    handshake::welcome(&hub.me, &mut secured.wire, session, turn).await?;
    Ok(match link {
        Met::Greeting(greeting) => {
            let established = Established {
                wire: secured.wire,
                pen,
                session,
                turn,
                incarnation: Incarnation::new(hello.incarnation),
                message: usize::try_from(hello.message).unwrap_or(usize::MAX),
                opened: Opened::There,
                place: None,
            };
            Accepted::Data(greeting, established)
        }
        Met::Session(link) => Accepted::Control(link, session, secured),
    })
}

/// Whether a dialer is let in, and as which session.
async fn judge(
    hub: &Arc<Hub>,
    hello: &Hello,
    identity: Option<&Identity>,
) -> Result<(Met, u64), Refusal> {
    let name = hub.me.judge(hello, identity)?;
    if hub.is_leaving() {
        return Err(Refusal::Leaving);
    }
    if !hub.may_meet(&name) {
        return Err(Refusal::TooManyNodes);
    }
    let link = hub.link(&name);
    match hello.purpose {
        Purpose::Control => {
            // It may come before we have begun the session that the dialer knows already.
            let begins = link.session_begins(hello.session);
            let begun = tokio::time::timeout(hub.limits.handshake / 2, begins).await;
            begun.map_err(|_| Refusal::NoSession)?;
            if !link.take_control(hello.session) {
                return Err(Refusal::NoSession);
            }
            Ok((Met::Session(Arc::clone(&link)), hello.session))
        }
        Purpose::Data => {
            link.may_accept(hello)?;
            Ok((Met::Greeting(Greeting(link)), hub.next_session()))
        }
    }
}

/// Whom a connection that was let in is for.
enum Met {
    Greeting(Greeting),
    Session(Arc<Link>),
}

impl Met {
    fn link(&self) -> &Arc<Link> {
        match self {
            Self::Greeting(Greeting(link)) | Self::Session(link) => link,
        }
    }
}

/// As long as it lives, the other side is being let in, and this node does not dial it.
struct Greeting(Arc<Link>);

impl Drop for Greeting {
    fn drop(&mut self) {
        self.0.state.lock().greetings -= 1;
        self.0.wanted.notify_one();
    }
}

impl Link {
    /// The turn of a new connection: after all that either side has used.
    fn next_turn(&self, theirs: u64) -> u64 {
        self.latest_turn().max(theirs).saturating_add(1)
    }

    /// Decides between two connections at once, and between two lives of the other node. Whoever is let in is greeted.
    fn may_accept(&self, hello: &Hello) -> Result<(), Refusal> {
        let theirs = Incarnation::new(hello.incarnation);
        let mut state = self.state.lock();
        let latest = state.latest.as_ref();
        // After a later start's connection nothing of an earlier one may be handled.
        if latest.is_some_and(|latest| latest.is_of_later(theirs)) {
            return Err(Refusal::OldIncarnation);
        }
        let is_first = match &state.phase {
            Phase::Idle => false,
            Phase::Dialing => *self.me() < self.peer,
            // It dialed before it knew of the connection that there is. If it knew, it knows better than we that it is over.
            Phase::Up(session) => {
                let same_life = session.incarnation == theirs;
                same_life && latest.is_some_and(|rank| rank.is_news(self.me(), hello.session))
            }
        };
        if is_first {
            let winner = self.me().clone();
            return Err(Refusal::Simultaneous { winner });
        }
        state.greetings += 1;
        Ok(())
    }
}

/// Opens the port.
pub(crate) async fn bind(address: &str) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
