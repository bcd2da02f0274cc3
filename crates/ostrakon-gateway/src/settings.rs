//! `GatewaySettings`: how much a gateway takes on, and for how long.

use std::time::Duration;

/// The bounds of a gateway. The defaults are right for most.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// How many connections there may be; more wait in the queue of the system.
    pub connections: usize,
    /// How many calls may be under way; more are told so. A stream counts until it has begun.
    pub requests: usize,
    /// How many streams there may be; more are told so.
    pub streams: usize,
    /// The most bytes of a body.
    pub body: usize,
    /// How long a call may take that does not say so itself with `Ostrakon-Timeout`.
    pub timeout: Duration,
    /// The most that a call may say.
    pub longest_timeout: Duration,
    /// How long a caller may take for the head of a request, for its body, and between two requests.
    pub patience: Duration,
    /// How long [`Gateway::stop`](crate::Gateway::stop) waits for calls that are under way.
    pub stop_within: Duration,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            connections: 1024,
            requests: 256,
            streams: 64,
            body: 1024 * 1024,
            timeout: Duration::from_secs(10),
            longest_timeout: Duration::from_secs(60),
            patience: Duration::from_secs(10),
            stop_within: Duration::from_secs(10),
        }
    }
}
