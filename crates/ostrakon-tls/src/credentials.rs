//! `Credentials`: our certificate, its key and whom we trust, checked and ready for connections.
//!
//! They only exist if a peer with the same authority would accept them now: we apply to ourselves, before the first
//! connection, the very checks that peers apply. They never change; new files make new credentials.

use std::sync::Arc;

use rustls::{
    ClientConfig, ConfigBuilder, ConfigSide, InconsistentKeys, RootCertStore, ServerConfig,
    WantsVersions,
    client::{Resumption, danger::ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
    version::TLS13,
};

use crate::{
    Files, Flaw, Identity, Role, TlsError, UtcTime, certificate, files::Pems,
    server_check::ServerCheck,
};

/// What one set of files gives: an identity, and how to open connections with it.
pub(crate) struct Credentials {
    pub(crate) identity: Identity,
    pub(crate) expires_at: UtcTime,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: Arc<ClientConfig>,
    /// What all of this was made from, to notice when the files change.
    pub(crate) pems: Pems,
}

impl Credentials {
    pub(crate) fn new(files: &Files, pems: Pems) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let checks = Checks::new(trusted(files, &pems)?, &provider);
        let chain = pems.chain(files)?;
        let ours = |flaw| bad_certificate(files, flaw);
        let identity = certificate::identity(&chain[0]).map_err(ours)?;
        let expires_at = certificate::expiry(&chain[0]).map_err(ours)?;
        checks.pass(&chain, identity.role()).map_err(ours)?;
        let key = Arc::new(certified_key(files, &pems, chain, &provider)?);
        Ok(Self {
            server: server_config(&provider, &checks, Arc::clone(&key)),
            client: client_config(&provider, &checks, key),
            identity,
            expires_at,
            pems,
        })
    }

    /// Who the peer is, provided that it belongs to our cluster. Its chain was verified in the handshake.
    pub(crate) fn admit(&self, peer: Option<&[CertificateDer<'_>]>) -> Result<Identity, TlsError> {
        let certificate = peer
            .and_then(<[_]>::first)
            .ok_or(TlsError::NoPeerCertificate)?;
        let peer = certificate::identity(certificate)
            .map_err(|flaw| TlsError::BadPeerCertificate { flaw })?;
        if peer.cluster() != self.identity.cluster() {
            return Err(TlsError::OtherCluster {
                peer: Box::new(peer),
                ours: self.identity.cluster().to_owned(),
            });
        }
        Ok(peer)
    }
}

/// How certificates are judged, on either side of a connection.
struct Checks {
    of_servers: Arc<ServerCheck>,
    of_clients: Arc<dyn ClientCertVerifier>,
}

impl Checks {
    fn new(authorities: RootCertStore, provider: &Arc<CryptoProvider>) -> Self {
        let authorities = Arc::new(authorities);
        let of_clients = WebPkiClientVerifier::builder_with_provider(
            Arc::clone(&authorities),
            Arc::clone(provider),
        );
        Self {
            of_clients: of_clients
                .build()
                .expect("there is an authority, and no revocation list that could be malformed"),
            of_servers: Arc::new(ServerCheck {
                authorities,
                algorithms: provider.signature_verification_algorithms,
            }),
        }
    }

    /// Whether peers would accept this chain. Some serve and connect, the others only connect.
    fn pass(&self, chain: &[CertificateDer<'_>], role: Role) -> Result<(), Flaw> {
        let (certificate, intermediates) = (&chain[0], &chain[1..]);
        let now = UnixTime::now();
        self.of_clients
            .verify_client_cert(certificate, intermediates, now)?;
        if role.serves() {
            let anywhere = any_server();
            self.of_servers
                .verify_server_cert(certificate, intermediates, &anywhere, &[], now)?;
        }
        Ok(())
    }
}

/// Stands for the server's name, which the handshake wants and nobody looks at.
pub(crate) fn any_server() -> ServerName<'static> {
    ServerName::try_from("ostrakon").expect("a plain word is a host name")
}

/// The authorities of the ca file, without those that are out of time: an old one may stay in the file after its end.
fn trusted(files: &Files, pems: &Pems) -> Result<RootCertStore, TlsError> {
    let bad = |flaw| TlsError::BadCertificate {
        file: files.ca.clone(),
        flaw,
    };
    let now = UnixTime::now();
    let mut trusted = RootCertStore::empty();
    let mut out_of_time = None;
    for authority in pems.authorities(files)? {
        match certificate::in_time(&authority, now) {
            Ok(()) => trusted.add(authority).map_err(|error| bad(error.into()))?,
            Err(Flaw::Malformed) => return Err(bad(Flaw::Malformed)),
            Err(flaw) => out_of_time = Some(flaw),
        }
    }
    match out_of_time {
        Some(flaw) if trusted.is_empty() => Err(bad(flaw)),
        _ => Ok(trusted),
    }
}

fn bad_certificate(files: &Files, flaw: Flaw) -> TlsError {
    let certificate = files.certificate.clone();
    if flaw == Flaw::UnknownAuthority {
        return TlsError::NotSignedByAuthority {
            certificate,
            ca: files.ca.clone(),
        };
    }
    TlsError::BadCertificate {
        file: certificate,
        flaw,
    }
}

fn certified_key(
    files: &Files,
    pems: &Pems,
    chain: Vec<CertificateDer<'static>>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let unusable = |error: rustls::Error| TlsError::UnusableKey {
        file: files.key.clone(),
        reason: error.to_string(),
    };
    let key = provider.key_provider.load_private_key(pems.key(files)?);
    let key = CertifiedKey::new(chain, key.map_err(unusable)?);
    match key.keys_match() {
        Ok(()) => Ok(key),
        Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            Err(TlsError::KeyMismatch {
                key: files.key.clone(),
                certificate: files.certificate.clone(),
            })
        }
        Err(error) => Err(unusable(error)),
    }
}

/// Without resumption: each connection shows and checks certificates anew, so a reload takes effect at the next one.
fn server_config(
    provider: &Arc<CryptoProvider>,
    checks: &Checks,
    key: Arc<CertifiedKey>,
) -> Arc<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider));
    let mut config = tls13(builder)
        .with_client_cert_verifier(Arc::clone(&checks.of_clients))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

fn client_config(
    provider: &Arc<CryptoProvider>,
    checks: &Checks,
    key: Arc<CertifiedKey>,
) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider));
    let verifier: Arc<dyn ServerCertVerifier> = Arc::clone(&checks.of_servers) as _;
    let mut config = tls13(builder)
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Arc::new(config)
}

fn tls13<S: ConfigSide>(
    builder: ConfigBuilder<S, WantsVersions>,
) -> ConfigBuilder<S, rustls::WantsVerifier> {
    builder
        .with_protocol_versions(&[&TLS13])
        .expect("the ring provider has TLS 1.3")
}
