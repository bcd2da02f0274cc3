//! Ostrakon, by entity id through the shard table.
//!
//! One node that owns every shard, no manager, no network: what a message costs
//! between two entities of the same process.

use std::ops::Range;

use anyhow::Result;
use ostrakon::{Context, Entity, EntityRef, Failure, Hosting, Node, Reply};
use serde::{Deserialize, Serialize};

use super::{Contender, Counter, Crowd, Threads, id_of};
use crate::measure::Runtime;

/// A node that hosts counters.
pub(crate) struct Ours {
    node: Node,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Message {
    Tell(u64),
    Ask(u64, Reply<u64>),
}

impl Entity for Counter {
    const KIND: &'static str = "counter";
    type Message = Message;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, message: Message, _: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            Message::Tell(number) => self.add(number),
            Message::Ask(number, reply) => {
                reply.send(self.answer(number));
            }
        }
        Ok(())
    }
}

impl Threads for Ours {}

impl Crowd for Ours {
    async fn start(_runtime: Runtime) -> Result<Self> {
        let node = Node::builder("bench")
            .host_as::<Counter>(Hosting::default().keep_alive())
            .start()
            .await?;
        Ok(Self { node })
    }

    async fn create(&mut self, numbers: Range<u64>) -> Result<()> {
        for number in numbers {
            let entity = self.node.entity::<Counter>(id_of(number));
            entity.ask(|reply| Message::Ask(0, reply)).await?;
        }
        Ok(())
    }

    async fn ask_by_id(&self, id: &str, number: u64) -> Result<u64> {
        let entity = self.node.entity::<Counter>(id);
        Ok(entity.ask(|reply| Message::Ask(number, reply)).await?)
    }
}

impl Contender for Ours {
    type Handle = EntityRef<Counter>;

    fn handle(&self, id: &str) -> Result<Self::Handle> {
        Ok(self.node.entity::<Counter>(id))
    }

    async fn tell(handle: &Self::Handle, number: u64) -> Result<()> {
        while let Err(error) = handle.tell(Message::Tell(number)).await {
            if !error.is_retryable() {
                return Err(error.into());
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn ask(handle: &Self::Handle, number: u64) -> Result<u64> {
        loop {
            match handle.ask(|reply| Message::Ask(number, reply)).await {
                // Only behind a flood: the peers would wait for room here.
                Err(error) if error.is_retryable() => tokio::task::yield_now().await,
                answered => return Ok(answered?),
            }
        }
    }
}
