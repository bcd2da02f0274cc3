//! What one node promises, seen from outside: one file per promise.

#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in tests, but not in their helpers"
)]

#[path = "runtime/actors.rs"]
mod actors;
#[path = "runtime/asks.rs"]
mod asks;
#[path = "runtime/bad_input.rs"]
mod bad_input;
#[path = "runtime/failures.rs"]
mod failures;
#[path = "runtime/fairness.rs"]
mod fairness;
#[path = "runtime/lease.rs"]
mod lease;
#[path = "runtime/lifecycle.rs"]
mod lifecycle;
#[path = "runtime/observability.rs"]
mod observability;
#[path = "runtime/order.rs"]
mod order;
#[path = "runtime/probe.rs"]
mod probe;
#[path = "runtime/resuming.rs"]
mod resuming;
#[path = "runtime/streams.rs"]
mod streams;
#[path = "runtime/timers.rs"]
mod timers;
#[path = "runtime/watchdog.rs"]
mod watchdog;
