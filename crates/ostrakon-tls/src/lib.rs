//! Who is who in a cluster: certificates, and TLS connections that know their peer.
//!
//! One authority signs every certificate of a cluster, and each certificate carries one [`Identity`], written as the
//! URI `ostrakon://<cluster>/<role>/<name>`. [`Tls`] opens connections with such a certificate: both sides must show
//! one, both check the other's, and both end up with the other's identity. What that identity may do is not decided
//! here; that its owner holds the key, and belongs to this cluster, is.
//!
//! ```no_run
//! # async fn example(stream: tokio::net::TcpStream) -> Result<(), ostrakon_tls::TlsError> {
//! use ostrakon_tls::{Files, Role, Tls};
//!
//! let tls = Tls::load(Files::in_dir("certs", "node-1"))?;
//! let (stream, peer) = tls.accept(stream).await?;
//! if peer.role() == Role::Node {
//!     println!("{} is connected", peer.name());
//! }
//! # drop(stream); Ok(()) }
//! ```
//!
//! TLS 1.3 with the `ring` provider, always named explicitly: what other crates choose as the default of the process
//! changes nothing here. Certificates are made by the `make` module, behind the feature of that name.

mod certificate;
mod credentials;
mod files;
mod flaw;
mod identity;
mod invalid_identity;
#[cfg(feature = "make")]
pub mod make;
mod role;
mod security;
mod server_check;
mod tls;
mod tls_error;
mod token;
mod utc_time;
mod watch;

pub use files::Files;
pub use flaw::Flaw;
pub use identity::Identity;
pub use invalid_identity::InvalidIdentity;
pub use role::Role;
pub use security::{Secured, Security, Unfit, Wire};
pub use tls::{Reloaded, Tls};
pub use tls_error::TlsError;
pub use token::{InvalidToken, Token};
pub use utc_time::UtcTime;
pub use watch::watch;
