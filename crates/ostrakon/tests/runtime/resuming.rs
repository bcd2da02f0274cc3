//! Streams that go on after their entity has ended in the middle.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use futures_util::StreamExt;
use ostrakon::{
    AskError, EntityId, EntityStream, Node, Reply, StreamError, StreamReply, TellError, entity,
};
use tokio::time::Instant;

/// How many numbers there are.
const ALL: u64 = 95;

/// Tells numbers, a few at a time, and falls silent before the last of them.
#[derive(Default)]
struct Forgetful;

#[entity(kind = "forgetful")]
impl Forgetful {
    async fn numbers(&mut self, from: u64, a_time: u64, reply: StreamReply<u64>) {
        for number in from..ALL.min(from + a_time) {
            if reply.send(number).await.is_err() {
                return;
            }
        }
        if from + a_time >= ALL {
            reply.finish().await;
        }
    }

    /// Says nothing for a while.
    async fn quiet(&mut self, reply: StreamReply<u64>) {
        tokio::time::sleep(Duration::from_secs(20)).await;
        drop(reply);
    }
}

impl ForgetfulRef {
    async fn some(&self, from: u64, a_time: u64) -> Result<EntityStream<u64>, AskError> {
        let message = |reply| ForgetfulMessage::Numbers {
            from,
            a_time,
            reply,
            reply_: Reply::ignored(),
        };
        self.as_ref().stream(message).await
    }

    async fn none(&self) -> Result<EntityStream<u64>, AskError> {
        let message = |reply| ForgetfulMessage::Quiet {
            reply,
            reply_: Reply::ignored(),
        };
        self.as_ref().stream(message).await
    }
}

async fn node() -> Node {
    let node = Node::builder("node-1").host::<Forgetful>();
    node.start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_stream_goes_on_where_it_was() {
    let node = node().await;
    let forgetful = node.entity::<Forgetful>("a");
    let opened = AtomicU64::new(0);
    let open = |from| {
        opened.fetch_add(1, Ordering::Relaxed);
        forgetful.some(from, 10)
    };
    let numbers = EntityStream::resuming(0, open, |from, number| *from = number + 1);
    let numbers: Vec<_> = numbers.into_stream().map(Result::unwrap).collect().await;
    assert_eq!(numbers, (0..ALL).collect::<Vec<_>>());
    assert_eq!(opened.into_inner(), 10);
}

#[tokio::test(start_paused = true)]
async fn after_its_end_there_is_nothing_more() {
    let node = node().await;
    let forgetful = node.entity::<Forgetful>("a");
    let open = |from| forgetful.some(from, ALL);
    let mut numbers = EntityStream::resuming(ALL - 1, open, |from, number| *from = number + 1);
    assert_eq!(numbers.next().await, Some(Ok(ALL - 1)));
    assert_eq!(numbers.next().await, None);
    assert_eq!(numbers.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_gets_nowhere_ends_within_its_patience() {
    let node = node().await;
    let forgetful = node.entity::<Forgetful>("a");
    let opened = AtomicU64::new(0);
    let open = |from| {
        opened.fetch_add(1, Ordering::Relaxed);
        forgetful.some(from, 0)
    };
    let numbers = EntityStream::resuming(0, open, |from, number| *from = number + 1);
    let mut numbers = numbers.patience(Duration::from_secs(10));
    let began = Instant::now();
    assert_eq!(numbers.next().await, Some(Err(StreamError::Interrupted)));
    let took = began.elapsed();
    let bound = Duration::from_secs(10)..Duration::from_secs(12);
    assert!(bound.contains(&took), "{took:?}");
    assert_eq!(numbers.next().await, None);
    drop(numbers);
    // It has doubled its pauses from 10 ms to a second.
    assert!((10..=20).contains(&opened.into_inner()));
}

#[tokio::test(start_paused = true)]
async fn patience_begins_anew_with_every_stream_that_has_lasted() {
    let node = node().await;
    let forgetful = node.entity::<Forgetful>("a");
    let opened = AtomicU64::new(0);
    let open = async |from| match opened.fetch_add(1, Ordering::Relaxed) {
        0..5 => forgetful.none().await,
        _ => forgetful.some(from, ALL).await,
    };
    let numbers = EntityStream::resuming(0, open, |from, number| *from = number + 1);
    let mut numbers = numbers.patience(Duration::from_secs(10));
    let began = Instant::now();
    assert_eq!(numbers.next().await, Some(Ok(0)));
    assert!(began.elapsed() >= Duration::from_secs(100));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_asked_is_not_asked_again() {
    let node = node().await;
    let gone = node.entity::<Forgetful>("a");
    node.leave().await.unwrap();
    let began = Instant::now();
    let open = |from| gone.some(from, 1);
    let mut numbers = EntityStream::resuming(0, open, |from, number| *from = number + 1);
    let stopped = TellError::Stopped {
        kind: "forgetful",
        id: EntityId::new("a").unwrap(),
    };
    let error = StreamError::NotOpened(AskError::NotSent(stopped));
    assert_eq!(numbers.next().await, Some(Err(error)));
    assert_eq!(numbers.next().await, None);
    assert_eq!(began.elapsed(), Duration::ZERO);
}
