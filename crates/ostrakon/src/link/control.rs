//! The control connection: heartbeats, on a socket of their own, so that no user traffic is ever before them.
//!
//! Whoever opened the session's data connection opens this one, too. Both sides send; whatever is heard proves that the other
//! node runs. Silence is judged by the [watch](super::watch), which ends the session.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use ostrakon_core::Time;
use ostrakon_tls::Wire;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    Hub, Link,
    connection::End,
    dialing,
    frame::{self, Frame},
    handshake::Purpose,
    inbox::Inbox,
};

/// Opens the control connection of a session that this node has opened, and serves it.
pub(crate) async fn dial(hub: Weak<Hub>, link: Arc<Link>, session: u64, their_session: u64) {
    let Some(strong) = hub.upgrade() else {
        return;
    };
    let dialed = dialing::dial(&strong, &link, Purpose::Control, their_session).await;
    drop(strong);
    match dialed {
        Ok(dialed) => serve(hub, link, session, dialed.wire).await,
        Err(error) => {
            tracing::warn!(peer = %link.peer, %error, "no control connection");
            link.cut(session, End::NoControl);
        }
    }
}

/// Sends heartbeats and answers them until the connection or the session ends.
pub(crate) async fn serve(hub: Weak<Hub>, link: Arc<Link>, session: u64, wire: Box<dyn Wire>) {
    let (mut read, mut write) = tokio::io::split(wire);
    let mut beat = link.clock.every(link.limits.heartbeat);
    let mut inbox = Inbox::new(0);
    let mut out = Vec::new();
    loop {
        out.clear();
        let mut space = inbox.space();
        tokio::select! {
            _ = beat.tick() => {
                if !link.is_session(session) {
                    return;
                }
                let Some(now) = hub.upgrade().map(|hub| hub.clock.now()) else {
                    return;
                };
                frame::put_ping(&mut out, now.as_nanos());
            }
            read = read.read_buf(&mut space) => {
                let bytes = match read {
                    Ok(bytes) if bytes > 0 => bytes,
                    Ok(_) | Err(_) => return link.cut(session, End::NoControl),
                };
                inbox.filled(bytes);
                link.heard_now();
                if !answer(&hub, &mut inbox, &mut out) {
                    return link.cut(session, End::NoControl);
                }
            }
        }
        let sent = tokio::time::timeout(link.limits.silence, async {
            write.write_all(&out).await?;
            write.flush().await
        });
        if !matches!(sent.await, Ok(Ok(()))) {
            return link.cut(session, End::NoControl);
        }
    }
}

/// Answers what has come. `false`: it was no heartbeat.
fn answer(hub: &Weak<Hub>, inbox: &mut Inbox, out: &mut Vec<u8>) -> bool {
    loop {
        match inbox.next() {
            Ok(None) => return true,
            Err(_) => return false,
            Ok(Some(bytes)) => match Frame::read(inbox.bytes(bytes)) {
                Ok(Frame::Ping { token }) => frame::put_pong(out, token),
                Ok(Frame::Pong { token }) => note_round_trip(hub, Time::from_nanos(token)),
                // A later version may say more here.
                Ok(Frame::Unknown { .. }) => {}
                Ok(_) | Err(_) => return false,
            },
        }
    }
}

fn note_round_trip(hub: &Weak<Hub>, sent: Time) {
    let Some(hub) = hub.upgrade() else {
        return;
    };
    let took: Duration = hub.clock.now().saturating_since(sent);
    hub.counts.heartbeat(took);
}
