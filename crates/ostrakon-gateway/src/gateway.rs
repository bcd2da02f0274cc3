//! `Gateway`: a running gateway.

use std::{net::SocketAddr, time::Duration};

use ostrakon::Node;
use ostrakon_http::Server;

use crate::{Token, builder::GatewayBuilder};

/// A running gateway. It ends at once when this is dropped; [`Gateway::stop`] lets it finish what it has begun.
pub struct Gateway {
    pub(crate) address: SocketAddr,
    pub(crate) server: Server,
    pub(crate) stop_within: Duration,
}

impl Gateway {
    /// Begins to describe a gateway to what `node` hosts or reaches, for those who have the token.
    pub fn builder(node: Node, token: Token) -> GatewayBuilder {
        GatewayBuilder::new(node, token)
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets nobody in any more, waits for calls that are under way, and ends. Streams that have not ended by then are cut off.
    ///
    /// Stop the gateway before its node leaves, and those who call do not notice.
    pub async fn stop(self) {
        self.server.finish(self.stop_within).await;
    }
}
