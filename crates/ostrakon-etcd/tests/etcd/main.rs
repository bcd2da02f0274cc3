//! The storage against a real server, which each test starts or shares with others that run at the same time.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod faults;
mod limits;
mod opening;
mod shared;

ostrakon_storage::conformance_tests!(shared::Shared::new());
