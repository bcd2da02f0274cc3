//! Answers that are streams: what they bring, in which order, and how both sides learn of an end.

use std::time::Duration;

use futures_core::Stream;
use futures_util::{TryStreamExt, future::join_all, stream};
use ostrakon::{EntityStream, Hosting, Node, entity};

use crate::{
    Setup,
    counter::{Counter, WATCHER_GONE, counters},
};

twice! {
    a_watcher_sees_every_change,
    the_producer_learns_that_its_consumer_has_gone,
    a_consumer_that_has_had_enough_ends_the_stream,
    five_hundred_items_arrive_in_order,
    five_streams_run_side_by_side,
    streams_can_be_opened_again_and_again,
}

async fn take<T>(stream: &mut EntityStream<T>, items: usize) -> Vec<T> {
    let mut taken = Vec::new();
    while taken.len() < items {
        taken.push(stream.next().await.unwrap().unwrap());
    }
    taken
}

// Shardcake, sharding suite: changes of c1 while +1 −1 +1 +1 are sent after the first item are exactly 0, 1, 0, 1, 2.
async fn a_watcher_sees_every_change(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let counter = node.entity::<Counter>("c1");
    let mut changes = counter.changes().await.unwrap();
    let mut seen = take(&mut changes, 1).await;
    for step in [1, -1, 1, 1] {
        counter.tell().add(step).await.unwrap();
    }
    seen.extend(take(&mut changes, 4).await);
    assert_eq!(seen, [0, 1, 0, 1, 2]);
    node.leave().await.unwrap();
}

// Shardcake, sharding suite: interrupting the consumer after the first item runs the stream's finalizer in the entity (−1).
async fn the_producer_learns_that_its_consumer_has_gone(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let counter = node.entity::<Counter>("c1");
    let mut changes = counter.changes().await.unwrap();
    assert_eq!(take(&mut changes, 1).await, [0]);
    assert_eq!(counter.get().await, Ok(0), "not before it goes");
    drop(changes);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(counter.get().await, Ok(WATCHER_GONE));
    node.leave().await.unwrap();
}

// Shardcake, later suite: a stream that is left after five items while increments go on runs its finalizer too.
async fn a_consumer_that_has_had_enough_ends_the_stream(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let counter = node.entity::<Counter>("c1");
    let mut changes = counter.changes().await.unwrap();
    for _ in 0..100 {
        counter.tell().add(1).await.unwrap();
    }
    assert_eq!(take(&mut changes, 5).await, [0, 1, 2, 3, 4]);
    assert_eq!(counter.get().await, Ok(100));
    drop(changes);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(counter.get().await, Ok(WATCHER_GONE));
    node.leave().await.unwrap();
}

/// Streams numbers.
#[derive(Default)]
struct Source;

#[entity(kind = "source")]
impl Source {
    fn numbers(&self, from: u32, to: u32) -> impl Stream<Item = u32> + use<> {
        stream::iter(from..to)
    }
}

async fn source(setup: Setup) -> (Node, SourceRef) {
    let builder = setup(Node::builder("solo").host::<Source>());
    let node = builder.start().await.unwrap();
    let source = node.entity::<Source>("s");
    (node, source)
}

// Casty, streams: 500 items arrive complete and in their order.
async fn five_hundred_items_arrive_in_order(setup: Setup) {
    let (node, source) = source(setup).await;
    let stream = source.numbers(0, 500).await.unwrap();
    let items: Vec<u32> = stream.try_collect().await.unwrap();
    assert_eq!(items, (0..500).collect::<Vec<_>>());
    node.leave().await.unwrap();
}

// Casty, streams: five concurrent streams each keep their own items and order.
async fn five_streams_run_side_by_side(setup: Setup) {
    let (node, source) = source(setup).await;
    let mut streams = Vec::new();
    for n in 0..5 {
        let stream = source.numbers(n * 1_000, n * 1_000 + 100).await;
        streams.push(stream.unwrap());
    }
    for (n, stream) in (0..).zip(&mut streams) {
        assert_eq!(take(stream, 1).await, [n * 1_000], "all five are open");
    }
    let rest = streams.into_iter().map(TryStreamExt::try_collect);
    let rest: Vec<Result<Vec<u32>, _>> = join_all(rest).await;
    for (n, items) in (0..).zip(rest) {
        let expected = (n * 1_000 + 1..n * 1_000 + 100).collect();
        assert_eq!(items, Ok(expected));
    }
    node.leave().await.unwrap();
}

// Casty, streams: cycles of opening a stream, reading it to its end and opening the next keep working.
async fn streams_can_be_opened_again_and_again(setup: Setup) {
    let (node, source) = source(setup).await;
    for cycle in 0..50 {
        let stream = source.numbers(cycle, cycle + 40).await.unwrap();
        let items: Vec<u32> = stream.try_collect().await.unwrap();
        assert_eq!(items, (cycle..cycle + 40).collect::<Vec<_>>());
    }
    node.leave().await.unwrap();
}
