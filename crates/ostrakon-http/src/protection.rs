//! `Protection`: what a connection is protected by, and whether that tells who the caller is.

use std::io;

use ostrakon_tls::{Identity, Secured, Security};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// What the connections of a server are protected by. Whether that is enough for its address is for the server's owner to check.
pub enum Protection {
    /// What protects the other connections of the cluster as well: whoever calls may have to prove who it is.
    Cluster(Security),
    /// The certificate of a web server. Callers show none.
    Certificate(TlsAcceptor),
    /// Nothing, or something that we do not see.
    Plain,
}

/// Whoever is at the other end of a connection, where that is proven. Every request carries it as an extension.
#[derive(Clone)]
pub struct Caller(pub Option<Identity>);

impl Protection {
    /// Answers a caller. It does not end before the caller has done its part: put a time limit around it.
    pub(crate) async fn greet(&self, stream: TcpStream) -> io::Result<Secured> {
        match self {
            Self::Cluster(security) => security.accept(stream).await,
            Self::Certificate(acceptor) => Ok(Secured {
                wire: Box::new(acceptor.accept(stream).await?),
                identity: None,
            }),
            Self::Plain => Ok(Secured {
                wire: Box::new(stream),
                identity: None,
            }),
        }
    }
}
