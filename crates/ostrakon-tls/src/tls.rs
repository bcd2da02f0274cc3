//! `Tls`: opens connections on which both sides know who the other is.
//!
//! Whoever gets a stream from here has a peer whose certificate was signed by our authority, is valid now and names our
//! cluster. Whether that peer, by its role and name, may do what it asks for is up to the caller.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::{
    Files, Identity, TlsError, UtcTime,
    credentials::{Credentials, any_server},
    files::Pems,
};

/// Opens connections on which both sides know who the other is.
///
/// Neither [`accept`](Self::accept) nor [`connect`](Self::connect) ends before the other side has done its part: put a
/// time limit around both.
pub struct Tls {
    files: Files,
    current: ArcSwap<Credentials>,
}

/// What [`Tls::reload`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reloaded {
    /// New files: new connections use them, open ones go on with the former.
    Changed,
    /// The files that are in use already.
    Same,
}

impl Tls {
    /// Reads and checks everything, so that what is wrong with the files shows now and not at the first connection.
    pub fn load(files: Files) -> Result<Self, TlsError> {
        let credentials = Credentials::new(&files, Pems::read(&files)?)?;
        Ok(Self {
            files,
            current: ArcSwap::from_pointee(credentials),
        })
    }

    /// Who we are. It stays the same for the life of this value.
    pub fn identity(&self) -> Identity {
        self.current.load().identity.clone()
    }

    /// When the certificate in use ends. From then on peers refuse new connections; open ones go on.
    pub fn expires_at(&self) -> UtcTime {
        self.current.load().expires_at
    }

    /// Answers a peer that has connected to us, and says who it is.
    pub async fn accept<S>(&self, stream: S) -> Result<(server::TlsStream<S>, Identity), TlsError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let ours = self.current.load_full();
        let acceptor = TlsAcceptor::from(Arc::clone(&ours.server));
        let stream = acceptor.accept(stream).await?;
        let peer = ours.admit(stream.get_ref().1.peer_certificates())?;
        Ok((stream, peer))
    }

    /// Greets a peer that we have connected to, and says who it is. It may be another node than the one we meant.
    ///
    /// The peer has not yet agreed: in TLS 1.3 a client is done before the server has looked at its certificate. A
    /// refusal arrives with the first read, which then fails; [`TlsError::from`] gives that error its name. So let the
    /// peer say something first, and call the connection open only then.
    pub async fn connect<S>(&self, stream: S) -> Result<(client::TlsStream<S>, Identity), TlsError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let ours = self.current.load_full();
        let connector = TlsConnector::from(Arc::clone(&ours.client));
        let stream = connector.connect(any_server(), stream).await?;
        let peer = ours.admit(stream.get_ref().1.peer_certificates())?;
        Ok((stream, peer))
    }

    /// Reads the files again. After an error everything is as before: the former files stay in use.
    pub fn reload(&self) -> Result<Reloaded, TlsError> {
        self.adopt(Pems::read(&self.files)?)
    }

    fn adopt(&self, found: Pems) -> Result<Reloaded, TlsError> {
        let former = self.current.load();
        if former.pems == found {
            return Ok(Reloaded::Same);
        }
        let credentials = Credentials::new(&self.files, found)?;
        if credentials.identity != former.identity {
            return Err(TlsError::IdentityChanged {
                file: self.files.certificate.clone(),
                running: Box::new(former.identity.clone()),
                found: Box::new(credentials.identity),
            });
        }
        self.current.store(Arc::new(credentials));
        Ok(Reloaded::Changed)
    }
}

/// Says who and from where, and nothing secret.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("identity", &self.current.load().identity)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}
