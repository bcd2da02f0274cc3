//! An entity with which everything goes wrong that a caller can meet, and its stream that counts what is taken from it.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context as Task, Poll},
};

use futures_core::Stream;
use ostrakon::{Context, Failure, TraceContext, entity};
use serde_json::Value;
use tokio::sync::Notify;

/// What the test and its entities share.
#[derive(Default)]
pub(crate) struct Hands {
    /// An entity has begun to hold on.
    pub(crate) holding: Notify,
    /// It may let go.
    pub(crate) release: Notify,
    /// A stream was dropped.
    pub(crate) dropped: Notify,
    /// How many items were taken from a stream.
    pub(crate) taken: AtomicU64,
}

pub(crate) struct Trouble {
    pub(crate) hands: Arc<Hands>,
    pub(crate) notes: Vec<String>,
}

#[entity(kind = "trouble")]
impl Trouble {
    #[start]
    async fn begin(&mut self, ctx: &Context<Self>) -> Result<(), Failure> {
        match ctx.id().as_str() {
            "broken" => Err("its disk is gone".into()),
            _ => Ok(()),
        }
    }

    /// Answers when the test says so.
    async fn hold(&mut self) -> String {
        self.hands.holding.notify_one();
        self.hands.release.notified().await;
        "released".to_owned()
    }

    async fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    async fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    async fn panic(&self) {
        panic!("it was asked to");
    }

    /// No JSON has such keys.
    async fn matrix(&self) -> HashMap<(u8, u8), u8> {
        HashMap::from([((1, 2), 3)])
    }

    async fn echo(&self, value: Value) -> Value {
        value
    }

    async fn name(&self, ctx: &Context<Self>) -> String {
        ctx.id().to_string()
    }

    async fn exact(&self, number: u128) -> u128 {
        number
    }

    /// Names that Rust keeps for itself.
    async fn r#match(&self, r#type: u8, caller: Option<u8>) -> (u8, Option<u8>) {
        (r#type, caller)
    }

    async fn trace(&self) -> Option<String> {
        TraceContext::current().map(|trace| trace.to_string())
    }

    async fn node(&self, ctx: &Context<Self>) -> String {
        ctx.node().name().to_string()
    }

    async fn text(&self, length: usize) -> String {
        "x".repeat(length)
    }

    /// So many texts, made as fast as they are taken.
    fn texts(&self, number: u64, length: usize) -> impl Stream<Item = String> {
        Texts {
            hands: Arc::clone(&self.hands),
            left: number,
            length,
        }
    }

    /// One item, and then nothing for ever.
    fn forever(&self) -> impl Stream<Item = u8> {
        Once(Some(1), Arc::clone(&self.hands))
    }
}

struct Texts {
    hands: Arc<Hands>,
    left: u64,
    length: usize,
}

impl Stream for Texts {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<Option<String>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        self.hands.taken.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some("x".repeat(self.length)))
    }
}

struct Once(Option<u8>, Arc<Hands>);

impl Stream for Once {
    type Item = u8;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<Option<u8>> {
        self.0
            .take()
            .map_or(Poll::Pending, |item| Poll::Ready(Some(item)))
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        self.1.dropped.notify_one();
    }
}
