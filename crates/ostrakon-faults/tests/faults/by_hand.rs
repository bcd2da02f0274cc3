//! Trouble that a test orders step by step.

use std::{
    io,
    time::{Duration, Instant},
};

use ostrakon_faults::{Direction, Mischief};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::peers::{Peers, assert_reset, receive, receive_all, send, soon};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn stall_holds_bytes_of_both_directions_and_loses_none() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.stall();
    send(&mut peers.client, b"to target").await;
    send(&mut peers.server, b"to client").await;
    soon(proxy.until(|mischief| mischief.stalls == 2)).await;
    assert_eq!(proxy.bytes(Direction::ToTarget), 0);
    assert_eq!(proxy.bytes(Direction::ToClient), 0);

    send(&mut peers.client, b", and more").await;
    proxy.pass();
    let received = receive(&mut peers.server, 19).await;
    assert_eq!(received, b"to target, and more");
    assert_eq!(receive(&mut peers.client, 9).await, b"to client");
}

#[tokio::test]
async fn stall_one_way_leaves_the_other_way_open() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.stall_towards(Direction::ToTarget);
    send(&mut peers.client, b"held").await;
    soon(proxy.until(|mischief| mischief.stalls == 1)).await;
    send(&mut peers.server, b"free").await;
    assert_eq!(receive(&mut peers.client, 4).await, b"free");
    assert_eq!(proxy.bytes(Direction::ToTarget), 0);

    proxy.pass();
    assert_eq!(receive(&mut peers.server, 4).await, b"held");
}

#[tokio::test]
async fn stall_accepts_new_connections_and_holds_their_bytes() {
    let (proxy, listener, _old) = Peers::connect().await;
    proxy.stall();
    let mut new = Peers::through(&proxy, &listener).await;
    send(&mut new.client, b"first words").await;
    soon(proxy.until(|mischief| mischief.stalls == 1)).await;
    assert_eq!(proxy.bytes(Direction::ToTarget), 0);

    proxy.pass();
    assert_eq!(receive(&mut new.server, 11).await, b"first words");
}

#[tokio::test]
async fn stall_holds_the_end_of_a_stream() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.stall();
    peers.client.shutdown().await.unwrap();
    soon(proxy.until(|mischief| mischief.stalls == 1)).await;
    let nothing_yet = peers.server.try_read(&mut [0]).unwrap_err();
    assert_eq!(nothing_yet.kind(), io::ErrorKind::WouldBlock);

    proxy.pass();
    let (received, end) = receive_all(&mut peers.server).await;
    assert_eq!(received, b"");
    end.unwrap();
}

#[tokio::test]
async fn cut_resets_both_peers_and_lets_them_connect_again() {
    let (proxy, listener, mut peers) = Peers::connect().await;
    proxy.cut();
    assert_reset(&mut peers.client).await;
    assert_reset(&mut peers.server).await;
    assert_eq!(proxy.mischief().cuts, 1);

    let mut again = Peers::through(&proxy, &listener).await;
    send(&mut again.client, b"hello").await;
    assert_eq!(receive(&mut again.server, 5).await, b"hello");
}

#[tokio::test]
async fn cut_ends_a_stalled_connection_without_forwarding_what_it_held() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.stall();
    send(&mut peers.client, b"lost").await;
    soon(proxy.until(|mischief| mischief.stalls == 1)).await;
    proxy.cut();
    proxy.pass();
    assert_reset(&mut peers.server).await;
    assert_eq!(proxy.bytes(Direction::ToTarget), 0);
}

#[tokio::test]
async fn refusing_resets_old_and_new_connections_until_passing_again() {
    let (proxy, listener, mut old) = Peers::connect().await;
    proxy.refuse();
    assert_reset(&mut old.client).await;
    // The reset may overtake the connecting side, which then fails to connect.
    if let Ok(mut new) = TcpStream::connect(proxy.address()).await {
        assert_reset(&mut new).await;
    }
    soon(proxy.connected(2)).await;
    assert_eq!(proxy.mischief().cuts, 2);

    proxy.pass();
    let mut new = Peers::through(&proxy, &listener).await;
    send(&mut new.client, b"welcome").await;
    assert_eq!(receive(&mut new.server, 7).await, b"welcome");
}

