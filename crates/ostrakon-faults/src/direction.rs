//! Which way bytes travel through the proxy. Named after where they go, not where they come from;
//! the client is always the side that connected to the proxy.

/// One of the two ways through a [`Proxy`](crate::Proxy).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From whoever connected to the proxy to the address behind it.
    ToTarget,
    /// From the address behind the proxy to whoever connected to it.
    ToClient,
}
