//! A node's name in the cluster and its name in a certificate are the same name.

use ostrakon_core::NodeName;
use ostrakon_tls::{Identity, Role};

use crate::lab::{Lab, authority, handshake};

#[test]
fn what_a_node_may_be_called_is_what_a_certificate_may_say() {
    assert_eq!(Identity::MAX_NAME_LEN, NodeName::MAX_LEN);
    let single = (0..=0xFF_u8).map(|byte| char::from(byte).to_string());
    let long = [0, 1, 127, 128, 129].map(|len| "n".repeat(len));
    for name in single.chain(long) {
        let identity = Identity::new("c", Role::Node, name.as_str());
        assert_eq!(
            NodeName::new(&name).is_ok(),
            identity.is_ok(),
            "{name:?}: {identity:?}"
        );
        if let Ok(identity) = identity {
            assert_eq!(identity.to_string().parse(), Ok(identity), "{name:?}");
        }
    }
}

#[tokio::test]
async fn every_character_of_a_node_name_survives_the_certificate() {
    let visible = (b'!'..=b'~').filter(|&byte| byte != b'/');
    let name = visible.map(char::from).collect::<String>();
    NodeName::new(&name).unwrap();

    let (lab, authority) = (Lab::new(), authority("prod"));
    let server = lab.tls(&authority, Role::Node, &name);
    let client = lab.tls(&authority, Role::Node, &"n".repeat(NodeName::MAX_LEN));
    let (accepted, connected) = handshake(&server, &client).await;
    assert_eq!(connected.unwrap().1.name(), name);
    assert_eq!(accepted.unwrap().1, client.identity());
}
