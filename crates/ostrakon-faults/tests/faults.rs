//! What the proxy promises, over real sockets.

#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in tests, but not in their helpers"
)]

#[path = "faults/by_chaos.rs"]
mod by_chaos;
#[path = "faults/by_hand.rs"]
mod by_hand;
#[path = "faults/peers.rs"]
mod peers;
#[path = "faults/untroubled.rs"]
mod untroubled;
