//! What can be read from a certificate: who it stands for and when it ends.
//!
//! Nothing here says whether it can be trusted: that takes an authority, and is done by those who verify.

use std::time::Duration;

use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use crate::{Flaw, Identity, InvalidIdentity, UtcTime, identity::SCHEME};

/// Who it stands for. A certificate with two identities has none: whoever checks must never have the choice.
pub(crate) fn identity(certificate: &CertificateDer<'_>) -> Result<Identity, Flaw> {
    Ok(our_uri(certificate)?.parse::<Identity>()?)
}

/// The one URI of ours.
pub(crate) fn our_uri(certificate: &CertificateDer<'_>) -> Result<String, Flaw> {
    let parsed = EndEntityCert::try_from(certificate).map_err(|_| Flaw::Malformed)?;
    let mut uris = parsed
        .valid_uri_names()
        .filter(|uri| uri.starts_with(SCHEME));
    let uri = uris.next().ok_or(InvalidIdentity::Absent)?;
    match uris.next() {
        Some(_) => Err(InvalidIdentity::Ambiguous.into()),
        None => Ok(uri.to_owned()),
    }
}

/// When it ends.
pub(crate) fn expiry(certificate: &CertificateDer<'_>) -> Result<UtcTime, Flaw> {
    let end_of_time = UnixTime::since_unix_epoch(Duration::MAX);
    match objection(certificate, end_of_time) {
        Some(webpki::Error::CertExpired { not_after, .. }) => {
            Ok(UtcTime::from_unix_seconds(not_after.as_secs()))
        }
        _ => Err(Flaw::Malformed),
    }
}

/// Fails outside of the time it is valid in. Authorities need this: verifying a chain does not look at their time.
pub(crate) fn in_time(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Flaw> {
    match objection(certificate, now) {
        Some(webpki::Error::CertExpired { not_after, .. }) => Err(Flaw::Expired {
            at: UtcTime::from_unix_seconds(not_after.as_secs()),
        }),
        Some(webpki::Error::CertNotValidYet { not_before, .. }) => Err(Flaw::NotYetValid {
            from: UtcTime::from_unix_seconds(not_before.as_secs()),
        }),
        Some(
            webpki::Error::InvalidCertValidity | webpki::Error::BadDerTime | webpki::Error::BadDer,
        ) => Err(Flaw::Malformed),
        _ => Ok(()),
    }
}

/// What `webpki` holds against the certificate at a time if it trusts no authority. It shows no times by itself, but it
/// judges them before everything else, and its objection to a time names the limit.
fn objection(certificate: &CertificateDer<'_>, time: UnixTime) -> Option<webpki::Error> {
    let parsed = match EndEntityCert::try_from(certificate) {
        Ok(parsed) => parsed,
        Err(_) => return Some(webpki::Error::BadDer),
    };
    parsed
        .verify_for_usage(&[], &[], &[], time, KeyUsage::client_auth(), None, None)
        .err()
}
