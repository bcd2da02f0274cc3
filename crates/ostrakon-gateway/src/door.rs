//! `Door`: lets callers in, so many at once, and none of them for ever.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::{
    rt::{Read, Write},
    server::conn::http1,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

/// How long a connection may last, streams included.
const LIFETIME: Duration = Duration::from_secs(3600);
/// How long to wait when the system cannot give us another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// The most bytes of a request's head, and what is buffered for a caller that does not read.
const LARGEST_HEAD: usize = 16 * 1024;

pub(crate) struct Door {
    /// `None`: plain text.
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) connections: usize,
    /// How long a caller may take to say what it wants.
    pub(crate) patience: Duration,
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
                    tracing::warn!(%error, "the gateway cannot accept a connection");
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
        let Some(tls) = &self.tls else {
            return self.serve(TokioIo::new(stream), from, router, closed).await;
        };
        match timeout(self.patience, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.serve(TokioIo::new(stream), from, router, closed).await,
            Ok(Err(error)) => tracing::debug!(%from, %error, "a caller does not speak TLS with us"),
            Err(_) => tracing::debug!(%from, "a caller takes too long to begin with TLS"),
        }
    }

    async fn serve(
        &self,
        wire: impl Read + Write + Unpin + Send,
        from: SocketAddr,
        router: Router,
        mut closed: watch::Receiver<bool>,
    ) {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(self.patience)
            .max_buf_size(LARGEST_HEAD);
        let mut connection = pin!(http.serve_connection(wire, TowerToHyperService::new(router)));
        let serving = async {
            tokio::select! {
                served = connection.as_mut() => return served,
                _ = closed.wait_for(|closed| *closed) => {}
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        };
        if let Ok(Err(error)) = timeout(LIFETIME, serving).await {
            tracing::debug!(%from, %error, "a connection to the gateway broke");
        }
    }
}
