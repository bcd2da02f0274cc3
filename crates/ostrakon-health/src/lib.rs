//! Whether a silent node is dead.
//!
//! A shard that a node holds may be given to another only when that node can no longer act: because it gave the shard up, because its
//! lease ran out, or because it is *known* to be dead. A [`Health`] is who knows. It answers with proof or with doubt, and nothing that a
//! slow network, a busy host or a wrong setting can cause counts as proof.
//!
//! - [`Process`] asks the kernel, for nodes on the same host. Its word is proof.
//! - [`Ping`] opens a connection. A node that does not answer may be alive, so this is never proof, unless its user says otherwise.
//! - [`Auto`] is the first where it applies and else the second. It is what a manager uses by default.
//!
//! Whoever runs nodes on a platform that knows which of them are dead writes another:
//!
//! ```
//! use ostrakon_core::{DeathProof, Liveness, Registration};
//! use ostrakon_health::{BoxFuture, Health};
//!
//! /// Asks the people who run the machines.
//! struct Cloud;
//!
//! impl Health for Cloud {
//!     fn name(&self) -> &str {
//!         "cloud"
//!     }
//!
//!     fn probe<'a>(&'a self, node: &'a Registration) -> BoxFuture<'a, Liveness> {
//!         Box::pin(async move {
//!             match node.place.get("cloud.instance") {
//!                 Some(instance) if is_terminated(instance).await => {
//!                     Liveness::Dead(DeathProof::Platform(format!("{instance} is terminated")))
//!                 }
//!                 Some(_) | None => Liveness::Unknown,
//!             }
//!         })
//!     }
//! }
//! # async fn is_terminated(_: &str) -> bool { true }
//! ```

mod auto;
mod health;
mod here;
mod ping;
mod process;

pub use auto::Auto;
pub use health::{BoxFuture, Health};
pub use ping::Ping;
pub use process::Process;
