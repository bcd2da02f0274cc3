//! `Gateway`: a running gateway.

use std::{net::SocketAddr, time::Duration};

use axum::Router;
use ostrakon::Node;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time::timeout};

use crate::{Token, builder::GatewayBuilder, door::Door};

/// A running gateway. It ends at once when this is dropped; [`Gateway::stop`] lets it finish what it has begun.
pub struct Gateway {
    address: SocketAddr,
    closing: watch::Sender<bool>,
    tasks: JoinSet<()>,
    stop_within: Duration,
}

impl Gateway {
    /// Begins to describe a gateway to what `node` hosts or reaches, for those who have the token.
    pub fn builder(node: Node, token: Token) -> GatewayBuilder {
        GatewayBuilder::new(node, token)
    }

    pub(crate) fn open(
        door: Door,
        listener: TcpListener,
        address: SocketAddr,
        router: Router,
        stop_within: Duration,
    ) -> Self {
        let (closing, closed) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(door.open(listener, router, closed));
        Self {
            address,
            closing,
            tasks,
            stop_within,
        }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets nobody in any more, waits for calls that are under way, and ends. Streams that have not ended by then are cut off.
    ///
    /// Stop the gateway before its node leaves, and those who call do not notice.
    pub async fn stop(mut self) {
        self.closing.send_replace(true);
        // Whatever is left after that is ended below.
        let _ = timeout(self.stop_within, self.tasks.join_next()).await;
        self.tasks.shutdown().await;
    }
}
