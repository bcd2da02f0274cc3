//! The crate from outside: real certificates in real files, real handshakes over a pipe in memory.

// Helpers are part of the tests, and as free to panic.
#![allow(clippy::unwrap_used)]

mod handshake;
mod issuing;
mod lab;
mod loading;
mod names;
mod reloading;
mod strangers;
