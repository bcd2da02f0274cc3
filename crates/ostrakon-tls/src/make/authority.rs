//! `Authority`: signs the certificates of one cluster.
//!
//! Its own certificate names the cluster, so whoever has the two files of an authority needs nothing else to issue.
//! It signs no other authorities, and nothing it signs outlives it.

use std::fmt;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, SanType,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use time::OffsetDateTime;
use webpki::EndEntityCert;

use super::{MakeError, Validity};
use crate::{
    Flaw, Identity, UtcTime, certificate,
    identity::{SCHEME, checked_cluster},
};

/// Signs the certificates of one cluster.
pub struct Authority {
    cluster: String,
    cert_pem: String,
    key: KeyPair,
    expires_at: UtcTime,
}

/// A certificate and its key, in PEM.
pub struct Issued {
    /// The certificate: for everybody to see.
    pub cert_pem: String,
    /// The private key: for its owner alone.
    pub key_pem: String,
    /// When the certificate ends: when it was asked to, or with its authority.
    pub expires_at: UtcTime,
}

impl Authority {
    /// Makes a new one, which no certificate trusts yet.
    pub fn new(cluster: impl Into<String>, validity: Validity) -> Result<Self, MakeError> {
        let cluster = checked_cluster(cluster.into())?;
        let key = KeyPair::generate()?;
        let mut params = authority_params(&cluster)?;
        set_validity(&mut params, validity)?;
        Ok(Self {
            cert_pem: params.self_signed(&key)?.pem(),
            cluster,
            key,
            expires_at: validity.until,
        })
    }

    /// Takes one up again from what [`cert_pem`](Self::cert_pem) and [`key_pem`](Self::key_pem) gave.
    ///
    /// If the first holds several certificates, as while one authority replaces another, the key says which is meant.
    pub fn from_pem(cert_pem: &str, key_pem: &str) -> Result<Self, MakeError> {
        let key = key_in(key_pem)?;
        let certificate = certificate_of(&key, cert_pem)?;
        let cluster = cluster_of(&certificate)?;
        // Issuing repeats the subject from the cluster's name, so it must be the one that this module writes.
        let rebuilt = authority_params(&cluster)?.self_signed(&key)?;
        if subject(&certificate)? != subject(rebuilt.der())? {
            return Err(MakeError::ForeignAuthority);
        }
        Ok(Self {
            cert_pem: cert_pem.to_owned(),
            cluster,
            key,
            expires_at: certificate::expiry(&certificate)?,
        })
    }

    /// Signs a certificate for `identity`, with a new key. It ends with the authority if it was to last longer.
    pub fn issue(&self, identity: &Identity, validity: Validity) -> Result<Issued, MakeError> {
        self.check(identity)?;
        let validity = Validity {
            until: validity.until.min(self.expires_at),
            ..validity
        };
        let key = KeyPair::generate()?;
        let mut params = leaf_params(identity)?;
        set_validity(&mut params, validity)?;
        let authority = authority_params(&self.cluster)?;
        let issuer = Issuer::from_params(&authority, &self.key);
        Ok(Issued {
            cert_pem: params.signed_by(&key, &issuer)?.pem(),
            key_pem: key.serialize_pem(),
            expires_at: validity.until,
        })
    }

    fn check(&self, identity: &Identity) -> Result<(), MakeError> {
        if identity.cluster() != self.cluster {
            return Err(MakeError::OtherCluster {
                ours: self.cluster.clone(),
                asked: identity.cluster().to_owned(),
            });
        }
        if self.expires_at <= UtcTime::now() {
            return Err(MakeError::AuthorityExpired {
                at: self.expires_at,
            });
        }
        Ok(())
    }

    /// The cluster it signs for.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Its certificate: what everybody in the cluster trusts.
    pub fn cert_pem(&self) -> &str {
        &self.cert_pem
    }

    /// Its private key: who has it can join the cluster as anybody.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// When it ends, and everything it signed with it.
    pub fn expires_at(&self) -> UtcTime {
        self.expires_at
    }
}

/// Without the key.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("cluster", &self.cluster)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// Without the key.
impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued")
            .field("cert_pem", &self.cert_pem)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

fn authority_params(cluster: &str) -> Result<CertificateParams, MakeError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject_named("ostrakon authority", cluster);
    params.subject_alt_names = vec![uri(format!("{SCHEME}{cluster}"))?];
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn leaf_params(identity: &Identity) -> Result<CertificateParams, MakeError> {
    let mut params = CertificateParams::default();
    let role = identity.role();
    params.distinguished_name = subject_named(&format!("ostrakon {role}"), identity.name());
    params.subject_alt_names = vec![uri(identity.to_string())?];
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    if role.serves() {
        params
            .extended_key_usages
            .push(ExtendedKeyUsagePurpose::ServerAuth);
    }
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// For people who look at a certificate with other tools; the identity is in the URI.
fn subject_named(organization: &str, name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, organization);
    if name.len() <= MAX_COMMON_NAME_LEN {
        subject.push(DnType::CommonName, name);
    }
    subject
}

fn uri(text: String) -> Result<SanType, MakeError> {
    Ok(SanType::URI(text.try_into()?))
}

fn set_validity(params: &mut CertificateParams, validity: Validity) -> Result<(), MakeError> {
    let Validity { from, until } = validity;
    if from >= until {
        return Err(MakeError::NoTime { from, until });
    }
    params.not_before = date_of(from);
    params.not_after = date_of(until);
    Ok(())
}

fn date_of(time: UtcTime) -> OffsetDateTime {
    let seconds = i64::try_from(time.unix_seconds()).expect("no later than the year 9999");
    OffsetDateTime::from_unix_timestamp(seconds).expect("no later than the year 9999")
}

fn key_in(key_pem: &str) -> Result<KeyPair, MakeError> {
    if !key_pem.contains("PRIVATE KEY-----") {
        return Err(MakeError::NotPem {
            section: "PRIVATE KEY",
        });
    }
    KeyPair::from_pem(key_pem).map_err(|_| MakeError::UnusableKey)
}

fn certificate_of(key: &KeyPair, cert_pem: &str) -> Result<CertificateDer<'static>, MakeError> {
    let all = CertificateDer::pem_slice_iter(cert_pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let all = all.unwrap_or_default();
    if all.is_empty() {
        return Err(MakeError::NotPem {
            section: "CERTIFICATE",
        });
    }
    let public_key = key.subject_public_key_info();
    let holds_it = |certificate: &CertificateDer<'_>| {
        EndEntityCert::try_from(certificate)
            .is_ok_and(|parsed| *parsed.subject_public_key_info() == *public_key)
    };
    let ours = all.into_iter().find(holds_it);
    ours.ok_or(MakeError::KeyMismatch)
}

fn cluster_of(authority: &CertificateDer<'_>) -> Result<String, MakeError> {
    let uri = certificate::our_uri(authority).map_err(|_| MakeError::ForeignAuthority)?;
    let cluster = uri.trim_start_matches(SCHEME).to_owned();
    checked_cluster(cluster).map_err(|_| MakeError::ForeignAuthority)
}

fn subject(certificate: &CertificateDer<'_>) -> Result<Vec<u8>, MakeError> {
    let parsed = EndEntityCert::try_from(certificate).map_err(|_| Flaw::Malformed)?;
    Ok(parsed.subject().to_owned())
}

/// Longer ones are against the standard, and some tools refuse them.
const MAX_COMMON_NAME_LEN: usize = 64;
