//! The entity that most scenarios use: a number that can be changed, read and watched.

use std::{
    pin::Pin,
    task::{Context as Task, Poll},
};

use futures_core::Stream;
use ostrakon::{Context, Hosting, Node, Reply, entity};
use tokio::sync::mpsc;

use crate::Setup;

/// What a counter is set to when one of its watchers goes away.
pub(crate) const WATCHER_GONE: i64 = -1;

#[derive(Default)]
pub(crate) struct Counter {
    value: i64,
    watchers: Vec<mpsc::UnboundedSender<i64>>,
}

#[entity(kind = "counter")]
impl Counter {
    pub(crate) async fn add(&mut self, n: i64) -> i64 {
        self.become_value(self.value + n);
        self.value
    }

    pub(crate) async fn get(&self) -> i64 {
        self.value
    }

    pub(crate) async fn set(&mut self, value: i64) {
        self.become_value(value);
    }

    /// The value now, and each one after it.
    pub(crate) fn changes(&mut self, ctx: &Context<Self>) -> impl Stream<Item = i64> {
        let (watcher, values) = mpsc::unbounded_channel();
        watcher.send(self.value).unwrap();
        self.watchers.push(watcher);
        let counter = ctx.me();
        Changes { values, counter }
    }

    /// Answers, and is gone then.
    pub(crate) async fn retire(&mut self, ctx: &mut Context<Self>) {
        ctx.stop();
    }

    pub(crate) async fn crash(&mut self) {
        panic!("as told");
    }

    fn become_value(&mut self, value: i64) {
        self.value = value;
        self.watchers.retain(|watcher| watcher.send(value).is_ok());
    }
}

/// A node that hosts counters.
pub(crate) async fn counters(setup: Setup, hosting: Hosting) -> Node {
    let builder = Node::builder("solo").host_as::<Counter>(hosting);
    setup(builder).start().await.unwrap()
}

/// Its end is made visible in the counter itself.
struct Changes {
    values: mpsc::UnboundedReceiver<i64>,
    counter: CounterRef,
}

impl Stream for Changes {
    type Item = i64;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Option<i64>> {
        self.values.poll_recv(cx)
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let gone = CounterMessage::Set {
            value: WATCHER_GONE,
            reply: Reply::ignored(),
        };
        // Refused only by a node that is leaving, where nobody looks any more.
        drop(self.counter.as_ref().try_tell(gone));
    }
}
