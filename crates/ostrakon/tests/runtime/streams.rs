//! Streaming replies keep pace with their consumer and end on both sides.

use std::time::Duration;

use futures_util::StreamExt;
use ostrakon::{Hosting, Node, StreamError};

use crate::probe::{Do, World, probe, sum};

async fn nodes(world: &std::sync::Arc<World>) -> [Node; 2] {
    let plain = world.node(Hosting::default()).await;
    let builder = world.builder(Hosting::default()).force_serialization();
    [plain, builder.start().await.unwrap()]
}

#[tokio::test]
async fn items_arrive_in_order_and_the_end_is_seen() {
    let world = World::new();
    for node in nodes(&world).await {
        let entity = probe(&node, "a");
        let stream = entity.stream(|reply| Do::Numbers(1_000, reply));
        let items: Vec<_> = stream.await.unwrap().collect().await;
        let expected: Vec<_> = (0..1_000).map(Ok).collect();
        assert_eq!(items, expected);
    }
}

#[tokio::test]
async fn the_entity_handles_other_messages_while_it_streams() {
    let world = World::new();
    for node in nodes(&world).await {
        let entity = probe(&node, "a");
        let mut stream = entity
            .stream(|reply| Do::Numbers(1_000, reply))
            .await
            .unwrap();
        assert_eq!(stream.next().await, Some(Ok(0)));
        assert_eq!(sum(&entity).await.unwrap(), 0);
        assert_eq!(stream.next().await, Some(Ok(1)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_consumer_slows_the_producer() {
    let world = World::new();
    for node in nodes(&world).await {
        let name = if world.count("a: sent 0") == 0 {
            "a"
        } else {
            "b"
        };
        let mut stream = probe(&node, name).stream(Do::Endless).await.unwrap();
        // Time moves only when every task waits: the producer has come as far as it can.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ahead = world
            .events()
            .iter()
            .filter(|e| e.starts_with(&format!("{name}: sent")))
            .count();
        assert!((1..=64).contains(&ahead), "{ahead} items ahead");
        for n in 0..100 {
            assert_eq!(stream.next().await, Some(Ok(n)));
        }
        drop(stream);
        world.seen(&format!("{name}: consumer gone"), 1).await;
    }
}

#[tokio::test]
async fn an_entity_that_dies_in_the_middle_is_not_taken_for_done() {
    let world = World::new();
    for node in nodes(&world).await {
        let mut stream = probe(&node, "a").stream(Do::Half).await.unwrap();
        assert_eq!(stream.next().await, Some(Ok(1)));
        assert_eq!(stream.next().await, Some(Err(StreamError::Interrupted)));
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn a_consumer_that_leaves_ends_the_work_in_the_background() {
    let world = World::new();
    for node in nodes(&world).await {
        let entity = probe(&node, "a");
        let mut stream = entity
            .stream(|reply| Do::Numbers(i64::MAX, reply))
            .await
            .unwrap();
        assert_eq!(stream.next().await, Some(Ok(0)));
        drop(stream);
        // The background task keeps the entity from being idle; stopping waits for its end.
        entity.tell(Do::Stop).await.unwrap();
        assert_eq!(sum(&entity).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_stream_from_an_entity_that_cannot_start_is_an_error() {
    let world = World::new();
    world
        .failing_starts
        .store(2, std::sync::atomic::Ordering::SeqCst);
    for node in nodes(&world).await {
        let opened = probe(&node, "a")
            .stream(|reply| Do::Numbers(1, reply))
            .await;
        let error = opened.err().expect("cannot start");
        assert!(error.is_retryable(), "{error}");
    }
}
