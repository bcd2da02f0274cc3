//! Strangers that do not get through the handshake.

use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use super::*;
use crate::handshakes::{log::Log, stranger::OPENING};

#[tokio::test]
async fn garbage_is_shown_the_door() {
    let log = Log::listen();
    let victim = Victim::new().await;
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..200 {
        let mut garbage = vec![0; random.usize(12..2000)];
        random.fill(&mut garbage);
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(&garbage).await;
        assert_eq!(stranger.until_closed().await, 0, "round {round}");
    }
    for text in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "OSTRAKAN, or so"] {
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(text.as_bytes()).await;
        assert_eq!(stranger.until_closed().await, 0, "{text}");
    }
    log.says(&["a connection is refused", "it does not begin as one"])
        .await;
    // Who knows the beginning gets no further with garbage.
    for _ in 0..200 {
        let mut garbage = vec![0; random.usize(4..2000)];
        random.fill(&mut garbage);
        let length = garbage.len() as u32 - 4;
        garbage[..4].copy_from_slice(&length.to_le_bytes());
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(&[&OPENING[..], &garbage].concat()).await;
        assert_eq!(stranger.until_closed().await, 0);
    }
    log.says(&["a connection is refused", "it says something unreadable"])
        .await;
    // Nor with garbage in place of frames.
    for _ in 0..200 {
        let mut garbage = vec![0; random.usize(1..2000)];
        random.fill(&mut garbage);
        let mut stranger = victim.enter().await;
        stranger.say(&garbage).await;
        stranger.fall_silent().await;
        stranger.until_closed().await;
    }
    victim.leave().await;
}

#[tokio::test]
async fn a_handshake_that_is_cut_anywhere_is_no_handshake() {
    let victim = Victim::new().await;
    let opening = Hello::to("node-1").opening();
    for length in 0..opening.len() {
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(&opening[..length]).await;
        stranger.fall_silent().await;
        assert_eq!(stranger.until_closed().await, 0, "after {length} bytes");
    }
    // It was welcome, but is not ready.
    let mut stranger = Stranger::dial(victim.address).await;
    stranger.introduce(&Hello::to("node-1")).await.welcome();
    stranger.fall_silent().await;
    assert_eq!(stranger.until_closed().await, 0);
    victim.leave().await;
}

#[tokio::test]
async fn whoever_speaks_too_slowly_is_shown_the_door() {
    let log = Log::listen();
    let patience = Duration::from_millis(200);
    let victim = Victim::within(Limits::default().handshake(patience)).await;
    let began = Instant::now();
    let slow = (0..8).map(|_| async {
        let stream = TcpStream::connect(victim.address).await.unwrap();
        let (mut read, mut write) = stream.into_split();
        let speaks = async {
            for byte in Hello::to("node-1").opening() {
                // So slow is this one that it would take seconds.
                tokio::time::sleep(Duration::from_millis(20)).await;
                if write.write_all(&[byte]).await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let mut byte = [0];
        tokio::select! {
            read = read.read(&mut byte) => assert!(matches!(read, Ok(0) | Err(_))),
            () = speaks => {}
        }
    });
    let all = futures_util::future::join_all(slow);
    tokio::time::timeout(SOON, all).await.unwrap();
    assert!(began.elapsed() >= patience && began.elapsed() < Duration::from_secs(3));
    log.says(&["a connection is refused", "took longer than 200ms"])
        .await;
    // Silence is no better.
    let mut silent = Stranger::dial(victim.address).await;
    assert_eq!(silent.until_closed().await, 0);
    victim.leave().await;
}

#[tokio::test]
async fn a_handshake_has_a_bound() {
    let log = Log::listen();
    let victim = Victim::new().await;
    for length in [64 * 1024 + 1, u32::MAX] {
        let mut stranger = Stranger::dial(victim.address).await;
        stranger
            .say(&[&OPENING[..], &length.to_le_bytes()].concat())
            .await;
        assert_eq!(stranger.until_closed().await, 0);
    }
    log.says(&["refused", "it says more than a handshake needs"])
        .await;
    // As deep as it can be within the bound.
    let nested = vec![0x91; 60_000];
    let length = nested.len() as u32;
    let mut stranger = Stranger::dial(victim.address).await;
    stranger
        .say(&[&OPENING[..], &length.to_le_bytes(), &nested].concat())
        .await;
    assert_eq!(stranger.until_closed().await, 0);
    let mut unknown = vec![0x81, 0xA1, b'x'];
    unknown.extend_from_slice(&nested);
    let length = unknown.len() as u32;
    let mut stranger = Stranger::dial(victim.address).await;
    stranger
        .say(&[&OPENING[..], &length.to_le_bytes(), &unknown].concat())
        .await;
    assert_eq!(stranger.until_closed().await, 0);
    victim.leave().await;
}

#[tokio::test]
async fn every_bit_of_a_handshake_may_be_flipped() {
    let victim = Victim::new().await;
    let mut opening = Hello::to("node-1").opening();
    for bit in 0..opening.len() * 8 {
        opening[bit / 8] ^= 1 << (bit % 8);
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(&opening).await;
        stranger.fall_silent().await;
        stranger.until_closed().await;
        opening[bit / 8] ^= 1 << (bit % 8);
    }
    victim.leave().await;
}
