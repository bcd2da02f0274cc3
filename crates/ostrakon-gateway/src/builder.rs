//! `GatewayBuilder`: what is exposed, and how it is protected.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use ostrakon::{Methods, Node, TellError};
use ostrakon_http::{Door, Protection, Server};
use tokio::net::TcpListener;

use crate::{
    Token, certificate, error::GatewayError, gateway::Gateway, kind::Kind, office::Office, routes,
    settings::GatewaySettings,
};

/// Describes a gateway; made by [`Gateway::builder`].
#[must_use]
pub struct GatewayBuilder {
    node: Node,
    token: Token,
    kinds: BTreeMap<&'static str, Kind>,
    /// The first mistake that was made in describing it.
    mistake: Option<GatewayError>,
    privacy: Privacy,
    settings: GatewaySettings,
}

/// What keeps tokens and messages private.
enum Privacy {
    /// Nothing leaves this host.
    Loopback,
    Certificate {
        certificate: PathBuf,
        key: PathBuf,
    },
    /// Something that we do not see.
    Elsewhere,
}

impl GatewayBuilder {
    pub(crate) fn new(node: Node, token: Token) -> Self {
        Self {
            node,
            token,
            kinds: BTreeMap::new(),
            mistake: None,
            privacy: Privacy::Loopback,
            settings: GatewaySettings::default(),
        }
    }

    /// Exposes every method of a kind, whatever its visibility in Rust.
    pub fn expose<E: Methods>(self) -> Self {
        self.add(Kind::of::<E>())
    }

    /// Exposes these methods of a kind and no others.
    pub fn expose_only<'m, E: Methods>(
        mut self,
        methods: impl IntoIterator<Item = &'m str>,
    ) -> Self {
        let mut kind = Kind::of::<E>();
        let wanted: Vec<&str> = methods.into_iter().collect();
        let missing = wanted.iter().find(|wanted| kind.method(wanted).is_none());
        if let Some(missing) = missing {
            let mistake = GatewayError::NoSuchMethod {
                kind: kind.name,
                method: (*missing).to_owned(),
                known: kind.known(),
            };
            self.mistake.get_or_insert(mistake);
        }
        kind.methods.retain(|method| wanted.contains(&method.name));
        self.add(kind)
    }

    fn add(mut self, kind: Kind) -> Self {
        // Whether it is known does not depend on the id.
        if let Err(TellError::UnknownKind { .. }) = self.node.locate(kind.name, "any") {
            let mistake = GatewayError::UnknownKind { kind: kind.name };
            self.mistake.get_or_insert(mistake);
        }
        self.kinds.insert(kind.name, kind);
        self
    }

    /// Serves HTTPS with this certificate (its chain, the own one first) and its key, both PEM. They are read once.
    pub fn tls(mut self, certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        self.privacy = Privacy::Certificate {
            certificate: certificate.as_ref().to_owned(),
            key: key.as_ref().to_owned(),
        };
        self
    }

    /// Serves plain HTTP also on addresses that others can reach: for a gateway behind a proxy that speaks HTTPS, in a network that nobody
    /// else listens to.
    pub fn plaintext_beyond_this_host(mut self) -> Self {
        self.privacy = Privacy::Elsewhere;
        self
    }

    /// Sets its bounds.
    pub fn settings(mut self, settings: GatewaySettings) -> Self {
        self.settings = settings;
        self
    }

    /// Starts it.
    pub async fn serve(self, listen: &str) -> Result<Gateway, GatewayError> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        if self.kinds.is_empty() {
            return Err(GatewayError::NothingExposed);
        }
        let failed = |cause: std::io::Error| GatewayError::Listen {
            address: listen.to_owned(),
            cause: cause.to_string(),
        };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let door = Door {
            of: "the gateway",
            protection: self.privacy.at(address)?,
            connections: self.settings.connections,
            greeted_within: self.settings.patience,
            head_within: self.settings.patience,
        };
        let stop_within = self.settings.stop_within;
        let office = Office::new(self.node, self.token, self.kinds, self.settings);
        Ok(Gateway {
            address,
            server: Server::start(door, listener, routes::router(office)),
            stop_within,
        })
    }
}

impl Privacy {
    fn at(self, address: SocketAddr) -> Result<Protection, GatewayError> {
        match self {
            Self::Certificate { certificate, key } => {
                certificate::load(&certificate, &key).map(Protection::Certificate)
            }
            Self::Loopback if !address.ip().is_loopback() => {
                Err(GatewayError::Unprotected { address })
            }
            Self::Loopback | Self::Elsewhere => Ok(Protection::Plain),
        }
    }
}
