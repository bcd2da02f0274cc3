//! The limit: what tokio alone can do, with nothing around it.
//!
//! An entity is a task that reads a tokio channel and answers through a oneshot.
//! For memory the limit is a plain map from id to state, which can hold entities
//! but not run them.

use std::collections::HashMap;
use std::future::Future;
use std::ops::Range;

use anyhow::{Context, Result};
use tokio::sync::{mpsc, oneshot};

use super::{Contender, Counter, Crowd, Threads, id_of};
use crate::measure::Runtime;

/// Tasks behind channels that hold 64 messages.
pub(crate) type Bounded = Limit<mpsc::Sender<Message>>;
/// Tasks behind channels that hold any number of messages.
pub(crate) type Unbounded = Limit<mpsc::UnboundedSender<Message>>;

const BOUND: usize = 64;

/// Tasks behind tokio channels, found through a map.
pub(crate) struct Limit<Q> {
    by_id: HashMap<String, Q>,
}

/// What a task receives.
pub(crate) enum Message {
    Tell(u64),
    Ask(u64, oneshot::Sender<u64>),
}

/// The two kinds of tokio channel, as one.
pub(crate) trait Queue: Clone + Send + Sync + 'static {
    type Inbox: Send + 'static;

    fn open() -> (Self, Self::Inbox);
    fn push(&self, message: Message) -> impl Future<Output = Result<()>> + Send;
    fn pull(inbox: &mut Self::Inbox) -> impl Future<Output = Option<Message>> + Send;
}

impl Queue for mpsc::Sender<Message> {
    type Inbox = mpsc::Receiver<Message>;

    fn open() -> (Self, Self::Inbox) {
        mpsc::channel(BOUND)
    }

    async fn push(&self, message: Message) -> Result<()> {
        self.send(message).await.ok().context("task is gone")
    }

    async fn pull(inbox: &mut Self::Inbox) -> Option<Message> {
        inbox.recv().await
    }
}

impl Queue for mpsc::UnboundedSender<Message> {
    type Inbox = mpsc::UnboundedReceiver<Message>;

    fn open() -> (Self, Self::Inbox) {
        mpsc::unbounded_channel()
    }

    async fn push(&self, message: Message) -> Result<()> {
        self.send(message).ok().context("task is gone")
    }

    async fn pull(inbox: &mut Self::Inbox) -> Option<Message> {
        inbox.recv().await
    }
}

async fn serve<Q: Queue>(mut inbox: Q::Inbox) {
    let mut counter = Counter::default();
    while let Some(message) = Q::pull(&mut inbox).await {
        match message {
            Message::Tell(number) => counter.add(number),
            // The caller may have given up; that is its own affair.
            Message::Ask(number, reply) => drop(reply.send(counter.answer(number))),
        }
    }
}

impl<Q> Threads for Limit<Q> {}

impl<Q: Queue> Crowd for Limit<Q> {
    async fn start(_runtime: Runtime) -> Result<Self> {
        Ok(Self {
            by_id: HashMap::new(),
        })
    }

    async fn create(&mut self, numbers: Range<u64>) -> Result<()> {
        for number in numbers {
            let (queue, inbox) = Q::open();
            tokio::spawn(serve::<Q>(inbox));
            self.by_id.insert(id_of(number), queue);
        }
        Ok(())
    }

    async fn ask_by_id(&self, id: &str, number: u64) -> Result<u64> {
        Self::ask(self.by_id.get(id).context("no such task")?, number).await
    }
}

impl<Q: Queue> Contender for Limit<Q> {
    type Handle = Q;

    fn handle(&self, id: &str) -> Result<Q> {
        self.by_id.get(id).cloned().context("no such task")
    }

    async fn tell(handle: &Q, number: u64) -> Result<()> {
        handle.push(Message::Tell(number)).await
    }

    async fn ask(handle: &Q, number: u64) -> Result<u64> {
        let (reply, answer) = oneshot::channel();
        handle.push(Message::Ask(number, reply)).await?;
        Ok(answer.await?)
    }
}

/// State by id and nothing else.
pub(crate) struct Map {
    by_id: HashMap<String, Box<Counter>>,
}

impl Threads for Map {}

impl Crowd for Map {
    async fn start(_runtime: Runtime) -> Result<Self> {
        Ok(Self {
            by_id: HashMap::new(),
        })
    }

    async fn create(&mut self, numbers: Range<u64>) -> Result<()> {
        self.by_id
            .extend(numbers.map(|number| (id_of(number), Box::default())));
        Ok(())
    }

    async fn ask_by_id(&self, id: &str, number: u64) -> Result<u64> {
        let counter = self.by_id.get(id).context("no such state")?;
        Ok(counter.sum + number)
    }
}
