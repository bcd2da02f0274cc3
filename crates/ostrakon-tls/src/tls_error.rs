//! `TlsError`: what stands in the way of a TLS connection, and who can do something about it.
//!
//! The first half is about our own files and comes from loading them; nothing has changed then, and a node that runs
//! keeps running with what it had. The second half is about a peer; that connection is lost, all others go on.

use std::{error::Error as _, io, path::PathBuf};

use thiserror::Error;

use crate::{Flaw, Identity};

/// What stands in the way of a TLS connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is not there.
    #[error("{} does not exist: create it with `ostrakon certs`, or correct the path", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// A file is there but cannot be read.
    #[error("cannot read {}: let the user that runs this process read it", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is something else than its name says.
    #[error("{} holds no PEM section {section:?}: it is another file, or damaged; create it with `ostrakon certs`", file.display())]
    NotPem {
        /// The file.
        file: PathBuf,
        /// The section that was looked for.
        section: &'static str,
    },
    /// Our certificate, or the authority's, is not good enough.
    #[error("the certificate in {} cannot be used: {flaw}", file.display())]
    BadCertificate {
        /// The file.
        file: PathBuf,
        /// Why not.
        flaw: Flaw,
    },
    /// Peers that trust the authority would not trust us.
    #[error("{} was not signed by the authority in {}: issue it with that authority, or use the ca file it was issued with", certificate.display(), ca.display())]
    NotSignedByAuthority {
        /// The file of our certificate.
        certificate: PathBuf,
        /// The file of the authorities.
        ca: PathBuf,
    },
    /// The key is of a kind that cannot sign here.
    #[error("the key in {} cannot be used ({reason}): use an ECDSA P-256 key, as `ostrakon certs` makes", file.display())]
    UnusableKey {
        /// The file.
        file: PathBuf,
        /// What the TLS library says.
        reason: String,
    },
    /// Key and certificate come from different issues.
    #[error("the key in {} does not belong to the certificate in {}: copy both from the same issue", key.display(), certificate.display())]
    KeyMismatch {
        /// The file of the key.
        key: PathBuf,
        /// The file of the certificate.
        certificate: PathBuf,
    },
    /// A process keeps its identity for life. The former certificate stays in use.
    #[error("{} stands for {found}, but this process runs as {running}: restore the file, or restart the process", file.display())]
    IdentityChanged {
        /// The file of the certificate.
        file: PathBuf,
        /// Who this process is.
        running: Box<Identity>,
        /// Who the file says it is.
        found: Box<Identity>,
    },

    /// The peer speaks TLS but does not say who it is.
    #[error("the peer showed no certificate: give it one with `ostrakon certs`")]
    NoPeerCertificate,
    /// The peer's certificate is not good enough.
    #[error("the peer's certificate cannot be trusted: {flaw}")]
    BadPeerCertificate {
        /// Why not.
        flaw: Flaw,
    },
    /// The peer is who it says, but of another cluster.
    #[error(
        "the peer is {peer}, of another cluster than ours ({ours}): correct the address, or its certificate"
    )]
    OtherCluster {
        /// Who the peer is.
        peer: Box<Identity>,
        /// The cluster we belong to.
        ours: String,
    },
    /// The peer does not want to talk with us, most often because of our certificate.
    #[error(
        "the peer refused us ({alert}): its own log has the reason; compare its ca file with ours"
    )]
    RefusedByPeer {
        /// The alert it sent.
        alert: String,
    },
    /// The connection broke, or the other side does not speak TLS 1.3. Trying again may help.
    #[error("the tls handshake failed: check that the other side is up and speaks TLS 1.3")]
    Handshake(#[source] io::Error),
}

/// Puts a name to what reading or writing a TLS stream returned, during the handshake or just after it.
impl From<io::Error> for TlsError {
    fn from(error: io::Error) -> Self {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
        match tls {
            Some(rustls::Error::NoCertificatesPresented) => Self::NoPeerCertificate,
            Some(rustls::Error::InvalidCertificate(flaw)) => {
                Self::BadPeerCertificate { flaw: flaw.into() }
            }
            Some(rustls::Error::AlertReceived(alert)) => Self::RefusedByPeer {
                alert: format!("{alert:?}"),
            },
            _ => Self::Handshake(error),
        }
    }
}

impl TlsError {
    /// The message with the messages of all causes, for a log that shows one line.
    pub(crate) fn in_one_line(&self) -> String {
        let mut line = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            line = format!("{line}: {error}");
            cause = error.source();
        }
        line
    }
}
