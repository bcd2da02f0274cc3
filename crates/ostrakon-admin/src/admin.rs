//! `Admin`: a running admin API.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use ostrakon_http::{Door, Protection, Server};
use ostrakon_tls::{Role, Unfit};
use thiserror::Error;
use tokio::{net::TcpListener, sync::Semaphore};

use crate::{front::Front, office::Office, routes, settings::AdminSettings};

/// How long a caller may take to prove who it is.
const GREETING: Duration = Duration::from_secs(5);

/// A running admin API. It ends when this is dropped.
pub struct Admin {
    address: SocketAddr,
    server: Server,
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
            of: "the admin API",
            protection: Protection::Cluster(settings.security.clone()),
            connections: settings.connections,
            greeted_within: GREETING,
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
        let server = Server::start(door, listener, routes::router(office));
        Ok(Self { address, server })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, and every connection.
    pub async fn stop(self) {
        self.server.stop().await;
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

fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_1970.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
}
