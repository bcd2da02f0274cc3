//! Two sides that both use this crate.

use ostrakon_tls::{Flaw, Role, Tls, TlsError};
use tokio_rustls::rustls::HandshakeKind;

use crate::lab::{Lab, authority, first_word, handshake, issue, say, year};

#[tokio::test]
async fn both_sides_learn_who_the_other_is_and_can_talk() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let server = lab.tls(&authority, Role::Node, "node-1");
    let client = lab.tls(&authority, Role::Node, "10.0.0.2:7000");

    let (accepted, connected) = handshake(&server, &client).await;
    let (mut accepted, seen_by_server) = accepted.unwrap();
    let (mut connected, seen_by_client) = connected.unwrap();

    assert_eq!(seen_by_server, client.identity());
    assert_eq!(seen_by_client, server.identity());
    assert_eq!(
        seen_by_server.to_string(),
        "ostrakon://prod/node/10.0.0.2%3A7000"
    );
    say(&mut accepted, 1).await;
    say(&mut connected, 2).await;
    assert_eq!(first_word(&mut connected).await.unwrap(), 1);
    assert_eq!(first_word(&mut accepted).await.unwrap(), 2);
}

#[tokio::test]
async fn the_role_comes_through() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let server = lab.tls(&authority, Role::Node, "node-1");
    for role in [Role::Node, Role::Client, Role::Admin] {
        let client = lab.tls(&authority, role, "someone");
        let (accepted, _) = handshake(&server, &client).await;
        let (_, peer) = accepted.unwrap();
        assert_eq!((peer.role(), peer.name()), (role, "someone"));
    }
}

#[tokio::test]
async fn clusters_with_different_authorities_refuse_each_other() {
    let lab = (Lab::new(), Lab::new());
    let server = lab.0.tls(&authority("prod"), Role::Node, "node-1");
    // Even under the same name: it is the key that counts.
    let client = lab.1.tls(&authority("prod"), Role::Node, "node-2");

    let (accepted, connected) = handshake(&server, &client).await;
    assert!(
        matches!(
            connected,
            Err(TlsError::BadPeerCertificate {
                flaw: Flaw::UnknownAuthority
            })
        ),
        "{connected:?}"
    );
    assert!(
        matches!(accepted, Err(TlsError::RefusedByPeer { .. })),
        "{accepted:?}"
    );
}

#[tokio::test]
async fn a_trusted_peer_of_another_cluster_is_refused_by_both_sides() {
    let lab = (Lab::new(), Lab::new());
    let (prod, test) = (authority("prod"), authority("test"));
    let both = format!("{}{}", prod.cert_pem(), test.cert_pem());
    let server = issue(&prod, Role::Node, "node-1", year());
    let server = Tls::load(lab.0.write(&both, "node-1", &server)).unwrap();
    let client = issue(&test, Role::Node, "node-1", year());
    let client = Tls::load(lab.1.write(&both, "node-1", &client)).unwrap();

    let (accepted, connected) = handshake(&server, &client).await;
    let refusals = [accepted.map(drop), connected.map(drop)].map(Result::unwrap_err);
    assert_eq!(
        refusals.map(|refusal| refusal.to_string()),
        [
            "the peer is ostrakon://test/node/node-1, of another cluster than ours (prod): correct the address, or \
             its certificate",
            "the peer is ostrakon://prod/node/node-1, of another cluster than ours (test): correct the address, or \
             its certificate",
        ]
    );
}

#[tokio::test]
async fn an_authority_can_be_replaced_while_both_are_trusted() {
    let lab = (Lab::new(), Lab::new());
    let (old, new) = (authority("prod"), authority("prod"));
    let both = format!("{}{}", old.cert_pem(), new.cert_pem());
    let server = issue(&old, Role::Node, "node-1", year());
    let server = Tls::load(lab.0.write(&both, "node-1", &server)).unwrap();
    let client = issue(&new, Role::Node, "node-2", year());
    let client = Tls::load(lab.1.write(&both, "node-2", &client)).unwrap();

    let (accepted, connected) = handshake(&server, &client).await;
    assert_eq!(accepted.unwrap().1.name(), "node-2");
    assert_eq!(connected.unwrap().1.name(), "node-1");
}

#[tokio::test]
async fn only_a_node_can_serve() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let node = lab.tls(&authority, Role::Node, "node-1");
    for role in [Role::Client, Role::Admin] {
        let server = lab.tls(&authority, role, "impostor");
        let (_, connected) = handshake(&server, &node).await;
        assert!(
            matches!(
                connected,
                Err(TlsError::BadPeerCertificate {
                    flaw: Flaw::WrongPurpose
                })
            ),
            "{connected:?}"
        );
    }
}

#[tokio::test]
async fn certificates_are_shown_anew_on_every_connection() {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let server = lab.tls(&authority, Role::Node, "node-1");
    let client = lab.tls(&authority, Role::Client, "shop");
    for _ in 0..2 {
        let (accepted, connected) = handshake(&server, &client).await;
        let (mut accepted, mut connected) = (accepted.unwrap().0, connected.unwrap().0);
        // A ticket for the next connection would arrive before the first word.
        say(&mut accepted, 1).await;
        first_word(&mut connected).await.unwrap();
        let kind = connected.get_ref().1.handshake_kind();
        assert_eq!(kind, Some(HandshakeKind::Full));
        assert_eq!(connected.get_ref().1.tls13_tickets_received(), 0);
    }
}
