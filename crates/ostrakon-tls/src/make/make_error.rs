//! `MakeError`: why a certificate was not made. Nothing was written, nothing is half done.

use thiserror::Error;

use crate::{Flaw, InvalidIdentity, UtcTime};

/// Why a certificate was not made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MakeError {
    /// The text is something else than was asked for.
    #[error("there is no PEM section {section:?}: it is another file, or damaged")]
    NotPem {
        /// The section that was looked for.
        section: &'static str,
    },
    /// The key cannot sign.
    #[error(
        "the key of the authority cannot be used: it is damaged, or of a kind that is not supported"
    )]
    UnusableKey,
    /// Key and certificate come from different authorities.
    #[error(
        "the key does not belong to the certificate of the authority: copy both from the same place"
    )]
    KeyMismatch,
    /// Some other tool made it.
    #[error(
        "`ostrakon certs` did not make this authority: issue certificates with the tool that did, each with a uri of \
         the form ostrakon://<cluster>/<role>/<name>"
    )]
    ForeignAuthority,
    /// Nothing that it signs now would be accepted.
    #[error("the authority expired at {at}: make a new one, then issue every certificate again")]
    AuthorityExpired {
        /// When it ended.
        at: UtcTime,
    },
    /// One authority, one cluster.
    #[error(
        "the authority is of cluster {ours:?}, the identity of cluster {asked:?}: use the authority of that cluster"
    )]
    OtherCluster {
        /// The cluster of the authority.
        ours: String,
        /// The cluster of the identity.
        asked: String,
    },
    /// It would end before it starts.
    #[error("valid from {from} until {until} is no time at all: ask for a longer one")]
    NoTime {
        /// The start that was asked for.
        from: UtcTime,
        /// The end that was asked for, or that of the authority if it is earlier.
        until: UtcTime,
    },
    /// A name was refused.
    #[error(transparent)]
    Identity(#[from] InvalidIdentity),
    /// A certificate cannot be read.
    #[error("the certificate cannot be used")]
    BadCertificate(#[from] Flaw),
    /// The library that writes certificates failed; that is most likely a bug.
    #[error("cannot make the certificate")]
    Library(#[from] rcgen::Error),
}
