//! `GatewayError`: why a gateway did not start.

use std::net::SocketAddr;

use thiserror::Error;

/// Why a gateway did not start. Nothing is served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// It cannot listen on this address. Choose another, or end what uses it.
    #[error("the gateway cannot listen on `{address}`: {cause}")]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        cause: String,
    },
    /// Tokens and messages would be readable on the way. Give it a certificate, or say that something else protects it.
    #[error(
        "{address} is not a loopback address: use `tls`, or `plaintext_beyond_this_host` if a proxy or the network protects it"
    )]
    Unprotected {
        /// The address.
        address: SocketAddr,
    },
    /// The certificate or its key cannot be used.
    #[error("the gateway's certificate cannot be used ({file}): {cause}")]
    Certificate {
        /// Which file.
        file: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The node neither hosts nor reaches this kind. Add `.host::<…>()` or `.reach::<…>(…)` to its builder.
    #[error("the node neither hosts nor reaches `{kind}`, so it cannot be exposed")]
    UnknownKind {
        /// The kind.
        kind: &'static str,
    },
    /// Only methods that exist can be exposed.
    #[error("`{kind}` has no method `{method}` to expose; it has: {known}")]
    NoSuchMethod {
        /// The kind.
        kind: &'static str,
        /// The method.
        method: String,
        /// Those there are.
        known: String,
    },
    /// No kind is exposed. Add `.expose::<…>()`.
    #[error("the gateway exposes nothing: add `.expose::<…>()`")]
    NothingExposed,
}
