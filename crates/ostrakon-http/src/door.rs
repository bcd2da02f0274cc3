//! `Door`: lets callers in, so many at once, and none of them for ever.
//!
//! Every wait on a caller has an end: for its greeting, for the head of its request, and for the connection as a whole.

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use ostrakon_tls::Secured;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::timeout,
};

use crate::protection::{Caller, Protection};

/// How long a connection may last, streams included: whoever follows something resumes where it was.
const LIFETIME: Duration = Duration::from_secs(3600);
/// How long to wait when the system cannot give us another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// The most bytes of a request's head, and what is buffered for a caller that does not read.
const LARGEST_HEAD: usize = 16 * 1024;

/// How callers are let in.
pub struct Door {
    /// Whose door it is, for the log.
    pub of: &'static str,
    /// What connections are protected by.
    pub protection: Protection,
    /// How many connections there may be; more wait in the queue of the system.
    pub connections: usize,
    /// How long a caller may take until its connection is protected.
    pub greeted_within: Duration,
    /// How long a caller may take for the head of a request, and be idle between two.
    pub head_within: Duration,
}

impl Door {
    /// Lets callers in until `closed` says otherwise, then waits for those who are inside.
    pub(crate) async fn open(
        self,
        listener: TcpListener,
        router: Router,
        mut closed: watch::Receiver<bool>,
    ) {
        let places = Arc::new(Semaphore::new(self.connections));
        let door = Arc::new(self);
        let mut callers = JoinSet::new();
        loop {
            while callers.try_join_next().is_some() {}
            let next = async {
                // Whoever gets no place waits in the queue of the system, which has a length of its own.
                let place = Arc::clone(&places).acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => break,
                next = next => next,
            };
            match accepted {
                Ok((stream, from)) => {
                    let (door, router, closed) =
                        (Arc::clone(&door), router.clone(), closed.clone());
                    callers.spawn(async move {
                        door.attend(stream, from, router, closed).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "{} cannot accept a connection", door.of);
                    tokio::time::sleep(EXHAUSTED).await;
                }
            }
        }
        drop(listener);
        while callers.join_next().await.is_some() {}
    }

    async fn attend(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        router: Router,
        closed: watch::Receiver<bool>,
    ) {
        // Only how soon small answers leave depends on it.
        let _ = stream.set_nodelay(true);
        let greeting = self.protection.greet(stream);
        match timeout(self.greeted_within, greeting).await {
            Ok(Ok(secured)) => self.serve(secured, from, router, closed).await,
            Ok(Err(error)) => self.refused(from, &error),
            Err(_) => tracing::debug!(%from, "a caller of {} takes too long to begin", self.of),
        }
    }

    /// In a cluster everybody knows how to come in; on the web anybody tries.
    fn refused(&self, from: SocketAddr, error: &io::Error) {
        match self.protection {
            Protection::Cluster(_) => {
                tracing::warn!(%from, %error, "a caller of {} is refused", self.of);
            }
            Protection::Certificate(_) | Protection::Plain => {
                tracing::debug!(%from, %error, "a caller of {} does not speak TLS with us", self.of);
            }
        }
    }

    async fn serve(
        &self,
        secured: Secured,
        from: SocketAddr,
        router: Router,
        mut closed: watch::Receiver<bool>,
    ) {
        let service = TowerToHyperService::new(router.layer(Extension(Caller(secured.identity))));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(self.head_within)
            .max_buf_size(LARGEST_HEAD);
        let mut connection = pin!(http.serve_connection(TokioIo::new(secured.wire), service));
        let serving = async {
            tokio::select! {
                served = connection.as_mut() => return served,
                _ = closed.wait_for(|closed| *closed) => {}
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        };
        if let Ok(Err(error)) = timeout(LIFETIME, serving).await {
            tracing::debug!(%from, %error, "a connection to {} broke", self.of);
        }
    }
}
