//! Peers over real connections: how they find each other, notice who is gone, whom they do not let in, and what they ask each other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod calls;
mod going;
mod joining;
mod protection;
mod strangers;
mod support;
