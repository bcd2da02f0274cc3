//! Whoever does not belong here.

use std::time::Duration;

use ostrakon_control::{Conversation, PeerHello, PeerWords};
use ostrakon_core::{Address, NodeName, Topology, TopologyAction, TopologyConfig, TopologyInput};
use ostrakon_peers::{Peer, PeerSettings, StartError};
use ostrakon_tls::Security;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
};

use crate::support::{Log, SOON, cluster, settings, start, until, up};

#[tokio::test]
async fn a_peer_of_another_cluster_is_refused_and_both_logs_say_why() {
    let log = Log::keep();
    let first = cluster(&["node-1"]).await;
    let seed = first[0].address().to_string();
    let mut other = PeerSettings::new("elsewhere", "node-2", "127.0.0.1:0").seeds([seed]);
    other.join_within = Duration::from_secs(1);
    other.tune = Box::new(|config| config.forming = ostrakon_core::Forming::Never);
    let error = Peer::start(other).await.err().unwrap();
    let reason = "it belongs to cluster `elsewhere`, and this is a node of `bank`";
    assert!(matches!(error, StartError::NotJoined { .. }), "{error}");
    assert!(error.to_string().contains(reason), "{error}");
    log.line_with(&["a caller is refused", reason]).await;
    log.line_with(&["a peer cannot be reached", "it refuses us", reason])
        .await;
    assert_eq!(up(&first[0].topology().borrow()), 1);
}

#[tokio::test]
async fn garbage_on_the_port_keeps_nobody_out() {
    let first = start("node-1", [""; 0]).await;
    let at = first.address();
    let mut open = Vec::new();
    for garbage in [
        &b"GET / HTTP/1.1\r\nhost: node-1\r\n\r\n"[..],
        &[0; 64],
        &[0xff; 4096],
        b"OSTRKNM\x01\0\x01\0\x01\xff\xff\xff\xff",
        b"OSTRKNM\x01\0\x01\0\x01\0\0\0\x02\xc1\xc1",
        b"OSTRKNM\x01\0\x01",
        b"",
    ] {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        open.push(stream);
    }
    let second = start("node-2", [at.to_string()]).await;
    until(&second, |snapshot| up(snapshot) == 2).await;
    // Those that are no greeting are hung up on, and the unfinished ones when they take too long.
    for mut stream in open {
        let closed = tokio::time::timeout(SOON, stream.read(&mut [0; 8]))
            .await
            .unwrap();
        assert_eq!(closed.unwrap_or(0), 0);
    }
}

#[tokio::test]
async fn there_are_so_many_places_and_the_rest_is_turned_away() {
    let mut few = settings("node-1");
    few.connections = 2;
    let peer = Peer::start(few).await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(TcpStream::connect(peer.address()).await.unwrap());
    }
    let mut nothing = [0; 8];
    let turned_away = streams[2].read(&mut nothing);
    let turned_away = tokio::time::timeout(Duration::from_secs(3), turned_away);
    assert_eq!(turned_away.await.expect("it is hung up on").unwrap_or(0), 0);
    streams.truncate(1);
    // A place is free again.
    let second = start("node-2", [peer.address().to_string()]).await;
    until(&second, |snapshot| up(snapshot) == 2).await;
}

/// Something that greets as a peer does.
async fn false_peer(
    peer: &Peer,
    name: &str,
) -> (Conversation<PeerWords>, ostrakon_control::Mouth<PeerWords>) {
    let hello = PeerHello {
        cluster: "bank".to_owned(),
        name: NodeName::new(name).unwrap(),
        address: Address::new("127.0.0.1:1").unwrap(),
        session: 1,
    };
    let met = hello
        .dial(peer.address(), &Security::plaintext(), SOON)
        .await;
    let met = met.ok().unwrap();
    assert_eq!(met.name, *peer.name());
    assert_eq!(met.address.as_str(), peer.address().to_string());
    Conversation::new(met.wire)
}

/// What a node of this name says when it has no cluster.
fn hello_of(name: &str) -> PeerWords {
    let address = Address::new("127.0.0.1:1").unwrap();
    let config = TopologyConfig::new(NodeName::new(name).unwrap(), address.clone(), 1)
        .with_seeds([Address::new("127.0.0.1:0").unwrap()]);
    let now = ostrakon_core::Time::ZERO;
    let actions = Topology::new(now, config)
        .unwrap()
        .step(now, TopologyInput::Tick);
    let TopologyAction::Send { message, .. } = actions.into_iter().next().unwrap() else {
        panic!("it says nothing");
    };
    PeerWords::Gossip(message)
}

#[tokio::test]
async fn a_peer_speaks_for_itself_only() {
    let peer = start("node-1", [""; 0]).await;
    for (says, is_heard) in [("false", true), ("other", false)] {
        let (conversation, mouth) = false_peer(&peer, "false").await;
        mouth.say(hello_of(says));
        let (ears, mut heard) = mpsc::channel(9);
        let listening = async { conversation.run(SOON, &ears, Ok).await };
        tokio::select! {
            ended = listening => assert!(!is_heard, "{says}: {ended}"),
            heard = heard.recv() => {
                assert!(is_heard, "{says}");
                assert!(matches!(heard, Some(PeerWords::Gossip(_))));
            }
        }
    }
}
