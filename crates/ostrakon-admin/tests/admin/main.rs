//! A real manager, its admin API, and callers that speak HTTP by hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod beginning;
mod changing;
mod dashboard;
mod description;
mod following;
mod house;
mod loading;
mod looking;
mod protecting;
mod refusing;
