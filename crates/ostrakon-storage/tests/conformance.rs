//! Every backend does what every backend must do, and says clearly what is wrong when it cannot.
#![expect(clippy::unwrap_used, reason = "these are tests")]

#[path = "conformance/embedded.rs"]
mod embedded;
#[path = "conformance/faults.rs"]
mod faults;
#[path = "conformance/memory.rs"]
mod memory;
#[path = "conformance/postgres.rs"]
mod postgres;
#[path = "conformance/redis.rs"]
mod redis_server;
#[path = "conformance/shared.rs"]
mod shared;
