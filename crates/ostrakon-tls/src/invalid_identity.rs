//! `InvalidIdentity`: why a text, or a certificate, does not say who somebody is.
//!
//! Found texts are shown escaped: they may come from a certificate that anybody could have written.

use thiserror::Error;

/// Why a text, or a certificate, does not say who somebody is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidIdentity {
    /// The certificate was not made for Ostrakon.
    #[error(
        "no `ostrakon://` uri among the subject alternative names: issue the certificate with `ostrakon certs`, or \
         with a uri of the form ostrakon://<cluster>/<role>/<name>"
    )]
    Absent,
    /// The certificate could stand for more than one participant, so it stands for none.
    #[error(
        "more than one `ostrakon://` uri among the subject alternative names: issue one certificate for each identity"
    )]
    Ambiguous,
    /// The text is something else altogether.
    #[error("{found:?} is not of the form ostrakon://<cluster>/<role>/<name>")]
    NotOurs {
        /// The whole text.
        found: String,
    },
    /// There is no such role.
    #[error("{found:?} is not a role: use node, client or admin")]
    UnknownRole {
        /// What stood in the place of the role.
        found: String,
    },
    /// A cluster cannot be called that.
    #[error(
        "{found:?} is not a cluster name: use 1 to {max} of the letters A to Z and a to z, digits, '.', '_' and '-'"
    )]
    BadCluster {
        /// What stood in the place of the cluster.
        found: String,
        /// The longest cluster name, in bytes.
        max: usize,
    },
    /// A participant cannot be called that.
    #[error(
        "{found:?} is not a name: use 1 to {max} visible ascii characters without spaces and '/'"
    )]
    BadName {
        /// What stood in the place of the name.
        found: String,
        /// The longest name, in bytes.
        max: usize,
    },
    /// A node cannot be called that: nodes know clients by such names.
    #[error("{found:?} is not a name for a node: those of clients begin like that")]
    NameOfClient {
        /// What stood in the place of the name.
        found: String,
    },
    /// `%` must be followed by two hexadecimal digits, and `?` and `#` can only be written so.
    #[error("{found:?} is not a segment of a uri: write '%', '?' and '#' as %25, %3F and %23")]
    BadEncoding {
        /// The segment as it was found.
        found: String,
    },
}
