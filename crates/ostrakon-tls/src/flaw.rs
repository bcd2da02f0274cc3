//! `Flaw`: why a certificate is not good enough, whoever it belongs to.
//!
//! The same rules hold for our own certificate when it is loaded and for a peer's when it connects, so the same words
//! do. Every flaw ends with what removes it.

use rustls::CertificateError;
use thiserror::Error;

use crate::{InvalidIdentity, UtcTime};

/// Why a certificate is not good enough.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The PEM is fine, what it wraps is not.
    #[error("it is not an x509 certificate: issue it again with `ostrakon certs`")]
    Malformed,
    /// It was good once.
    #[error("it expired at {at}: issue it again with `ostrakon certs`")]
    Expired {
        /// When it ended.
        at: UtcTime,
    },
    /// It may become good without anybody doing anything.
    #[error("it is valid only from {from}: compare the clocks of both machines, or wait")]
    NotYetValid {
        /// When it starts.
        from: UtcTime,
    },
    /// Somebody else's authority signed it, or nobody did.
    #[error(
        "no authority in our ca file signed it: issue it with the authority of this cluster, or add its authority to \
         the ca file"
    )]
    UnknownAuthority,
    /// A client's certificate where a node's is needed, or one from elsewhere.
    #[error(
        "its extended key usage does not allow this side of a connection: a node's certificate needs server and \
         client authentication, any other client authentication"
    )]
    WrongPurpose,
    /// It does not say who it stands for.
    #[error(transparent)]
    Identity(#[from] InvalidIdentity),
    /// Something rarer, in the words of the TLS library.
    #[error("it does not verify ({reason}): issue it again with `ostrakon certs`")]
    Unverifiable {
        /// What the TLS library says.
        reason: String,
    },
}

impl From<&CertificateError> for Flaw {
    fn from(error: &CertificateError) -> Self {
        use CertificateError as E;
        // The library has many more; all of them are told in its own words.
        #[expect(clippy::wildcard_enum_match_arm)]
        match error {
            E::ExpiredContext { not_after, .. } => Self::Expired {
                at: UtcTime::from_unix_seconds(not_after.as_secs()),
            },
            E::NotValidYetContext { not_before, .. } => Self::NotYetValid {
                from: UtcTime::from_unix_seconds(not_before.as_secs()),
            },
            E::UnknownIssuer | E::BadSignature => Self::UnknownAuthority,
            E::InvalidPurpose | E::InvalidPurposeContext { .. } => Self::WrongPurpose,
            E::BadEncoding => Self::Malformed,
            rare => Self::Unverifiable {
                reason: rare.to_string(),
            },
        }
    }
}

impl From<rustls::Error> for Flaw {
    fn from(error: rustls::Error) -> Self {
        if let rustls::Error::InvalidCertificate(error) = &error {
            return error.into();
        }
        Self::Unverifiable {
            reason: error.to_string(),
        }
    }
}
