//! Those who are connected, and one of them does not behave.

use std::time::Duration;

use ostrakon_control::{Conversation, Ended, FrameError, Framed, FromManager, FromNode, Mouth};
use ostrakon_core::Index;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    sync::mpsc,
    task::JoinHandle,
    time::Instant,
};

const PATIENCE: Duration = Duration::from_secs(15);

/// A manager's side of a conversation.
struct Side {
    mouth: Mouth<FromManager>,
    heard: mpsc::Receiver<FromNode>,
    over: JoinHandle<Ended>,
}

/// A manager's side, and the bytes that come out of it and go into it.
fn manager(ears: usize) -> (Side, DuplexStream) {
    let (near, far) = tokio::io::duplex(4096);
    let (conversation, mouth) = Conversation::new(Box::new(near));
    let (ears, heard) = mpsc::channel(ears);
    let over = tokio::spawn(async move {
        let curse = FromNode::Follow {
            behind: Index::new(666),
        };
        let polite = |words| {
            if words == curse {
                return Err("a curse".to_owned());
            }
            Ok(words)
        };
        conversation.run(PATIENCE, &ears, polite).await
    });
    (Side { mouth, heard, over }, far)
}

fn frame(words: &FromNode) -> Vec<u8> {
    let words = rmp_serde::to_vec_named(words).unwrap();
    let length = u32::try_from(words.len()).unwrap().to_be_bytes();
    [&length[..], &words].concat()
}

#[tokio::test]
async fn what_is_said_on_one_side_is_heard_on_the_other_in_order() {
    let (near, far) = tokio::io::duplex(4096);
    let (manager, to_node) = Conversation::<FromManager>::new(Box::new(near));
    let (node, to_manager) = Conversation::<FromNode>::new(Box::new(far));
    let (ears_of_manager, mut heard_by_manager) = mpsc::channel(9);
    let (ears_of_node, mut heard_by_node) = mpsc::channel(9);
    tokio::spawn(async move {
        manager
            .run(PATIENCE, &ears_of_manager, |words: FromNode| Ok(words))
            .await
    });
    let node = async move {
        node.run(PATIENCE, &ears_of_node, |words: FromManager| Ok(words))
            .await
    };
    let node = tokio::spawn(node);
    let behind = Index::new(7);
    let entries = FromManager::Entries {
        behind,
        entries: Vec::new(),
    };
    to_node.say(FromManager::Ping);
    to_node.say_framed(&Framed::new(&entries).unwrap());
    to_manager.say(FromNode::Follow { behind });
    assert_eq!(heard_by_node.recv().await, Some(FromManager::Ping));
    assert_eq!(heard_by_node.recv().await, Some(entries));
    assert_eq!(
        heard_by_manager.recv().await,
        Some(FromNode::Follow { behind })
    );
    drop(to_node);
    let ended = node.await.unwrap();
    assert!(
        matches!(ended, Ended::Frame(FrameError::Broken(_))),
        "{ended}"
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_is_silent_is_given_up() {
    let (side, _far) = manager(9);
    let began = Instant::now();
    let ended = side.over.await.unwrap();
    assert!(matches!(ended, Ended::Silence(_)), "{ended}");
    assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_frame_that_never_ends_is_given_up() {
    let (side, mut far) = manager(9);
    far.write_all(&[0, 0, 1, 0, 7]).await.unwrap();
    let dripping = tokio::spawn(async move {
        while far.write_all(&[7]).await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let ended = side.over.await.unwrap();
    assert!(matches!(ended, Ended::Silence(_)), "{ended}");
    dripping.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_take_a_frame_is_given_up() {
    let (side, mut far) = manager(9);
    let reason = "x".repeat(10_000);
    let refused = ostrakon_core::ToRegion::Refused { nonce: 1, reason };
    side.mouth.say(FromManager::Say(refused));
    // It speaks, but does not listen.
    let speaking = tokio::spawn(async move {
        while far.write_all(&frame(&FromNode::Pong)).await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let mut heard = side.heard;
    let hearing = tokio::spawn(async move { while heard.recv().await.is_some() {} });
    let ended = side.over.await.unwrap();
    assert!(matches!(ended, Ended::Stuck(_)), "{ended}");
    speaking.await.unwrap();
    hearing.await.unwrap();
}

#[tokio::test]
async fn whoever_lets_too_much_wait_is_given_up_and_nobody_waits_for_it() {
    let (side, _far) = manager(9);
    // Nothing is lost while it keeps up.
    for _ in 0..1024 {
        side.mouth.say(FromManager::Ping);
    }
    assert_eq!(side.mouth.waiting(), 1024);
    assert!(!side.over.is_finished());
    side.mouth.say(FromManager::Ping);
    let ended = side.over.await.unwrap();
    assert!(matches!(ended, Ended::Overrun(1024)), "{ended}");
    // What is said now is said to nobody.
    side.mouth.say(FromManager::Ping);
}

#[tokio::test]
async fn whoever_says_what_it_must_not_say_is_not_heard_any_more() {
    let (mut side, mut far) = manager(9);
    let curse = FromNode::Follow {
        behind: Index::new(666),
    };
    for words in [&FromNode::Pong, &curse, &FromNode::Pong] {
        far.write_all(&frame(words)).await.unwrap();
    }
    let ended = side.over.await.unwrap();
    assert!(
        matches!(&ended, Ended::OutOfTurn(reason) if reason == "a curse"),
        "{ended}"
    );
    assert_eq!(side.heard.recv().await, Some(FromNode::Pong));
    assert_eq!(side.heard.recv().await, None);
}

#[tokio::test]
async fn whoever_says_something_unreadable_is_given_up() {
    let cut = &frame(&FromNode::Pong)[..6];
    for (bytes, reason) in [
        (&[0, 0, 0, 1, 0xc1][..], "it says something unreadable"),
        (&[0, 0, 0, 0], "it says something unreadable"),
        (
            &[0xff; 8],
            "a frame of 4294967295 bytes is announced, and at most 8388608 are allowed",
        ),
        // A frame that a manager might send, but no node.
        (&[1, 0, 0, 0], "a frame of 16777216 bytes is announced"),
        (cut, "the connection broke"),
        (
            b"GET / HTTP/1.1\r\n\r\n",
            "a frame of 1195725856 bytes is announced",
        ),
    ] {
        let (side, mut far) = manager(9);
        far.write_all(bytes).await.unwrap();
        drop(far);
        let ended = side.over.await.unwrap().to_string();
        assert!(ended.contains(reason), "{ended}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_never_stops_speaking_is_read_more_slowly_and_nothing_of_it_is_lost() {
    let (mut side, mut far) = manager(9);
    let flooding = tokio::spawn(async move {
        for number in 0..20_000 {
            let behind = Index::new(number + 1000);
            far.write_all(&frame(&FromNode::Follow { behind }))
                .await
                .unwrap();
        }
        far
    });
    let began = Instant::now();
    for number in 0..20_000 {
        let behind = Index::new(number + 1000);
        assert_eq!(side.heard.recv().await, Some(FromNode::Follow { behind }));
    }
    // A burst of 4,096, and as many each second.
    let seconds = began.elapsed().as_secs_f64();
    assert!((3.8..4.0).contains(&seconds), "{seconds}");
    let mut far = flooding.await.unwrap();
    side.mouth.say(FromManager::Ping);
    assert!(far.read_u32().await.is_ok(), "it can still be spoken to");
}
