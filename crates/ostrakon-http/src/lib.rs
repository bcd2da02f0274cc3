//! What the HTTP servers of Ostrakon have in common: the admin API and the gateway.
//!
//! A [`Server`] lets callers in through its [`Door`], so many at once and none of them for ever. [`bearer`] is the token that a request shows, and
//! [`never_kept`] goes around every answer. What is served, to whom, and what an answer says when something is wrong is up to each of the two.

mod door;
mod headers;
mod protection;
mod server;

pub use door::Door;
pub use headers::{bearer, never_kept};
pub use protection::{Caller, Protection};
pub use server::Server;
