//! Peers that do not play by the rules: other software, bad certificates, no certificate, no TLS.

use std::sync::Arc;

use ostrakon_tls::{
    Flaw, Identity, InvalidIdentity, Role, Tls, TlsError, UtcTime,
    make::{Issued, Validity},
};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, SanType, SigningKey,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    rustls::{
        ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
        version::TLS13,
    },
};

use crate::lab::{Lab, authority, first_word, from_tomorrow, issue, until_yesterday, year};

#[tokio::test]
async fn a_client_of_another_authority_is_refused_and_hears_of_it() {
    let lab = Lab::new();
    let server = lab.tls(&authority("prod"), Role::Node, "node-1");
    let stranger = issue(&authority("prod"), Role::Node, "node-2", year());

    let (refusal, heard) = met_by(&server, Some(&stranger)).await;
    assert_eq!(flaw(refusal), Flaw::UnknownAuthority);
    assert!(
        matches!(heard, TlsError::RefusedByPeer { .. }),
        "in TLS 1.3 a client hears of it when it reads: {heard:?}"
    );
}

#[tokio::test]
async fn a_client_without_a_certificate_is_refused() {
    let lab = Lab::new();
    let server = lab.tls(&authority("prod"), Role::Node, "node-1");
    let (refusal, heard) = met_by(&server, None).await;
    assert!(
        matches!(refusal, TlsError::NoPeerCertificate),
        "{refusal:?}"
    );
    assert_eq!(
        heard.to_string(),
        "the peer refused us (CertificateRequired): its own log has the reason; compare its ca file with ours"
    );
}

#[tokio::test]
async fn a_client_out_of_its_time_is_refused() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let server = lab.tls(&authority, Role::Node, "node-1");
    let (expired, early) = (until_yesterday(), from_tomorrow());
    for (validity, expected) in outside(expired, early) {
        let client = issue(&authority, Role::Client, "shop", validity);
        let (refusal, _) = met_by(&server, Some(&client)).await;
        assert_eq!(flaw(refusal), expected);
    }
}

#[tokio::test]
async fn a_server_out_of_its_time_is_refused() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let client = lab.tls(&authority, Role::Client, "shop");
    let (expired, early) = (until_yesterday(), from_tomorrow());
    for (validity, expected) in outside(expired, early) {
        let server = issue(&authority, Role::Node, "node-1", validity);
        assert_eq!(flaw(meeting(&client, &server).await), expected);
    }
}

#[tokio::test]
async fn a_server_of_another_authority_is_refused() {
    let lab = Lab::new();
    let client = lab.tls(&authority("prod"), Role::Client, "shop");
    let stranger = issue(&authority("prod"), Role::Node, "node-1", year());
    assert_eq!(
        flaw(meeting(&client, &stranger).await),
        Flaw::UnknownAuthority
    );
}

#[tokio::test]
async fn a_trusted_certificate_must_name_exactly_one_identity() {
    let (lab, root) = (Lab::new(), Root::new());
    let us = root.issue(&["ostrakon://prod/node/node-1"]);
    let us = Tls::load(lab.write(&root.pem, "node-1", &us)).unwrap();
    for (uris, expected) in [
        (&[][..], InvalidIdentity::Absent),
        (&["spiffe://prod/node/a"], InvalidIdentity::Absent),
        (
            &["ostrakon://prod/node/a", "ostrakon://prod/admin/a"],
            InvalidIdentity::Ambiguous,
        ),
        (
            &["ostrakon://prod/root/a"],
            InvalidIdentity::UnknownRole {
                found: "root".to_owned(),
            },
        ),
    ] {
        let peer = root.issue(uris);
        let expected = Flaw::Identity(expected);
        assert_eq!(flaw(meeting(&us, &peer).await), expected, "{uris:?}");
        let (refusal, _) = met_by(&us, Some(&peer)).await;
        assert_eq!(flaw(refusal), expected, "{uris:?}");
    }
    let beside_another = root.issue(&["spiffe://prod/a", "ostrakon://prod/node/a"]);
    let (accepted, _) = meet(&us, Some(&beside_another)).await;
    assert_eq!(accepted.unwrap().name(), "a");
}

#[tokio::test]
async fn whoever_has_a_certificate_cannot_issue_others() {
    let (lab, root) = (Lab::new(), Root::new());
    let us = root.issue(&["ostrakon://prod/node/node-1"]);
    let us = Tls::load(lab.write(&root.pem, "node-1", &us)).unwrap();

    let params = leaf(&["ostrakon://prod/client/shop"]);
    let key = KeyPair::generate().unwrap();
    let client = params.signed_by(&key, &root.issuer).unwrap();
    let forged = issue_by(
        &Issuer::from_params(&params, &key),
        &leaf(&["ostrakon://prod/admin/me"]),
    );
    let chain = Issued {
        cert_pem: format!("{}{}", forged.cert_pem, client.pem()),
        ..forged
    };
    let (refusal, _) = met_by(&us, Some(&chain)).await;
    let flaw = flaw(refusal);
    assert!(
        matches!(&flaw, Flaw::Unverifiable { reason } if reason.contains("EndEntityUsedAsCa")),
        "{flaw:?}"
    );
}

