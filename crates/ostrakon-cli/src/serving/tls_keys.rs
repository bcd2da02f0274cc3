//! `TlsKeys`: where the certificate is.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use ostrakon_tls::Files;
use serde::Deserialize;

/// The table `[tls]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TlsKeys {
    /// The folder where `ostrakon certs` has put ca.pem, NAME.pem and NAME.key
    #[arg(long = "tls-dir", value_name = "DIR", env = "OSTRAKON_TLS_DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The authority, if it is elsewhere
    #[arg(long = "tls-ca", value_name = "FILE", env = "OSTRAKON_TLS_CA")]
    pub(crate) ca: Option<PathBuf>,
    /// The certificate, if it is elsewhere
    #[arg(
        long = "tls-certificate",
        value_name = "FILE",
        env = "OSTRAKON_TLS_CERTIFICATE"
    )]
    pub(crate) certificate: Option<PathBuf>,
    /// Its key, if it is elsewhere
    #[arg(long = "tls-key", value_name = "FILE", env = "OSTRAKON_TLS_KEY")]
    pub(crate) key: Option<PathBuf>,
}

impl TlsKeys {
    /// These, and the others where these say nothing.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            dir: self.dir.or(other.dir),
            ca: self.ca.or(other.ca),
            certificate: self.certificate.or(other.certificate),
            key: self.key.or(other.key),
        }
    }

    /// The files of whoever is called so: all of them, or none.
    pub(crate) fn files(&self, name: &str) -> anyhow::Result<Option<Files>> {
        let in_dir = self.dir.as_ref().map(|dir| Files::in_dir(dir, name));
        let pick = |set: &Option<PathBuf>, of: fn(&Files) -> &PathBuf| {
            let usual = in_dir.as_ref().map(|files| of(files).clone());
            set.clone().or(usual)
        };
        let ca = pick(&self.ca, |files| &files.ca);
        let certificate = pick(&self.certificate, |files| &files.certificate);
        let key = pick(&self.key, |files| &files.key);
        let missing = match (ca, certificate, key) {
            (None, None, None) => return Ok(None),
            (Some(ca), Some(certificate), Some(key)) => {
                return Ok(Some(Files {
                    ca,
                    certificate,
                    key,
                }));
            }
            (None, _, _) => "ca",
            (_, None, _) => "certificate",
            (_, _, None) => "key",
        };
        bail!(
            "tls.{missing}: it is missing, and without it there is no TLS: set it (--tls-{missing}), or tls.dir (--tls-dir)"
        )
    }
}
