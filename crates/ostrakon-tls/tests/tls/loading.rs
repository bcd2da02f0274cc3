//! What is wrong with the files shows when they are loaded, and the error says which file and what to do.

use std::{fs, path::Path};

use ostrakon_tls::{
    Files, Flaw, InvalidIdentity, Role, Tls, TlsError,
    make::{Authority, Issued},
};

use crate::lab::{Lab, authority, from_tomorrow, issue, until_yesterday, year};

/// A folder with good files for one node, to be spoilt.
fn good() -> (Lab, Files, Authority) {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let issued = issue(&authority, Role::Node, "node-1", year());
    let files = lab.write(authority.cert_pem(), "node-1", &issued);
    (lab, files, authority)
}

fn refusal(files: &Files) -> TlsError {
    Tls::load(files.clone()).unwrap_err()
}

#[test]
fn good_files_are_loaded_and_say_who_we_are() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let issued = issue(&authority, Role::Admin, "ops", year());
    let tls = Tls::load(lab.write(authority.cert_pem(), "ops", &issued)).unwrap();
    assert_eq!(tls.identity().to_string(), "ostrakon://prod/admin/ops");
    assert_eq!(tls.expires_at(), issued.expires_at);
}

#[test]
fn files_lie_where_the_command_puts_them() {
    let files = Files::in_dir("certs", "10.0.0.1:7000");
    assert_eq!(files.ca.to_str(), Some("certs/ca.pem"));
    assert_eq!(files.certificate.to_str(), Some("certs/10.0.0.1:7000.pem"));
    assert_eq!(files.key.to_str(), Some("certs/10.0.0.1:7000.key"));
}

