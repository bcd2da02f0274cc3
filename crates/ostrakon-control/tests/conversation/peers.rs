//! Peers that greet each other, and others who call at the same door.

use std::net::SocketAddr;

use ostrakon_control::{
    Framed, GreetingError, Guest, Hello, PeerHello, PeerWords, Seat, dial, greet,
};
use ostrakon_core::{Address, NodeName};
use ostrakon_tls::Security;
use serde::Serialize;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::greetings::{SOON, hello, manager, opening};

fn peer(cluster: &str, name: &str, session: u64) -> PeerHello {
    PeerHello {
        cluster: cluster.to_owned(),
        name: NodeName::new(name).unwrap(),
        address: Address::new(format!("{name}:7")).unwrap(),
        session,
    }
}

/// A peer called `b` that greets one caller.
async fn door() -> (SocketAddr, JoinHandle<Result<Guest, GreetingError>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let greeting = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let own = peer("bank", "b", 2);
        own.greet(stream, &Security::plaintext(), SOON).await
    });
    (address, greeting)
}

#[tokio::test]
async fn peers_tell_each_other_who_and_where_they_are() {
    let (address, greeting) = door().await;
    let dialed = peer("bank", "a", 1)
        .dial(address, &Security::plaintext(), SOON)
        .await;
    let Ok(Guest::Peer(met)) = greeting.await.unwrap() else {
        panic!("it is no peer");
    };
    let dialed = dialed.ok().unwrap();
    for (met, expected) in [(met, peer("bank", "a", 1)), (dialed, peer("bank", "b", 2))] {
        assert_eq!((met.name, met.address), (expected.name, expected.address));
        assert_eq!(met.session, expected.session);
    }
}

#[tokio::test]
async fn nodes_and_clients_are_let_in_at_the_door_of_a_peer() {
    for seat in [Seat::Node, Seat::Client] {
        let (address, greeting) = door().await;
        let hello = Hello {
            seat,
            ..hello("bank")
        };
        let dialed = dial(address, &Security::plaintext(), &hello, SOON).await;
        assert_eq!(dialed.ok().unwrap().1, "b");
        let Ok(Guest::Caller(caller)) = greeting.await.unwrap() else {
            panic!("it is no caller");
        };
        assert_eq!((caller.name.as_str(), caller.seat), ("node-1", seat));
    }
}

#[tokio::test]
async fn a_manager_has_no_peers_and_a_peer_does_not_take_it_for_one() {
    let (address, greeting) = manager(SOON).await;
    let dialed = peer("bank", "a", 1)
        .dial(address, &Security::plaintext(), SOON)
        .await;
    let theirs = dialed.err().unwrap();
    let ours = greeting.await.unwrap().err().unwrap();
    for error in [theirs, ours] {
        let reason = "it wants to be a peer, and managers have none";
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_peer_of_another_cluster_is_refused_and_both_know_it() {
    let (address, greeting) = door().await;
    let dialed = peer("staging", "a", 1)
        .dial(address, &Security::plaintext(), SOON)
        .await;
    let theirs = dialed.err().unwrap();
    let ours = greeting.await.unwrap().err().unwrap();
    for error in [theirs, ours] {
        let reason = "it belongs to cluster `staging`, and this is a node of `bank`";
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_peer_that_does_not_say_where_it_is_is_none() {
    #[derive(Serialize)]
    struct Nowhere {
        cluster: &'static str,
        name: &'static str,
        seat: &'static str,
    }
    let nowhere = Nowhere {
        cluster: "bank",
        name: "a",
        seat: "peer",
    };
    let (address, greeting) = door().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let said = opening(&rmp_serde::to_vec_named(&nowhere).unwrap());
    stream.write_all(&said).await.unwrap();
    let error = greeting.await.unwrap().err().unwrap();
    assert!(matches!(error, GreetingError::Stranger(_)), "{error}");
}

/// What is added later must not keep those out who do not know it.
#[tokio::test]
async fn a_greeting_with_more_in_it_than_we_know_is_read() {
    #[derive(Serialize)]
    struct Later {
        cluster: &'static str,
        name: &'static str,
        seat: &'static str,
        favourite_colour: &'static str,
    }
    let later = Later {
        cluster: "bank",
        name: "node-1",
        seat: "node",
        favourite_colour: "blue",
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let said = opening(&rmp_serde::to_vec_named(&later).unwrap());
    stream.write_all(&said).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let plain = Security::plaintext();
    let caller = greet(stream, &plain, "bank", "manager-1", SOON).await;
    assert_eq!(caller.ok().unwrap().name.as_str(), "node-1");
}

#[test]
fn a_call_takes_hardly_more_bytes_than_it_carries() {
    let request = vec![0xff; 1 << 20];
    let words = PeerWords::Call {
        call: u64::MAX,
        request: request.clone(),
    };
    let size = Framed::new(&words).unwrap().size();
    assert!(size < request.len() + 64, "{size}");
    let encoded = rmp_serde::to_vec_named(&words).unwrap();
    assert_eq!(rmp_serde::from_slice::<PeerWords>(&encoded).unwrap(), words);
}
