//! Real servers for tests: PostgreSQL, Redis and etcd as child processes.
//!
//! Each runs on a free port of the loopback with a folder of its own, can be stopped, killed, paused and started again on the same data,
//! and is gone with its folder when its value is dropped, also if the test panics. All calls block until the server is as they say, which
//! is a matter of milliseconds to a few seconds. A server ends by its process id, never by its name: others on the machine are not touched.
//!
//! The programs come from Debian packages; [`StartError`] names the one that is missing.

mod daemon;
mod error;
mod etcd;
mod folder;
mod postgres;
mod processes;
mod program;
mod redis;

pub use error::StartError;
pub use etcd::Etcd;
pub use folder::Folder;
pub use postgres::Postgres;
pub use redis::Redis;
