//! `Security`: how a participant's connections are protected, and who the other side proves to be.

use std::{io, net::SocketAddr, sync::Arc};

use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use crate::{Files, Identity, Role, Tls, TlsError};

/// How connections are protected.
#[derive(Clone, Debug)]
pub struct Security(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Tls(Arc<Tls>),
    Plain,
}

/// A connection, protected or not.
pub trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A connection and who is at its other end, where that is proven.
pub struct Secured {
    /// The connection.
    pub wire: Box<dyn Wire>,
    /// Who is at the other end; `None` in plain text.
    pub identity: Option<Identity>,
}

/// Why connections cannot be opened this way. None was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// Plain text is allowed on loopback addresses only.
    #[error(
        "{address} is not a loopback address: connections there need TLS; see `ostrakon certs`"
    )]
    Unprotected {
        /// The address.
        address: SocketAddr,
    },
    /// The certificate is for somebody else.
    #[error(
        "the certificate is for {certificate}, but this is {role} `{name}` of cluster `{cluster}`"
    )]
    OtherCertificate {
        /// Whom the certificate names.
        certificate: String,
        /// The cluster to be joined.
        cluster: String,
        /// As what.
        role: Role,
        /// Under which name.
        name: String,
    },
}

impl Security {
    /// TLS with certificates on both sides, as `ostrakon certs` makes them. They are read now, and again whenever the files change.
    pub fn tls(files: Files) -> Result<Self, TlsError> {
        Ok(Self(Kind::Tls(Arc::new(Tls::load(files)?))))
    }

    /// No protection at all: anybody who can reach the port can do everything. Only for loopback addresses.
    pub fn plaintext() -> Self {
        Self(Kind::Plain)
    }

    /// The certificates in use, if there are any.
    pub fn certificates(&self) -> Option<&Arc<Tls>> {
        match &self.0 {
            Kind::Tls(tls) => Some(tls),
            Kind::Plain => None,
        }
    }

    /// Checks at start what would otherwise fail with every connection, and says it when nothing is protected.
    pub fn check(
        &self,
        cluster: &str,
        role: Role,
        name: &str,
        address: SocketAddr,
    ) -> Result<(), Unfit> {
        if !self.allows(address) {
            return Err(Unfit::Unprotected { address });
        }
        let Kind::Tls(tls) = &self.0 else {
            tracing::warn!(%address, "connections are plain text: whoever can reach this port can do everything");
            return Ok(());
        };
        let identity = tls.identity();
        let fits =
            identity.cluster() == cluster && identity.role() == role && identity.name() == name;
        if fits {
            return Ok(());
        }
        Err(Unfit::OtherCertificate {
            certificate: identity.to_string(),
            cluster: cluster.to_owned(),
            role,
            name: name.to_owned(),
        })
    }

    /// Whether connections to or at this address are allowed.
    pub fn allows(&self, address: SocketAddr) -> bool {
        match self.0 {
            Kind::Tls(_) => true,
            Kind::Plain => address.ip().is_loopback(),
        }
    }

    /// Answers a peer that has connected to us.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<Secured> {
        stream.set_nodelay(true)?;
        match &self.0 {
            Kind::Plain => Ok(Secured::plain(stream)),
            Kind::Tls(tls) => {
                let (wire, identity) = tls.accept(stream).await.map_err(io::Error::other)?;
                Ok(Secured::proven(wire, identity))
            }
        }
    }

    /// Greets a peer that we have connected to.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<Secured> {
        stream.set_nodelay(true)?;
        match &self.0 {
            Kind::Plain => Ok(Secured::plain(stream)),
            Kind::Tls(tls) => {
                let (wire, identity) = tls.connect(stream).await.map_err(io::Error::other)?;
                Ok(Secured::proven(wire, identity))
            }
        }
    }
}

impl Secured {
    fn plain(stream: TcpStream) -> Self {
        Self {
            wire: Box::new(stream),
            identity: None,
        }
    }

    fn proven(wire: impl Wire + 'static, identity: Identity) -> Self {
        Self {
            wire: Box::new(wire),
            identity: Some(identity),
        }
    }
}
