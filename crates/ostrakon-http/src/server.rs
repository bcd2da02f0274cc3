//! `Server`: a running HTTP server.

use std::time::Duration;

use axum::Router;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::timeout};

use crate::door::Door;

/// A running HTTP server. It ends at once when this is dropped.
pub struct Server {
    closing: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Server {
    /// Opens the door.
    pub fn start(door: Door, listener: TcpListener, router: Router) -> Self {
        let (closing, closed) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(door.open(listener, router, closed));
        Self { closing, tasks }
    }

    /// Ends it, and every connection.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }

    /// Lets nobody in any more, waits so long for requests that are under way, and ends.
    pub async fn finish(mut self, within: Duration) {
        self.closing.send_replace(true);
        // Whatever is left after that is ended below.
        let _ = timeout(within, self.tasks.join_next()).await;
        self.stop().await;
    }
}
