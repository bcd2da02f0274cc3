//! `Port`: the one door of a peer's control side, for other peers, nodes and clients.
//!
//! Everybody is greeted within a deadline and then passed on; there are so many places, and nobody waits for one. Invariant: whatever
//! comes in, it keeps nobody else from coming in, unless all places are taken.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use ostrakon_control::{Caller, Guest, Peer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::{Wires, hooks::Hooks, placed::Placed};

/// How long a caller may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);
/// How long to wait when the system cannot give us another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

pub(crate) struct Port {
    pub(crate) wires: Wires,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) places: usize,
}

impl Port {
    /// Accepts for as long as the peer runs.
    pub(crate) async fn open(self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(self.places));
        let port = Arc::new(self);
        loop {
            let (stream, from) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(EXHAUSTED).await;
                    continue;
                }
            };
            match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => {
                    let port = Arc::clone(&port);
                    tokio::spawn(async move { port.attend(stream, from, place).await });
                }
                Err(_) => {
                    tracing::warn!(%from, most = port.places, "too many connections; one is refused");
                }
            }
        }
    }

    async fn attend(&self, stream: TcpStream, from: SocketAddr, place: OwnedSemaphorePermit) {
        let greeted = self
            .wires
            .own()
            .greet(stream, self.wires.security(), GREETING);
        match greeted.await {
            Ok(Guest::Peer(peer)) => {
                let wire = Placed::boxed(peer.wire, place);
                self.wires.attend(None, Peer { wire, ..peer }).await;
            }
            Ok(Guest::Caller(caller)) => {
                let wire = Placed::boxed(caller.wire, place);
                self.pass_on(Caller { wire, ..caller }, from);
            }
            Err(error) => tracing::warn!(%from, %error, "a caller is refused"),
        }
    }

    fn pass_on(&self, caller: Caller, from: SocketAddr) {
        match self.hooks.on_caller() {
            Some(hook) => hook(caller),
            None => {
                let name = caller.name;
                tracing::warn!(%from, %name, "a caller is hung up on: nobody here listens to callers yet");
            }
        }
    }
}
