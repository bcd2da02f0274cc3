//! actix: one actor per entity, found through a map.
//!
//! An actix actor is bound to one thread. On `ct` callers and actors share it;
//! on `mt` the callers have one thread and the actors another, so that it too
//! runs on two. Its tells (`do_send`) ignore the bound of the mailbox.

use std::collections::HashMap;
use std::future::Future;
use std::ops::Range;

use actix::{Actor, Addr, Arbiter, ArbiterHandle, Context, Handler, Message, System};
use anyhow::{Context as _, Result};
use tokio::task::JoinHandle;

use super::{Contender, Counter, Crowd, Threads, id_of};
use crate::figures::Figures;
use crate::measure::Runtime;

/// actix' actors by id.
pub(crate) struct Actix {
    /// The thread of the actors.
    thread: ArbiterHandle,
    by_id: HashMap<String, Addr<Host>>,
}

/// The actor.
pub(crate) struct Host(Counter);

struct Tell(u64);
struct Ask(u64);

impl Actor for Host {
    type Context = Context<Self>;
}

impl Message for Tell {
    type Result = ();
}

impl Message for Ask {
    type Result = u64;
}

impl Handler<Tell> for Host {
    type Result = ();

    fn handle(&mut self, Tell(number): Tell, _context: &mut Context<Self>) {
        self.0.add(number);
    }
}

impl Handler<Ask> for Host {
    type Result = u64;

    fn handle(&mut self, Ask(number): Ask, _context: &mut Context<Self>) -> u64 {
        self.0.answer(number)
    }
}

impl Crowd for Actix {
    async fn start(runtime: Runtime) -> Result<Self> {
        let thread = match runtime {
            Runtime::Mt => Arbiter::new().handle(),
            Runtime::Ct => Arbiter::current(),
        };
        Ok(Self {
            thread,
            by_id: HashMap::new(),
        })
    }

    async fn create(&mut self, numbers: Range<u64>) -> Result<()> {
        let mut answers = Vec::new();
        for number in numbers {
            let host = Host::start_in_arbiter(&self.thread, |_| Host(Counter::default()));
            answers.push(host.send(Ask(number)));
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

impl Threads for Actix {
    fn run<W>(_runtime: Runtime, work: W) -> Result<Figures>
    where
        W: Future<Output = Result<Figures>> + Send + 'static,
    {
        System::new().block_on(async { Self::spawn(work).await? })
    }

    fn spawn<W>(work: W) -> JoinHandle<W::Output>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        actix::spawn(work)
    }
}

impl Contender for Actix {
    type Handle = Addr<Host>;

    fn handle(&self, id: &str) -> Result<Addr<Host>> {
        self.by_id.get(id).cloned().context("no such actor")
    }

    async fn tell(handle: &Addr<Host>, number: u64) -> Result<()> {
        handle.do_send(Tell(number));
        Ok(())
    }

    async fn ask(handle: &Addr<Host>, number: u64) -> Result<u64> {
        Ok(handle.send(Ask(number)).await?)
    }
}
