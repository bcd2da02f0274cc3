//! `Admin`: a running admin API.
//!
//! Every wait on a caller has an end: for its greeting, for the head of its request, for its body, and for the connection as a whole.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use ostrakon_tls::{Role, Security, Unfit};
use thiserror::Error;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::timeout,
};

use crate::{
    front::Front,
    office::{Caller, Office},
    routes,
    settings::AdminSettings,
};

/// How long a caller may take to prove who it is.
const GREETING: Duration = Duration::from_secs(5);
/// How long a connection may last, streams included: whoever follows events resumes where it was.
const LIFETIME: Duration = Duration::from_secs(3600);
/// How long to wait when the system cannot give us another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// The most bytes of a request's head.
const LARGEST_HEAD: usize = 16 * 1024;

/// A running admin API. It ends when this is dropped.
pub struct Admin {
    address: SocketAddr,
    tasks: JoinSet<()>,
}

/// Why an admin API did not start. Nothing runs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AdminError {
    /// It cannot listen on this address. Choose another, or end what uses it.
    #[error("the admin API cannot listen on `{address}`: {cause}")]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        cause: String,
    },
    /// Its connections cannot be protected as they have to be.
    #[error("the admin API cannot be protected: {0}")]
    Unfit(#[from] Unfit),
}

impl Admin {
    /// Starts the admin API of a manager, or of a peer.
    pub async fn start(
        front: impl Into<Front>,
        settings: AdminSettings,
    ) -> Result<Self, AdminError> {
        let front = front.into();
        let failed = |cause: std::io::Error| AdminError::Listen {
            address: settings.listen.clone(),
            cause: cause.to_string(),
        };
        let listener = TcpListener::bind(&settings.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        check(&settings, front.role(), address)?;
        let door = Door {
            security: settings.security.clone(),
            connections: settings.connections,
            head_within: settings.head_within,
        };
        let office = Arc::new(Office {
            front,
            cluster: settings.cluster,
            manager: settings.manager,
            token: settings.token,
            metrics: settings.metrics,
            requests: Semaphore::new(settings.requests),
            streams: Arc::new(Semaphore::new(settings.streams)),
            answer_within: settings.answer_within,
            run: now_ms(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(door.open(listener, routes::router(office)));
        Ok(Self { address, tasks })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, and every connection.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

/// In plain text everybody on this host may look, and only who has the token may do more: that needs no warning.
fn check(settings: &AdminSettings, role: Role, address: SocketAddr) -> Result<(), Unfit> {
    let AdminSettings {
        cluster,
        manager,
        security,
        ..
    } = settings;
    match security.certificates() {
        Some(_) => security.check(cluster, role, manager, address),
        None if security.allows(address) => Ok(()),
        None => Err(Unfit::Unprotected { address }),
    }
}

/// Lets callers in.
struct Door {
    security: Security,
    connections: usize,
    head_within: Duration,
}

impl Door {
    async fn open(self, listener: TcpListener, router: Router) {
        let places = Arc::new(Semaphore::new(self.connections));
        let door = Arc::new(self);
        let mut callers = JoinSet::new();
        loop {
            while callers.try_join_next().is_some() {}
            // Whoever does not get a place waits in the queue of the system, which has a length of its own.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            match listener.accept().await {
                Ok((stream, from)) => {
                    let (door, router) = (Arc::clone(&door), router.clone());
                    callers.spawn(async move {
                        door.attend(stream, from, router).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "the admin API cannot accept a connection");
                    tokio::time::sleep(EXHAUSTED).await;
                }
            }
        }
    }

    async fn attend(&self, stream: TcpStream, from: SocketAddr, router: Router) {
        let secured = match timeout(GREETING, self.security.accept(stream)).await {
            Ok(Ok(secured)) => secured,
            Ok(Err(error)) => {
                tracing::warn!(%from, %error, "a caller of the admin API is refused");
                return;
            }
            Err(_) => return,
        };
        let service = TowerToHyperService::new(router.layer(Extension(Caller(secured.identity))));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new());
        http.header_read_timeout(self.head_within)
            .max_buf_size(LARGEST_HEAD);
        let connection = http.serve_connection(TokioIo::new(secured.wire), service);
        if let Ok(Err(error)) = timeout(LIFETIME, connection).await {
            tracing::debug!(%from, %error, "a connection to the admin API broke");
        }
    }
}

fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_1970.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
}
