//! Both ends of connections through a proxy, in the hands of the test.
//!
//! Each step has a time limit, which only guards against waiting for ever: no test passes by
//! reaching it.

use std::{io, net::SocketAddr, time::Duration};

use ostrakon_faults::Proxy;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

pub(crate) struct Peers {
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
}

impl Peers {
    /// A listener, a proxy before it, and one connection through both.
    pub(crate) async fn connect() -> (Proxy, TcpListener, Self) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::to(listener.local_addr().unwrap()).unwrap();
        let peers = Self::through(&proxy, &listener).await;
        (proxy, listener, peers)
    }

    pub(crate) async fn through(proxy: &Proxy, listener: &TcpListener) -> Self {
        let client = soon(TcpStream::connect(proxy.address())).await.unwrap();
        let (server, _) = soon(listener.accept()).await.unwrap();
        Self { client, server }
    }
}

/// A server that sends back what it receives, for as long as the runtime lives.
pub(crate) async fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                // Broken connections are what the tests are about.
                if tokio::io::copy(&mut from, &mut to).await.is_ok() {
                    let _ = to.shutdown().await;
                }
            });
        }
    });
    address
}

pub(crate) async fn send(stream: &mut TcpStream, bytes: &[u8]) {
    soon(stream.write_all(bytes)).await.unwrap();
}

pub(crate) async fn receive(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    soon(stream.read_exact(&mut bytes)).await.unwrap();
    bytes
}

/// Everything up to the end of the connection, and how it ended.
pub(crate) async fn receive_all(stream: &mut TcpStream) -> (Vec<u8>, io::Result<()>) {
    let mut bytes = Vec::new();
    let end = soon(stream.read_to_end(&mut bytes)).await.map(drop);
    (bytes, end)
}

pub(crate) async fn assert_reset(stream: &mut TcpStream) {
    let (bytes, end) = receive_all(stream).await;
    assert_eq!(bytes, b"");
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

pub(crate) async fn soon<F: Future>(step: F) -> F::Output {
    timeout(Duration::from_secs(20), step)
        .await
        .expect("the step should not take this long")
}
