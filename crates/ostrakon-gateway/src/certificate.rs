//! The certificate of a gateway: an ordinary one of a web server, not one of the cluster.
//!
//! Programs in any language know how to check such a certificate. They show none themselves; the token says who they are.

use std::{path::Path, sync::Arc};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::error::GatewayError;

pub(crate) fn load(certificate: &Path, key: &Path) -> Result<TlsAcceptor, GatewayError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificate, error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(certificate, error))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| unusable(certificate, error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unusable(file: &Path, cause: impl ToString) -> GatewayError {
    GatewayError::Certificate {
        file: file.display().to_string(),
        cause: cause.to_string(),
    }
}
