//! `Door`: where callers come in when the manager has an address of its own.
//!
//! It greets them, so many at a time, and hands those that it lets in to the [`Attendant`].

use std::{net::SocketAddr, sync::Arc, time::Duration};

use ostrakon_control::{Caller, greet};
use ostrakon_tls::Security;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tracing::Instrument;

use crate::{ManagerSettings, attendant::Attendant};

/// How long a caller may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);
/// How long to wait when the system cannot give us another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

pub(crate) struct Door {
    security: Security,
    cluster: String,
    manager: String,
    connections: usize,
    attendant: Arc<Attendant>,
}

impl Door {
    pub(crate) fn new(settings: &ManagerSettings, attendant: Arc<Attendant>) -> Self {
        Self {
            security: settings.security.clone(),
            cluster: settings.cluster.clone(),
            manager: settings.name.clone(),
            connections: settings.connections,
            attendant,
        }
    }

    /// Accepts until nobody wants to hear of callers any more.
    pub(crate) async fn open(self: Arc<Self>, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(self.connections));
        loop {
            let (stream, from) = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(EXHAUSTED).await;
                        continue;
                    }
                },
                () = self.attendant.closed() => return,
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                tracing::warn!(%from, most = self.connections, "too many connections; one is refused");
                continue;
            };
            let door = Arc::clone(&self);
            tokio::spawn(async move {
                if let Some(caller) = door.greet(stream, from).await {
                    let span = tracing::info_span!("line", %from);
                    door.attendant.attend(caller).instrument(span).await;
                }
                drop(place);
            });
        }
    }

    async fn greet(&self, stream: TcpStream, from: SocketAddr) -> Option<Caller> {
        let greeted = greet(
            stream,
            &self.security,
            &self.cluster,
            &self.manager,
            GREETING,
        );
        match greeted.await {
            Ok(caller) => Some(caller),
            Err(error) => {
                metrics::counter!("ostrakon_manager_callers_refused_total").increment(1);
                tracing::warn!(%from, %error, "a caller is refused");
                None
            }
        }
    }
}