#[test]
fn a_node_whose_certificate_cannot_serve_learns_it_before_it_starts() {
    let (lab, root) = (Lab::new(), Root::new());
    let load = |role| {
        let mut params = leaf(&[&format!("ostrakon://prod/{role}/me")]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let issued = issue_by(&root.issuer, &params);
        Tls::load(lab.write(&root.pem, "me", &issued))
    };
    load(Role::Client).unwrap();
    let refused = load(Role::Node);
    assert!(
        matches!(
            refused,
            Err(TlsError::BadCertificate {
                flaw: Flaw::WrongPurpose,
                ..
            })
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn tls_1_2_is_refused() {
    let lab = Lab::new();
    let server = lab.tls(&authority("prod"), Role::Node, "node-1");
    let (theirs, mut ours) = duplex(16 * 1024);
    ours.write_all(&hello_of_tls_1_2()).await.unwrap();
    let accepted = server.accept(theirs).await;
    assert!(matches!(accepted, Err(TlsError::Handshake(_))));
    let mut answer = Vec::new();
    ours.read_to_end(&mut answer).await.unwrap();
    // A fatal alert, "protocol version".
    assert_eq!(answer, [21, 3, 3, 0, 2, 2, 70]);
}

#[tokio::test]
async fn whoever_does_not_speak_tls_is_told_apart() {
    let lab = Lab::new();
    let server = lab.tls(&authority("prod"), Role::Node, "node-1");
    let (theirs, mut ours) = duplex(16 * 1024);
    ours.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let accepted = server.accept(theirs).await;
    assert!(matches!(accepted, Err(TlsError::Handshake(_))));

    let (theirs, ours) = duplex(16 * 1024);
    drop(ours);
    let accepted = server.accept(theirs).await;
    assert!(matches!(accepted, Err(TlsError::Handshake(_))));
}

/// Both ways of being outside, with what is said about each.
fn outside(expired: Validity, early: Validity) -> [(Validity, Flaw); 2] {
    [
        (expired, Flaw::Expired { at: expired.until }),
        (early, Flaw::NotYetValid { from: early.from }),
    ]
}

fn flaw(error: TlsError) -> Flaw {
    let TlsError::BadPeerCertificate { flaw } = error else {
        panic!("not about the peer's certificate: {error:?}");
    };
    flaw
}

/// What `server` says about a client that trusts everybody and shows `certificate`, and what that client hears.
async fn met_by(server: &Tls, certificate: Option<&Issued>) -> (TlsError, TlsError) {
    let (accepted, heard) = meet(server, certificate).await;
    (accepted.unwrap_err(), heard.unwrap_err())
}

async fn meet(
    server: &Tls,
    certificate: Option<&Issued>,
) -> (Result<Identity, TlsError>, Result<u8, TlsError>) {
    let (theirs, ours) = duplex(16 * 1024);
    let connector = careless_client(certificate);
    let name = ServerName::try_from("whoever").unwrap();
    let accept = async { server.accept(theirs).await.map(|(_, peer)| peer) };
    let listen = async {
        let mut stream = connector.connect(name, ours).await.unwrap();
        first_word(&mut stream).await
    };
    tokio::join!(accept, listen)
}

/// What `client` says about a server that asks for nothing and shows `certificate`.
async fn meeting(client: &Tls, certificate: &Issued) -> TlsError {
    let (theirs, ours) = duplex(16 * 1024);
    let acceptor = careless_server(certificate);
    let (_, connected) = tokio::join!(acceptor.accept(theirs), client.connect(ours));
    connected.map(drop).unwrap_err()
}

fn careless_client(certificate: Option<&Issued>) -> TlsConnector {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Careless));
    let config = match certificate {
        Some(issued) => config.with_client_auth_cert(chain(issued), key(issued)),
        None => Ok(config.with_no_client_auth()),
    };
    Arc::new(config.unwrap()).into()
}

fn careless_server(certificate: &Issued) -> TlsAcceptor {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain(certificate), key(certificate));
    Arc::new(config.unwrap()).into()
}

fn chain(issued: &Issued) -> Vec<CertificateDer<'static>> {
    let all = CertificateDer::pem_slice_iter(issued.cert_pem.as_bytes());
    all.collect::<Result<_, _>>().unwrap()
}

fn key(issued: &Issued) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap()
}

/// An authority that signs anything.
struct Root {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Root {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self {
            pem: params.self_signed(&key).unwrap().pem(),
            issuer: Issuer::new(params, key),
        }
    }

    fn issue(&self, uris: &[&str]) -> Issued {
        issue_by(&self.issuer, &leaf(uris))
    }
}

fn issue_by(issuer: &Issuer<'_, impl SigningKey>, params: &CertificateParams) -> Issued {
    let key = KeyPair::generate().unwrap();
    Issued {
        cert_pem: params.signed_by(&key, issuer).unwrap().pem(),
        key_pem: key.serialize_pem(),
        expires_at: UtcTime::now(),
    }
}

fn leaf(uris: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::ExplicitNoCa;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "leaf");
    params.subject_alt_names = uris
        .iter()
        .map(|&uri| SanType::URI(uri.try_into().unwrap()))
        .collect();
    params
}

/// Believes every server.
#[derive(Debug)]
struct Careless;

impl ServerCertVerifier for Careless {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

/// A well-formed greeting by a client that knows nothing newer: one cipher suite, one curve, one way to sign.
fn hello_of_tls_1_2() -> Vec<u8> {
    let groups = [0, 10, 0, 4, 0, 2, 0, 23];
    let point_formats = [0, 11, 0, 2, 1, 0];
    let signatures = [0, 13, 0, 4, 0, 2, 4, 3];
    let extensions = [&groups[..], &point_formats, &signatures].concat();
    let mut hello = vec![3, 3];
    hello.extend([7; 32]);
    // No session, ECDHE-ECDSA with AES-128-GCM, no compression.
    hello.extend([0, 0, 2, 0xC0, 0x2B, 1, 0]);
    hello.extend([0, extensions.len() as u8]);
    hello.extend(extensions);
    let message = [&[1, 0, 0, hello.len() as u8][..], &hello].concat();
    [&[22, 3, 1, 0, message.len() as u8][..], &message].concat()
}
