//! ractor: one actor per entity, found through a map.
//!
//! Its mailboxes are unbounded, it has no others; built without the propagation
//! of tracing spans.

use std::collections::HashMap;
use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use ractor::rpc::CallResult;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::{Contender, Counter, Crowd, Threads, id_of};
use crate::measure::Runtime;

/// ractor's actors by id.
pub(crate) struct Ractor {
    by_id: HashMap<String, ActorRef<Message>>,
}

/// What an actor receives.
pub(crate) enum Message {
    Tell(u64),
    Ask(u64, RpcReplyPort<u64>),
}

/// With its clusters built in, ractor wants to be told that this one stays local.
#[cfg(feature = "peers")]
impl ractor::Message for Message {}

/// The actor; ractor keeps its state beside it.
struct Host;

impl Actor for Host {
    type Msg = Message;
    type State = Counter;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<Message>,
        _arguments: (),
    ) -> Result<Counter, ActorProcessingErr> {
        Ok(Counter::default())
    }

    async fn handle(
        &self,
        _myself: ActorRef<Message>,
        message: Message,
        counter: &mut Counter,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Tell(number) => counter.add(number),
            // The caller may have given up; that is its own affair.
            Message::Ask(number, reply) => drop(reply.send(counter.answer(number))),
        }
        Ok(())
    }
}

impl Threads for Ractor {}

impl Crowd for Ractor {
    async fn start(_runtime: Runtime) -> Result<Self> {
        Ok(Self {
            by_id: HashMap::new(),
        })
    }

    async fn create(&mut self, numbers: Range<u64>) -> Result<()> {
        let mut answers = Vec::new();
        for number in numbers {
            let (host, _task) = Actor::spawn(None, Host, ()).await?;
            let (reply, answer) = ractor::concurrency::oneshot();
            let sent = host.cast(Message::Ask(number, reply.into()));
            ensure!(sent.is_ok(), "actor is gone");
            answers.push(answer);
            self.by_id.insert(id_of(number), host);
        }
        for answer in answers {
            answer.await?;
        }
        Ok(())
    }

    async fn ask_by_id(&self, id: &str, number: u64) -> Result<u64> {
        Self::ask(self.by_id.get(id).context("no such actor")?, number).await
    }
}

impl Contender for Ractor {
    type Handle = ActorRef<Message>;

    fn handle(&self, id: &str) -> Result<ActorRef<Message>> {
        self.by_id.get(id).cloned().context("no such actor")
    }

    async fn tell(handle: &ActorRef<Message>, number: u64) -> Result<()> {
        handle
            .cast(Message::Tell(number))
            .ok()
            .context("actor is gone")
    }

    async fn ask(handle: &ActorRef<Message>, number: u64) -> Result<u64> {
        let called = handle.call(|reply| Message::Ask(number, reply), None).await;
        match called {
            Ok(CallResult::Success(answer)) => Ok(answer),
            Ok(CallResult::Timeout | CallResult::SenderError) | Err(_) => bail!("actor is gone"),
        }
    }
}
