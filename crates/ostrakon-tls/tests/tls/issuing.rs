//! What the authority makes: who can be named, how long it lasts, and how it is taken up again.

use std::time::Duration;

use ostrakon_tls::{
    Identity, InvalidIdentity, Role, Tls, UtcTime,
    make::{Authority, MakeError, Validity, identity_in},
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, SanType};

use crate::lab::{Lab, authority, handshake, issue, until_yesterday, year};

#[tokio::test]
async fn an_authority_taken_up_again_issues_as_before() {
    let (lab, first) = (Lab::new(), authority("prod"));
    let again = Authority::from_pem(first.cert_pem(), &first.key_pem()).unwrap();
    assert_eq!(again.cluster(), "prod");
    assert_eq!(again.expires_at(), first.expires_at());
    assert_eq!(again.cert_pem(), first.cert_pem());

    let server = lab.tls(&first, Role::Node, "node-1");
    let client = lab.tls(&again, Role::Node, "node-2");
    let (accepted, connected) = handshake(&server, &client).await;
    assert_eq!(accepted.unwrap().1.name(), "node-2");
    assert_eq!(connected.unwrap().1.name(), "node-1");
}

#[test]
fn the_key_says_which_of_two_authorities_is_meant() {
    let (old, new) = (authority("old"), authority("new"));
    let both = format!("{}{}", old.cert_pem(), new.cert_pem());
    for authority in [old, new] {
        let meant = Authority::from_pem(&both, &authority.key_pem()).unwrap();
        assert_eq!(meant.cluster(), authority.cluster());
    }
}

#[test]
fn what_is_issued_says_who_it_is_for() {
    let issued = issue(&authority("prod"), Role::Client, "shop", year());
    assert_eq!(
        identity_in(&issued.cert_pem).unwrap().to_string(),
        "ostrakon://prod/client/shop"
    );
}

#[test]
fn nothing_outlives_its_authority() {
    let lab = Lab::new();
    let day = Validity::for_the_next(Duration::from_secs(86_400));
    let short = Authority::new("prod", day).unwrap();
    let issued = issue(&short, Role::Node, "node-1", year());
    assert_eq!(issued.expires_at, short.expires_at());
    let tls = Tls::load(lab.write(short.cert_pem(), "node-1", &issued)).unwrap();
    assert_eq!(tls.expires_at(), short.expires_at());
}

#[test]
fn certificates_start_in_the_past_for_clocks_that_lag() {
    let now = UtcTime::now();
    let validity = Validity::for_the_next(Validity::OF_LEAF);
    assert!(validity.from <= now.minus(Duration::from_secs(3599)));
    assert!(validity.until >= now.plus(Validity::OF_LEAF));
}

#[test]
fn an_expired_authority_issues_nothing() {
    let expired = Authority::new("prod", until_yesterday()).unwrap();
    let node = Identity::new("prod", Role::Node, "node-1").unwrap();
    let refused = expired.issue(&node, year());
    assert!(
        matches!(refused, Err(MakeError::AuthorityExpired { at }) if at == expired.expires_at())
    );
}

#[test]
fn an_authority_issues_for_its_own_cluster_only() {
    let other = Identity::new("test", Role::Node, "node-1").unwrap();
    let refused = authority("prod").issue(&other, year());
    assert!(matches!(refused, Err(MakeError::OtherCluster { .. })));
}

#[test]
fn no_time_is_refused() {
    let node = Identity::new("prod", Role::Node, "node-1").unwrap();
    let now = UtcTime::now();
    let none = Validity {
        from: now,
        until: now,
    };
    let refused = authority("prod").issue(&node, none);
    assert!(matches!(refused, Err(MakeError::NoTime { .. })));
    let refused = Authority::new("prod", none);
    assert!(matches!(refused, Err(MakeError::NoTime { .. })));
}

#[test]
fn a_cluster_needs_a_proper_name() {
    for cluster in ["", "a/b", "a b", "prod:1", &"c".repeat(64)] {
        let refused = Authority::new(cluster, year());
        assert!(
            matches!(
                refused,
                Err(MakeError::Identity(InvalidIdentity::BadCluster { .. }))
            ),
            "{cluster:?}"
        );
    }
}

#[test]
fn what_is_no_authority_of_ours_is_not_taken_up() {
    let (one, other) = (authority("prod"), authority("prod"));
    let mixed = Authority::from_pem(one.cert_pem(), &other.key_pem());
    assert!(matches!(mixed, Err(MakeError::KeyMismatch)), "{mixed:?}");
    let swapped = Authority::from_pem(&one.key_pem(), one.cert_pem());
    assert!(matches!(swapped, Err(MakeError::NotPem { .. })));
    let no_certificate = Authority::from_pem("", &one.key_pem());
    assert!(matches!(no_certificate, Err(MakeError::NotPem { .. })));
    let damaged = "-----BEGIN PRIVATE KEY-----\nSGVsbG8=\n-----END PRIVATE KEY-----\n";
    let damaged = Authority::from_pem(one.cert_pem(), damaged);
    assert!(matches!(damaged, Err(MakeError::UnusableKey)));
    let leaf = issue(&one, Role::Node, "node-1", year());
    let leaf = Authority::from_pem(&leaf.cert_pem, &leaf.key_pem);
    assert!(matches!(leaf, Err(MakeError::ForeignAuthority)), "{leaf:?}");
}

#[test]
fn a_foreign_authority_is_not_taken_up_even_if_it_names_the_cluster() {
    for uris in [&[][..], &["ostrakon://prod"]] {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.subject_alt_names = uris
            .iter()
            .map(|&uri| SanType::URI(uri.try_into().unwrap()))
            .collect();
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let refused = Authority::from_pem(&pem, &key.serialize_pem());
        assert!(matches!(refused, Err(MakeError::ForeignAuthority)));
    }
}
