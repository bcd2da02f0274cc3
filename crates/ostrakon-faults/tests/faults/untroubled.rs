//! A proxy that nobody asked for trouble is a plain wire, and it ends when dropped.

use std::time::Duration;

use ostrakon_faults::{Direction, Mischief, Proxy};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};

use crate::peers::{Peers, assert_reset, echo_server, receive, receive_all, send, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_pass_unchanged_both_ways_and_are_counted() {
    let proxy = Proxy::to(echo_server().await).unwrap();
    let sent: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let (mut from, mut to) = client.split();
    let mut received = vec![0; sent.len()];

    let (wrote, read) =
        soon(async { tokio::join!(to.write_all(&sent), from.read_exact(&mut received)) }).await;
    wrote.unwrap();
    read.unwrap();
    assert!(sent == received);
    assert_eq!(proxy.bytes(Direction::ToTarget), 1_000_000);
    assert_eq!(proxy.bytes(Direction::ToClient), 1_000_000);
    assert_eq!(proxy.mischief(), Mischief::default());
}

#[tokio::test]
async fn half_close_passes_and_the_answer_still_arrives() {
    let (_proxy, _listener, mut peers) = Peers::connect().await;
    send(&mut peers.client, b"question").await;
    peers.client.shutdown().await.unwrap();
    let (question, end) = receive_all(&mut peers.server).await;
    assert_eq!(question, b"question");
    end.unwrap();

    send(&mut peers.server, b"answer").await;
    drop(peers.server);
    let (answer, end) = receive_all(&mut peers.client).await;
    assert_eq!(answer, b"answer");
    end.unwrap();
}

#[tokio::test]
async fn link_that_ended_in_order_still_delivers_what_its_sockets_hold() {
    let listener = TcpSocket::new_v4().unwrap();
    listener.set_recv_buffer_size(4 << 10).unwrap();
    listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = listener.listen(1).unwrap();
    let proxy = Proxy::to(listener.local_addr().unwrap()).unwrap();
    let mut peers = Peers::through(&proxy, &listener).await;
    peers.server.shutdown().await.unwrap();
    receive_all(&mut peers.client).await.1.unwrap();

    let sent = vec![7; 64 << 10];
    send(&mut peers.client, &sent).await;
    peers.client.shutdown().await.unwrap();
    let all_taken_over = async {
        while proxy.bytes(Direction::ToTarget) < sent.len() as u64 {
            tokio::task::yield_now().await;
        }
    };
    soon(all_taken_over).await;
    let (received, end) = receive_all(&mut peers.server).await;
    end.unwrap();
    assert!(received == sent);
}

#[tokio::test]
async fn reset_by_one_peer_reaches_the_other() {
    let (_proxy, _listener, mut peers) = Peers::connect().await;
    peers.client.set_zero_linger().unwrap();
    drop(peers.client);
    assert_reset(&mut peers.server).await;
}

#[tokio::test]
async fn receiver_that_does_not_read_blocks_the_sender() {
    const MORE_THAN_SOCKETS_BUFFER: usize = 64 << 20;
    let (proxy, _listener, mut peers) = Peers::connect().await;
    let flood = vec![7; MORE_THAN_SOCKETS_BUFFER];
    let write = peers.client.write_all(&flood);
    tokio::pin!(write);
    timeout(Duration::from_millis(300), &mut write)
        .await
        .expect_err("nobody reads, so the flood cannot all be sent");
    assert!(proxy.bytes(Direction::ToTarget) < MORE_THAN_SOCKETS_BUFFER as u64);

    let read = receive(&mut peers.server, MORE_THAN_SOCKETS_BUFFER);
    let (wrote, received) = soon(async { tokio::join!(write, read) }).await;
    wrote.unwrap();
    assert!(received == flood);
}

#[tokio::test]
async fn client_of_an_unreachable_target_is_reset() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Proxy::to(listener.local_addr().unwrap()).unwrap();
    drop(listener);
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_reset(&mut client).await;
}

#[tokio::test]
async fn connections_are_counted_and_can_be_awaited() {
    let (proxy, listener, _first) = Peers::connect().await;
    soon(proxy.connected(1)).await;
    timeout(Duration::ZERO, proxy.connected(2))
        .await
        .expect_err("there is one connection only");

    let second = async { Peers::through(&proxy, &listener).await };
    let ((), _second) = soon(async { tokio::join!(proxy.connected(2), second) }).await;
    assert_eq!(proxy.connections(), 2);
}

#[tokio::test]
async fn dropped_proxy_resets_its_connections_and_listens_no_more() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    let address = proxy.address();
    drop(proxy);
    assert_reset(&mut peers.client).await;
    assert_reset(&mut peers.server).await;
    soon(TcpStream::connect(address)).await.unwrap_err();
}