#[tokio::test]
async fn delay_holds_each_chunk_for_its_time() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.delay(Duration::from_millis(50));
    let start = Instant::now();
    for _ in 0..3 {
        send(&mut peers.client, b"late").await;
        assert_eq!(receive(&mut peers.server, 4).await, b"late");
    }
    assert!(start.elapsed() >= Duration::from_millis(150));
    assert_eq!(proxy.mischief().delays, 3);
}

#[tokio::test]
async fn passing_again_releases_a_delayed_chunk_at_once() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.delay(HOUR);
    send(&mut peers.client, b"late").await;
    soon(proxy.until(|mischief| mischief.delays == 1)).await;
    proxy.pass();
    assert_eq!(receive(&mut peers.server, 4).await, b"late");
}

#[tokio::test]
async fn throttle_keeps_to_its_rate() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.throttle(10_000);
    let start = Instant::now();
    send(&mut peers.client, &[7; 2_000]).await;
    assert_eq!(receive(&mut peers.server, 2_000).await, [7; 2_000]);
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn passing_again_ends_the_throttling_of_a_chunk_on_its_way() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.throttle(20);
    send(&mut peers.client, &[7; 10_000]).await;
    assert_eq!(receive(&mut peers.server, 1).await, [7]);
    proxy.pass();
    assert_eq!(receive(&mut peers.server, 9_999).await, [7; 9_999]);
}

#[tokio::test]
#[should_panic(expected = "use `stall`")]
async fn throttling_to_nothing_is_a_mistake() {
    let (proxy, _listener, _peers) = Peers::connect().await;
    proxy.throttle(0);
}

#[tokio::test]
async fn corruption_flips_one_bit_in_one_chunk_of_one_direction() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.corrupt_next(Direction::ToTarget);
    send(&mut peers.server, &[0; 100]).await;
    assert_eq!(receive(&mut peers.client, 100).await, [0; 100]);

    send(&mut peers.client, &[0; 100]).await;
    let received = receive(&mut peers.server, 100).await;
    let flipped: u32 = received.iter().map(|byte| byte.count_ones()).sum();
    assert_eq!(flipped, 1);

    send(&mut peers.client, &[0; 100]).await;
    assert_eq!(receive(&mut peers.server, 100).await, [0; 100]);
    let expected = Mischief {
        corruptions: 1,
        ..Mischief::default()
    };
    assert_eq!(proxy.mischief(), expected);
}

#[tokio::test]
async fn corruption_ordered_during_a_stall_hits_the_chunk_held_by_it() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.stall();
    send(&mut peers.client, b"held").await;
    soon(proxy.until(|mischief| mischief.stalls == 1)).await;
    proxy.corrupt_next(Direction::ToTarget);
    proxy.pass();
    assert_ne!(receive(&mut peers.server, 4).await, b"held");
    assert_eq!(proxy.mischief().corruptions, 1);
}

#[tokio::test]
async fn faults_ordered_twice_hit_two_chunks() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.corrupt_next(Direction::ToTarget);
    proxy.corrupt_next(Direction::ToTarget);
    for expected in [1, 2, 2] {
        send(&mut peers.client, b"chunk").await;
        receive(&mut peers.server, 5).await;
        assert_eq!(proxy.mischief().corruptions, expected);
    }
}

#[tokio::test]
async fn truncation_forwards_a_beginning_and_resets_the_connection() {
    let (proxy, listener, mut peers) = Peers::connect().await;
    let sent: Vec<u8> = (0..=255).collect();
    for truncated in 1..=5 {
        proxy.truncate_next(Direction::ToTarget);
        send(&mut peers.client, &sent).await;
        let (received, end) = receive_all(&mut peers.server).await;
        end.unwrap_err();
        assert!(received.len() < sent.len());
        assert!(sent.starts_with(&received));
        assert_reset(&mut peers.client).await;
        assert_eq!(proxy.mischief().truncations, truncated);
        peers = Peers::through(&proxy, &listener).await;
    }
    assert!(proxy.bytes(Direction::ToTarget) > 0);
    assert_eq!(proxy.mischief().cuts, 0);
}
