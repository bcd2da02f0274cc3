//! Callers that say exactly what a test wants.

use std::{net::SocketAddr, time::Duration};

use ostrakon_control::{Conversation, Ended, FromManager, FromNode, Hello, Mouth, Seat, dial};
use ostrakon_core::{NodeName, NodeVersion, Registration, ToCoordinator};
use ostrakon_tls::Security;
use tokio::{sync::mpsc, task::JoinHandle};

pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Somebody who is connected and says what the test wants.
pub(crate) struct Caller {
    pub(crate) mouth: Mouth<FromNode>,
    pub(crate) heard: mpsc::Receiver<FromManager>,
    pub(crate) over: JoinHandle<Ended>,
}

impl Caller {
    pub(crate) async fn call(address: SocketAddr, name: &str, seat: Seat) -> Self {
        let hello = Hello {
            cluster: "ostrakon".to_owned(),
            name: name.to_owned(),
            seat,
        };
        let dialed = dial(address, &Security::plaintext(), &hello, SOON).await;
        let (wire, _) = dialed.unwrap_or_else(|error| panic!("{error}"));
        let (conversation, mouth) = Conversation::new(wire);
        let (ears, heard) = mpsc::channel(100_000);
        let over = async move {
            conversation
                .run(SOON, &ears, |words: FromManager| Ok(words))
                .await
        };
        let over = tokio::spawn(over);
        Self { mouth, heard, over }
    }

    pub(crate) fn say(&self, message: ToCoordinator) {
        self.mouth.say(FromNode::Say(message));
    }

    /// The manager has hung up.
    pub(crate) async fn ends(self) {
        let ended = tokio::time::timeout(SOON, self.over).await;
        let ended = ended.expect("it is hung up on").unwrap();
        assert!(matches!(ended, Ended::Frame(_)), "{ended}");
    }
}

/// A node without groups: it gets no shards.
pub(crate) fn registration(name: &str, nonce: u64) -> ToCoordinator {
    let registration = Registration {
        name: NodeName::new(name).unwrap(),
        address: "127.0.0.1:1".to_owned(),
        nonce,
        version: NodeVersion::default(),
        roles: Default::default(),
        weight: 1,
        groups: Vec::new(),
        place: Default::default(),
    };
    ToCoordinator::Register {
        registration,
        slack: Duration::from_millis(100),
    }
}
