//! A real node, its gateway, and `curl`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod account;
mod calling;
mod describing;
mod documented;
mod failing;
mod house;
mod protecting;
mod refusing;
mod spanning;
mod streaming;
mod trouble;
