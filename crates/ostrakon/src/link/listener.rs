//! The listener: lets other nodes in, after it has seen who they are.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Weak},
    time::Duration,
};

use ostrakon_core::{Incarnation, NodeName};
use ostrakon_tls::Identity;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use super::{
    Hub, Link, Phase, control,
    handshake::{self, HandshakeError, Hello, Purpose, Refusal},
    security::Secured,
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
        Accepted::Data(link, mut established) => {
            established.place = Some(place);
            // The supervisor is gone when this node leaves.
            let _ = link.accepted.send(established).await;
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
    Data(Arc<Link>, Established),
    Control(Arc<Link>, u64, Secured),
}

async fn meet(hub: &Arc<Hub>, stream: TcpStream) -> Result<Accepted, HandshakeError> {
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
    handshake::welcome(&hub.me, &mut secured.wire, session).await?;
    Ok(match hello.purpose {
        Purpose::Data => {
            let established = Established {
                wire: secured.wire,
                session,
                incarnation: Incarnation::new(hello.incarnation),
                message: usize::try_from(hello.message).unwrap_or(usize::MAX),
                opened: Opened::There,
                place: None,
            };
            Accepted::Data(link, established)
        }
        Purpose::Control => Accepted::Control(link, session, secured),
    })
}

/// Whether a dialer is let in, and as which session.
async fn judge(
    hub: &Arc<Hub>,
    hello: &Hello,
    identity: Option<&Identity>,
) -> Result<(Arc<Link>, u64), Refusal> {
    let name = hub.me.judge(hello, identity)?;
    if hub.is_leaving() {
        return Err(Refusal::Leaving);
    }
    let link = hub.link(&name);
    match hello.purpose {
        Purpose::Control => {
            // It may come before we have begun the session that the dialer knows already.
            let begins = link.session_begins(hello.session);
            let begun = tokio::time::timeout(hub.limits.handshake / 2, begins).await;
            begun.map_err(|_| Refusal::NoSession)?;
            Ok((Arc::clone(&link), hello.session))
        }
        Purpose::Data => {
            link.may_accept(&hub.me.name, Incarnation::new(hello.incarnation))?;
            Ok((link, hub.next_session()))
        }
    }
}

impl Link {
    /// Decides between two connections at once, and between two lives of the other node.
    fn may_accept(&self, me: &NodeName, theirs: Incarnation) -> Result<(), Refusal> {
        match &self.state.lock().phase {
            Phase::Idle => Ok(()),
            Phase::Dialing if *me < self.peer => Err(Refusal::Simultaneous { winner: me.clone() }),
            Phase::Dialing => Ok(()),
            Phase::Up(session) if session.incarnation > theirs => Err(Refusal::OldIncarnation),
            // It knows better than we do that the old connection is over.
            Phase::Up(_) => Ok(()),
        }
    }
}

/// Opens the port.
pub(crate) async fn bind(address: &str) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