#[test]
fn a_missing_file_is_named() {
    let (_lab, files, _) = good();
    for missing in [&files.key, &files.certificate, &files.ca] {
        let kept = fs::read(missing).unwrap();
        fs::remove_file(missing).unwrap();
        assert_eq!(
            refusal(&files).to_string(),
            format!(
                "{} does not exist: create it with `ostrakon certs`, or correct the path",
                missing.display()
            )
        );
        fs::write(missing, kept).unwrap();
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_is_unreadable() {
    let (_lab, files, _) = good();
    fs::remove_file(&files.key).unwrap();
    fs::create_dir(&files.key).unwrap();
    let error = refusal(&files);
    assert!(
        matches!(&error, TlsError::Unreadable { file, .. } if *file == files.key),
        "{error:?}"
    );
}

#[test]
fn a_file_of_another_kind_is_named() {
    let (_lab, files, _) = good();
    let damaged = "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n";
    for (spoilt, section) in [
        (&files.key, "PRIVATE KEY"),
        (&files.certificate, "CERTIFICATE"),
        (&files.ca, "CERTIFICATE"),
    ] {
        let kept = fs::read(spoilt).unwrap();
        for nonsense in ["", "not pem at all", damaged] {
            fs::write(spoilt, nonsense).unwrap();
            let error = refusal(&files);
            assert!(
                matches!(&error, TlsError::NotPem { file, section: wanted } if file == spoilt && *wanted == section),
                "{nonsense:?}: {error:?}"
            );
        }
        fs::write(spoilt, kept).unwrap();
    }
    fs::copy(&files.key, &files.certificate).unwrap();
    assert!(matches!(refusal(&files), TlsError::NotPem { .. }));
}

#[test]
fn pem_around_something_else_is_no_certificate() {
    let (_lab, files, _) = good();
    for spoilt in [&files.certificate, &files.ca] {
        let kept = fs::read(spoilt).unwrap();
        let wrapped = "-----BEGIN CERTIFICATE-----\nSGVsbG8=\n-----END CERTIFICATE-----\n";
        fs::write(spoilt, wrapped).unwrap();
        assert_eq!(flaw_of(&files, spoilt), Flaw::Malformed);
        fs::write(spoilt, kept).unwrap();
    }
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let (_lab, files, authority) = good();
    let renewed = issue(&authority, Role::Node, "node-1", year());
    fs::write(&files.key, renewed.key_pem).unwrap();
    let error = refusal(&files);
    assert!(
        matches!(&error, TlsError::KeyMismatch { key, certificate } if (key, certificate) == (&files.key, &files.certificate)),
        "{error:?}"
    );
}

#[test]
fn a_key_that_is_none_is_refused() {
    let (_lab, files, _) = good();
    let wrapped = "-----BEGIN PRIVATE KEY-----\nSGVsbG8=\n-----END PRIVATE KEY-----\n";
    fs::write(&files.key, wrapped).unwrap();
    let error = refusal(&files);
    assert!(
        matches!(&error, TlsError::UnusableKey { file, .. } if *file == files.key),
        "{error:?}"
    );
}

#[test]
fn a_certificate_out_of_its_time_is_refused() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let (expired, early) = (until_yesterday(), from_tomorrow());
    for (validity, expected) in [
        (expired, Flaw::Expired { at: expired.until }),
        (early, Flaw::NotYetValid { from: early.from }),
    ] {
        let issued = issue(&authority, Role::Node, "node-1", validity);
        let files = lab.write(authority.cert_pem(), "node-1", &issued);
        assert_eq!(flaw_of(&files, &files.certificate), expected);
    }
    let issued = issue(&authority, Role::Node, "node-1", expired);
    let files = lab.write(authority.cert_pem(), "node-1", &issued);
    assert_eq!(
        refusal(&files).to_string(),
        format!(
            "the certificate in {} cannot be used: it expired at {}: issue it again with `ostrakon certs`",
            files.certificate.display(),
            expired.until
        )
    );
}

#[test]
fn an_authority_out_of_its_time_is_refused_unless_another_takes_over() {
    let lab = Lab::new();
    let (expired, early) = (until_yesterday(), from_tomorrow());
    let good = authority("prod");
    let issued = issue(&good, Role::Node, "node-1", year());
    for (validity, expected) in [
        (expired, Flaw::Expired { at: expired.until }),
        (early, Flaw::NotYetValid { from: early.from }),
    ] {
        let other = Authority::new("prod", validity).unwrap();
        let files = lab.write(other.cert_pem(), "node-1", &issued);
        assert_eq!(flaw_of(&files, &files.ca), expected);

        let both = format!("{}{}", other.cert_pem(), good.cert_pem());
        Tls::load(lab.write(&both, "node-1", &issued)).unwrap();
    }
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (_lab, files, _) = good();
    fs::write(&files.ca, authority("prod").cert_pem()).unwrap();
    let error = refusal(&files);
    assert!(
        matches!(&error, TlsError::NotSignedByAuthority { certificate, ca } if (certificate, ca) == (&files.certificate, &files.ca)),
        "{error:?}"
    );
}

#[test]
fn a_certificate_without_an_identity_is_refused() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let its_own = Issued {
        cert_pem: authority.cert_pem().to_owned(),
        key_pem: authority.key_pem(),
        expires_at: authority.expires_at(),
    };
    let files = lab.write(authority.cert_pem(), "node-1", &its_own);
    let flaw = flaw_of(&files, &files.certificate);
    assert!(
        matches!(flaw, Flaw::Identity(InvalidIdentity::NotOurs { .. })),
        "the authority's own certificate stands for nobody: {flaw:?}"
    );
}

#[test]
fn what_is_secret_is_not_shown() {
    let (_lab, files, authority) = good();
    let tls = Tls::load(files.clone()).unwrap();
    let shown = format!("{tls:?} {authority:?}");
    let key = fs::read_to_string(&files.key).unwrap();
    assert!(shown.contains("node-1"), "{shown}");
    let secret = [key, authority.key_pem()].map(|pem| pem.lines().nth(1).unwrap().to_owned());
    assert!(secret.iter().all(|line| !shown.contains(line)), "{shown}");
}

fn flaw_of(files: &Files, at_fault: &Path) -> Flaw {
    let refusal = refusal(files);
    let TlsError::BadCertificate { file, flaw } = refusal else {
        panic!("not about a certificate: {refusal:?}");
    };
    assert_eq!(file, at_fault);
    flaw
}
