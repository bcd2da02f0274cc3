//! Only loopback addresses are called.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use ostrakon_core::{NodeName, NodeVersion};
use tokio::net::{TcpListener, TcpSocket};

use super::*;

const SOON: Duration = Duration::from_millis(300);

fn node(address: impl ToString, nonce: u64) -> Registration {
    Registration {
        name: NodeName::new("a").expect("a name"),
        address: address.to_string(),
        nonce,
        version: NodeVersion::new("1"),
        roles: BTreeSet::new(),
        weight: 1,
        groups: Vec::new(),
        place: BTreeMap::new(),
    }
}

fn on_this_host(mut node: Registration) -> Registration {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    let boot = boot.trim().to_owned();
    node.place.insert("process.boot".to_owned(), boot);
    node
}

/// Has a port that nobody else can take, and does not listen.
fn deaf() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(any).expect("a free port");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

fn twice() -> NonZeroU32 {
    NonZeroU32::new(2).expect("not zero")
}

fn is_dead(answer: &Liveness) -> bool {
    matches!(answer, Liveness::Dead(DeathProof::Platform(_)))
}

#[tokio::test]
async fn who_accepts_is_alive() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let node = node(listener.local_addr().unwrap(), 1);
    assert_eq!(Ping::new(SOON).probe(&node).await, Liveness::Alive);
}

#[tokio::test]
async fn who_refuses_may_be_alive() {
    let (_held, address) = deaf();
    let (ping, node) = (Ping::new(SOON), on_this_host(node(address, 1)));
    for _ in 0..10 {
        assert_eq!(ping.probe(&node).await, Liveness::Unknown);
    }
}

#[tokio::test]
async fn who_does_not_answer_may_be_alive() {
    let (socket, address) = deaf();
    let _listener = socket.listen(1).unwrap();
    let mut queue = Vec::new();
    // Nobody accepts: once the queue is full, the next attempt hangs.
    while let Ok(stream) = timeout(SOON, TcpStream::connect(address)).await {
        queue.push(stream.unwrap());
    }
    let ping = Ping::new(SOON).refused_is_death(NonZeroU32::MIN);
    let node = on_this_host(node(address, 1));
    assert_eq!(ping.probe(&node).await, Liveness::Unknown);
}

#[tokio::test]
async fn an_address_that_is_none_is_unknown() {
    let ping = Ping::new(SOON).refused_is_death(NonZeroU32::MIN);
    for address in ["", "127.0.0.1", "127.0.0.1:99999", "::1:", "no address"] {
        let node = on_this_host(node(address, 1));
        assert_eq!(ping.probe(&node).await, Liveness::Unknown, "{address}");
    }
}

#[tokio::test]
async fn an_error_that_is_no_refusal_says_nothing() {
    // Nobody can be connected to there; the kernel says so without asking anybody.
    let broadcast = "127.255.255.255:1";
    let error = TcpStream::connect(broadcast).await.unwrap_err();
    assert_ne!(error.kind(), io::ErrorKind::ConnectionRefused);
    let ping = Ping::new(SOON).refused_is_death(NonZeroU32::MIN);
    let node = on_this_host(node(broadcast, 1));
    assert_eq!(ping.probe(&node).await, Liveness::Unknown);
}

#[tokio::test]
async fn refusals_in_a_row_are_death_if_the_user_says_so() {
    let (_held, address) = deaf();
    let ping = Ping::new(SOON).refused_is_death(twice());
    let (one, other) = (
        on_this_host(node(address, 1)),
        on_this_host(node(address, 2)),
    );
    assert_eq!(ping.probe(&one).await, Liveness::Unknown);
    assert_eq!(
        ping.probe(&other).await,
        Liveness::Unknown,
        "another run has its own row"
    );
    assert!(is_dead(&ping.probe(&one).await));
    assert!(is_dead(&ping.probe(&one).await), "it stays dead");
}

#[tokio::test]
async fn an_accepted_connection_breaks_the_row() {
    let (socket, address) = deaf();
    let ping = Ping::new(SOON).refused_is_death(twice());
    let node = on_this_host(node(address, 1));
    assert_eq!(ping.probe(&node).await, Liveness::Unknown);
    let listener = socket.listen(8).unwrap();
    assert_eq!(ping.probe(&node).await, Liveness::Alive);
    drop(listener);
    assert_eq!(ping.probe(&node).await, Liveness::Unknown);
    assert!(is_dead(&ping.probe(&node).await));
}

#[tokio::test]
async fn the_managers_own_host_cannot_refuse_for_a_node_elsewhere() {
    let (_held, loopback) = deaf();
    let ping = Ping::new(SOON).refused_is_death(NonZeroU32::MIN);
    let anywhere = format!("0.0.0.0:{}", loopback.port());
    for address in [loopback.to_string(), anywhere] {
        let elsewhere = node(&address, 1);
        assert_eq!(ping.probe(&elsewhere).await, Liveness::Unknown, "{address}");
        let here = on_this_host(node(&address, 2));
        assert!(is_dead(&ping.probe(&here).await), "{address}");
    }
}

#[test]
fn a_ping_that_can_kill_says_so_at_once() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        drop(Ping::new(SOON));
        assert_eq!(log.text(), "");
        drop(Ping::new(SOON).refused_is_death(twice()));
    });
    assert!(log.text().contains("WARN"), "{}", log.text());
    assert!(log.text().contains("two copies"), "{}", log.text());
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("nobody panicked")).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panicked").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
