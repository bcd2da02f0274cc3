//! `Files`: where the certificate, its key and the authority lie; `Pems`: what they hold at one moment.
//!
//! Contents are compared, never modification times: a copy that keeps the old time, or a mounted secret that swaps a
//! link, is noticed all the same.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use crate::TlsError;

/// Where the certificate, its key and the authority lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The authorities that peers may be signed by: one, or two while one replaces the other.
    pub ca: PathBuf,
    /// Our certificate, followed by those between it and the authority if there are any.
    pub certificate: PathBuf,
    /// The private key of our certificate.
    pub key: PathBuf,
}

impl Files {
    /// Where `ostrakon certs` puts them: `ca.pem`, `<name>.pem` and `<name>.key`.
    pub fn in_dir(dir: impl AsRef<Path>, name: &str) -> Self {
        let dir = dir.as_ref();
        Self {
            ca: dir.join("ca.pem"),
            certificate: dir.join(format!("{name}.pem")),
            key: dir.join(format!("{name}.key")),
        }
    }
}

/// What the three files hold. Not `Debug`: one of them is secret.
#[derive(PartialEq, Eq)]
pub(crate) struct Pems {
    ca: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pems {
    pub(crate) fn read(files: &Files) -> Result<Self, TlsError> {
        Ok(Self {
            ca: read(&files.ca)?,
            certificate: read(&files.certificate)?,
            key: read(&files.key)?,
        })
    }

    pub(crate) fn authorities(
        &self,
        files: &Files,
    ) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        certificates(&self.ca, &files.ca)
    }

    pub(crate) fn chain(&self, files: &Files) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        certificates(&self.certificate, &files.certificate)
    }

    pub(crate) fn key(&self, files: &Files) -> Result<PrivateKeyDer<'static>, TlsError> {
        PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| TlsError::NotPem {
            file: files.key.clone(),
            section: "PRIVATE KEY",
        })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(file).map_err(|source| {
        let file = file.to_owned();
        if source.kind() == io::ErrorKind::NotFound {
            TlsError::Missing { file }
        } else {
            TlsError::Unreadable { file, source }
        }
    })
}

/// At least one certificate; a damaged one spoils the file.
fn certificates(pem: &[u8], file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .ok()
        .filter(|all| !all.is_empty())
        .ok_or_else(|| TlsError::NotPem {
            file: file.to_owned(),
            section: "CERTIFICATE",
        })
}
