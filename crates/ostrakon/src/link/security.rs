//! `Security`: how a node's connections are protected, and who the other side proves to be.

use std::{io, net::SocketAddr, sync::Arc};

use ostrakon_core::NodeName;
use ostrakon_tls::{Files, Identity, Role, Tls, TlsError};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use crate::StartError;

/// How connections between nodes are protected.
#[derive(Clone)]
pub struct Security(Kind);

#[derive(Clone)]
enum Kind {
    Tls(Arc<Tls>),
    Plain,
}

/// A connection, protected or not.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A connection and who is at its other end, where that is proven.
pub(crate) struct Secured {
    pub(crate) wire: Box<dyn Wire>,
    pub(crate) identity: Option<Identity>,
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

    pub(crate) fn certificates(&self) -> Option<&Arc<Tls>> {
        match &self.0 {
            Kind::Tls(tls) => Some(tls),
            Kind::Plain => None,
        }
    }

    /// Checks at start what would otherwise fail with every connection, and says it when nothing is protected.
    pub(crate) fn check(
        &self,
        cluster: &str,
        node: &NodeName,
        address: SocketAddr,
    ) -> Result<(), StartError> {
        if !self.allows(address) {
            let address = address.to_string();
            return Err(StartError::Unprotected { address });
        }
        let Kind::Tls(tls) = &self.0 else {
            tracing::warn!(%address, "connections are plain text: whoever can reach this port can do everything");
            return Ok(());
        };
        let identity = tls.identity();
        let fits = identity.cluster() == cluster
            && identity.role() == Role::Node
            && identity.name() == node.as_str();
        if fits {
            return Ok(());
        }
        Err(StartError::OtherCertificate {
            certificate: identity.to_string(),
            cluster: cluster.to_owned(),
            node: node.clone(),
        })
    }

    /// Whether connections to or at this address are allowed.
    pub(crate) fn allows(&self, address: SocketAddr) -> bool {
        match self.0 {
            Kind::Tls(_) => true,
            Kind::Plain => address.ip().is_loopback(),
        }
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<Secured> {
        stream.set_nodelay(true)?;
        match &self.0 {
            Kind::Plain => Ok(Secured::plain(stream)),
            Kind::Tls(tls) => {
                let (wire, identity) = tls.accept(stream).await.map_err(io::Error::other)?;
                Ok(Secured::proven(wire, identity))
            }
        }
    }

    pub(crate) async fn connect(&self, stream: TcpStream) -> io::Result<Secured> {
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
