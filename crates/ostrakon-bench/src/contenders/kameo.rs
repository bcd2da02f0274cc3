//! kameo: one actor per entity, mailboxes of 64, found through a map.
//!
//! Built without tracing and without its remote feature, which would only slow
//! down what is measured here.

use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::Range;

use anyhow::{Context as _, Result, ensure};
use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::message::{Context, Message};

use super::{Contender, Counter, Crowd, Threads, id_of};
use crate::measure::Runtime;

const BOUND: usize = 64;

/// kameo's actors by id.
pub(crate) struct Kameo {
    by_id: HashMap<String, ActorRef<Host>>,
}

/// The actor.
pub(crate) struct Host(Counter);

struct Tell(u64);
struct Ask(u64);

impl Actor for Host {
    type Args = Counter;
    type Error = Infallible;

    async fn on_start(counter: Counter, _myself: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(Self(counter))
    }
}

impl Message<Tell> for Host {
    type Reply = ();

    async fn handle(&mut self, Tell(number): Tell, _context: &mut Context<Self, ()>) {
        self.0.add(number);
    }
}

impl Message<Ask> for Host {
    type Reply = u64;

    async fn handle(&mut self, Ask(number): Ask, _context: &mut Context<Self, u64>) -> u64 {
        self.0.answer(number)
    }
}

impl Threads for Kameo {}

impl Crowd for Kameo {
    async fn start(_runtime: Runtime) -> Result<Self> {
        Ok(Self {
            by_id: HashMap::new(),
        })
    }

    async fn create(&mut self, numbers: Range<u64>) -> Result<()> {
        let mut answers = Vec::new();
        for number in numbers {
            let mailbox = kameo::mailbox::bounded(BOUND);
            let host = Host::spawn_with_mailbox(Counter::default(), mailbox);
            answers.push(host.ask(Ask(number)).enqueue().await?);
            self.by_id.insert(id_of(number), host);
        }
        for answer in answers {
            answer.await.ok().context("actor is gone")?;
        }
        Ok(())
    }

    async fn ask_by_id(&self, id: &str, number: u64) -> Result<u64> {
        Self::ask(self.by_id.get(id).context("no such actor")?, number).await
    }
}

impl Contender for Kameo {
    type Handle = ActorRef<Host>;

    fn handle(&self, id: &str) -> Result<ActorRef<Host>> {
        self.by_id.get(id).cloned().context("no such actor")
    }

    async fn tell(handle: &ActorRef<Host>, number: u64) -> Result<()> {
        ensure!(handle.tell(Tell(number)).await.is_ok(), "actor is gone");
        Ok(())
    }

    async fn ask(handle: &ActorRef<Host>, number: u64) -> Result<u64> {
        handle.ask(Ask(number)).await.ok().context("actor is gone")
    }
}
