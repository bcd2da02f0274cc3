//! Making certificates: an authority for a cluster, and what it issues.
//!
//! This is what `ostrakon certs` and the tests use. Clusters whose certificates come from elsewhere need nothing of
//! it: any authority does, as long as each certificate names one [`Identity`].
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ostrakon_tls::{Identity, Role, make::{Authority, Validity}};
//!
//! let authority = Authority::new("prod", Validity::for_the_next(Validity::OF_AUTHORITY))?;
//! let node = Identity::new("prod", Role::Node, "node-1")?;
//! let issued = authority.issue(&node, Validity::for_the_next(Validity::OF_LEAF))?;
//! assert!(issued.cert_pem.starts_with("-----BEGIN CERTIFICATE-----"));
//! # Ok(()) }
//! ```

mod authority;
mod make_error;
mod validity;

use rustls::pki_types::{CertificateDer, pem::PemObject};

pub use authority::{Authority, Issued};
pub use make_error::MakeError;
pub use validity::Validity;

use crate::{Identity, certificate};

/// Who a certificate stands for, given in PEM. It says nothing about who signed it.
pub fn identity_in(cert_pem: &str) -> Result<Identity, MakeError> {
    let certificate =
        CertificateDer::from_pem_slice(cert_pem.as_bytes()).map_err(|_| MakeError::NotPem {
            section: "CERTIFICATE",
        })?;
    Ok(certificate::identity(&certificate)?)
}
