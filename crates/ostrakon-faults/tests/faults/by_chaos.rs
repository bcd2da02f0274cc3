//! Trouble at random, from a seed.

use std::time::Duration;

use ostrakon_faults::{Chaos, Mischief, Proxy};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::peers::{Peers, assert_reset, echo_server, receive, receive_all, send, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mild_chaos_loses_and_changes_nothing() {
    let proxy = Proxy::to(echo_server().await).unwrap();
    proxy.unleash(without_long_waits(Chaos::mild(1)));
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    for round in 0..200_u8 {
        send(&mut client, &[round; 64]).await;
        assert_eq!(receive(&mut client, 64).await, [round; 64]);
    }

    let done = proxy.mischief();
    assert!(done.delays > 0 && done.splits > 0 && done.stalls > 0);
    assert_eq!((done.cuts, done.corruptions, done.truncations), (0, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cutting_chaos_breaks_connections_but_changes_no_byte() {
    let proxy = Proxy::to(echo_server().await).unwrap();
    proxy.unleash(without_long_waits(Chaos::cutting(2)));
    for _ in 0..30 {
        let (echoed, expected) = echo_until_broken(&proxy).await;
        assert!(expected.starts_with(&echoed));
    }

    let done = proxy.mischief();
    assert!(done.cuts > 0 && done.truncations > 0);
    assert_eq!(done.corruptions, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn corrupting_chaos_flips_bits() {
    let proxy = Proxy::to(echo_server().await).unwrap();
    proxy.unleash(without_long_waits(Chaos::corrupting(3)));
    let mut changed = 0;
    for _ in 0..30 {
        let (echoed, expected) = echo_until_broken(&proxy).await;
        changed += echoed.iter().zip(&expected).filter(|(e, x)| e != x).count();
    }
    assert!(changed > 0);
    assert!(proxy.mischief().corruptions > 0);
}

#[tokio::test]
async fn same_seed_does_the_same_and_another_seed_does_not() {
    let once = lockstep(7).await;
    assert_eq!(once, lockstep(7).await);
    assert_ne!(once, lockstep(8).await);
}

#[tokio::test]
async fn split_chunk_arrives_in_pieces_but_complete() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.unleash(Chaos {
        split: 1.0,
        ..Chaos::none(4)
    });
    let mut reads = 0;
    for _ in 0..50 {
        send(&mut peers.client, b"in pieces").await;
        let mut received = Vec::new();
        while received.len() < 9 {
            soon(peers.server.read_buf(&mut received)).await.unwrap();
            reads += 1;
        }
        assert_eq!(received, b"in pieces");
    }
    assert_eq!(proxy.mischief().splits, 50);
    assert!(reads > 50, "no piece ever arrived alone");
}

#[tokio::test]
async fn cut_by_chaos_resets_both_peers_and_loses_the_chunk() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.unleash(Chaos {
        cut: 1.0,
        ..Chaos::none(5)
    });
    send(&mut peers.client, b"lost").await;
    assert_reset(&mut peers.client).await;
    assert_reset(&mut peers.server).await;
    assert_eq!(proxy.mischief().cuts, 1);
}

#[tokio::test]
async fn calm_releases_a_stalled_chunk_unharmed() {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.unleash(Chaos {
        stall: 1.0,
        corrupt: 1.0,
        longest_stall: Duration::from_secs(1_000_000),
        ..Chaos::none(6)
    });
    send(&mut peers.client, b"late").await;
    soon(proxy.until(|mischief| mischief.stalls == 1)).await;
    proxy.calm();
    assert_eq!(receive(&mut peers.server, 4).await, b"late");

    let expected = Mischief {
        stalls: 1,
        ..Mischief::default()
    };
    assert_eq!(proxy.mischief(), expected);
}

fn without_long_waits(chaos: Chaos) -> Chaos {
    Chaos {
        longest_stall: Duration::from_millis(20),
        ..chaos
    }
}

/// Sends messages through an echo server until the connection breaks: what came back, and what
/// would have come back over a good line.
async fn echo_until_broken(proxy: &Proxy) -> (Vec<u8>, Vec<u8>) {
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let (mut echoed, mut sent) = (Vec::new(), Vec::new());
    for round in 0..=u8::MAX {
        sent.extend([round; 32]);
        if soon(client.write_all(&[round; 32])).await.is_err() {
            break;
        }
        let mut message = [0; 32];
        if soon(client.read_exact(&mut message)).await.is_err() {
            break;
        }
        echoed.extend(message);
    }
    let (rest, _) = if echoed.len() < sent.len() {
        receive_all(&mut client).await
    } else {
        (Vec::new(), Ok(()))
    };
    echoed.extend(rest);
    (echoed, sent)
}

/// One message at a time in one direction, so that each message is one chunk.
async fn lockstep(seed: u64) -> (Vec<u8>, Mischief) {
    let (proxy, _listener, mut peers) = Peers::connect().await;
    proxy.unleash(Chaos {
        delay: 0.2,
        split: 0.2,
        corrupt: 0.2,
        ..Chaos::none(seed)
    });
    let mut received = Vec::new();
    for round in 0..100 {
        send(&mut peers.client, &[round; 32]).await;
        received.extend(receive(&mut peers.server, 32).await);
    }
    (received, proxy.mischief())
}
