//! An entity that does what a test tells it, and a world in which everything it does is written down.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::stream;
use ostrakon::{
    AskError, Context, Entity, EntityRef, Failure, Hosting, Node, NodeBuilder, Reply, StreamReply,
};

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore};

/// What the probes of one test share.
pub(crate) struct World {
    pub(crate) events: Mutex<Vec<String>>,
    pub(crate) changed: Notify,
    /// `Do::Wait` waits for a permit.
    pub(crate) gate: Semaphore,
    /// Stop hooks wait for a permit when there is this gate.
    pub(crate) stop_gate: Option<Semaphore>,
    /// Starts wait for a permit when there is this gate.
    pub(crate) start_gate: Option<Semaphore>,
    /// How many starts shall fail.
    pub(crate) failing_starts: AtomicU32,
    /// How many calls of `Do::Shaky` shall panic.
    pub(crate) failing_calls: AtomicU32,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::plain())
    }

    pub(crate) fn plain() -> Self {
        Self {
            events: Mutex::default(),
            changed: Notify::new(),
            gate: Semaphore::new(0),
            stop_gate: None,
            start_gate: None,
            failing_starts: AtomicU32::new(0),
            failing_calls: AtomicU32::new(0),
        }
    }

    pub(crate) fn log(&self, event: impl Into<String>) {
        self.events.lock().unwrap().push(event.into());
        self.changed.notify_waiters();
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, event: &str) -> usize {
        self.events
            .lock()
            .unwrap()
            .iter()
            .filter(|e| *e == event)
            .count()
    }

    /// Waits until `event` has been written down `times` times.
    pub(crate) async fn seen(&self, event: &str, times: usize) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if self.count(event) >= times {
                    return;
                }
                changed.await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(600), waiting)
            .await
            .is_err()
        {
            panic!("never saw {event:?} {times} times in {:?}", self.events());
        }
    }

    /// A node's builder that hosts probes of this world.
    pub(crate) fn builder(self: &Arc<Self>, hosting: Hosting) -> NodeBuilder {
        self.builder_named("node-1", hosting)
    }

    pub(crate) fn builder_named(self: &Arc<Self>, name: &str, hosting: Hosting) -> NodeBuilder {
        let world = Arc::clone(self);
        Node::builder(name).host_with(hosting, move |id| Probe {
            id: id.to_string(),
            world: Arc::clone(&world),
            sum: 0,
            kept: None,
        })
    }

    pub(crate) async fn node(self: &Arc<Self>, hosting: Hosting) -> Node {
        self.builder(hosting).start().await.expect("starts")
    }
}

pub(crate) struct Probe {
    id: String,
    world: Arc<World>,
    sum: i64,
    kept: Option<Reply<i64>>,
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.world.log(format!("{}: dropped", self.id));
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Do {
    Note(String),
    Add(i64),
    Sum(Reply<i64>),
    /// Logs `begin`, waits for a permit of the gate, logs `end`.
    Wait(String, Reply<()>),
    Panic(Reply<()>),
    Fail(Reply<()>),
    /// Panics while the world wants it to; may be handled again.
    Shaky(Reply<i64>),
    DropReply(Reply<()>),
    Keep(Reply<i64>),
    AnswerKept(i64),
    Stop,
    /// Asks the first of the others to ask the rest; the last answers its sum.
    AskAlong(Vec<String>, Reply<Result<i64, String>>),
    /// Asks another entity to wait, with the default time limit.
    AskToWait(String, Reply<Result<(), String>>),
    Every(u64, String),
    After(u64, String),
    KeepAlive,
    /// Works in the background until the gate lets it end.
    Work,
    /// Ends its node's lease, and then adds one to another entity and answers.
    ActTooLate(String, Reply<()>),
    /// Blocks the thread until a permit can be had.
    Block,
    /// Streams 0, 1, … up to the number, then finishes.
    Numbers(i64, StreamReply<i64>),
    /// Streams one item and dies.
    Half(StreamReply<i64>),
    /// Streams from inside the handler for ever; logs how far it came.
    Endless(StreamReply<i64>),
}

pub(crate) fn probe(node: &Node, id: &str) -> EntityRef<Probe> {
    node.entity::<Probe>(id)
}

pub(crate) async fn sum(entity: &EntityRef<Probe>) -> Result<i64, AskError> {
    entity.ask(Do::Sum).await
}

impl Entity for Probe {
    const KIND: &'static str = "probe";
    type Message = Do;
    type Ref = EntityRef<Self>;

    async fn start(&mut self, _: &mut Context<Self>) -> Result<(), Failure> {
        self.world.log(format!("{}: starting", self.id));
        if let Some(gate) = &self.world.start_gate {
            gate.acquire().await?.forget();
        }
        if take_one(&self.world.failing_starts) {
            return Err("no database".into());
        }
        self.world.log(format!("{}: started", self.id));
        Ok(())
    }

    async fn stop(&mut self, _: &mut Context<Self>) {
        self.world.log(format!("{}: stopping", self.id));
        if let Some(gate) = &self.world.stop_gate {
            gate.acquire().await.expect("open").forget();
        }
        self.world.log(format!("{}: stopped", self.id));
    }

    fn redeliver(message: &Do) -> Option<Do> {
        let Do::Shaky(reply) = message else {
            return None;
        };
        Some(Do::Shaky(reply.clone()))
    }

    async fn handle(&mut self, message: Do, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            Do::Note(text) => self.world.log(format!("{}: {text}", self.id)),
            Do::Add(n) => self.sum += n,
            Do::Sum(reply) => drop(reply.send(self.sum)),
            Do::Wait(name, reply) => self.wait(&name, reply).await,
            Do::Panic(_reply) => panic!("as told"),
            Do::Fail(_reply) => return Err("as told".into()),
            Do::Shaky(reply) => {
                self.world.log("shaky");
                assert!(!take_one(&self.world.failing_calls), "shaky");
                reply.send(7);
            }
            Do::DropReply(reply) => drop(reply),
            Do::Keep(reply) => self.kept = Some(reply),
            Do::AnswerKept(n) => {
                let answered = self.kept.take().expect("kept").send(n);
                self.world.log(format!("{}: {answered:?}", self.id));
            }
            Do::Stop => ctx.stop(),
            Do::AskAlong(others, reply) => self.ask_along(others, reply, ctx).await,
            Do::AskToWait(other, reply) => {
                let other = probe(&ctx.node(), &other);
                let waited = other.ask(|reply| Do::Wait("inner".into(), reply)).await;
                reply.send(waited.map_err(|error| error.to_string()));
            }
            Do::Every(ms, text) => {
                let note = move || Do::Note(text.clone());
                ctx.schedule_every(Duration::from_millis(ms), note);
            }
            Do::After(ms, text) => {
                ctx.schedule(Duration::from_millis(ms), Do::Note(text));
            }
            Do::KeepAlive => ctx.keep_alive(),
            Do::Work => self.work(ctx),
            Do::ActTooLate(other, reply) => {
                ostrakon::testing::lease(&ctx.node()).end();
                probe(&ctx.node(), &other).try_tell(Do::Add(1))?;
                reply.send(());
            }
            Do::Block => {
                while self.world.gate.try_acquire().map(|p| p.forget()).is_err() {
                    std::thread::yield_now();
                }
            }
            Do::Numbers(upto, reply) => ctx.spawn(reply.forward(stream::iter(0..upto))),
            Do::Half(reply) => {
                reply.send(1).await?;
                return Err("half way".into());
            }
            Do::Endless(reply) => self.endless(reply).await,
        }
        Ok(())
    }
}

impl Probe {
    async fn wait(&self, name: &str, reply: Reply<()>) {
        self.world.log(format!("{}: begin {name}", self.id));
        self.world.gate.acquire().await.expect("open").forget();
        self.world.log(format!("{}: end {name}", self.id));
        let answered = reply.send(());
        self.world
            .log(format!("{}: answered {name} {answered:?}", self.id));
    }

    async fn ask_along(
        &self,
        mut others: Vec<String>,
        reply: Reply<Result<i64, String>>,
        ctx: &Context<Self>,
    ) {
        if others.is_empty() {
            reply.send(Ok(self.sum));
            return;
        }
        let next = probe(&ctx.node(), &others.remove(0));
        let asked = next.ask(|reply| Do::AskAlong(others, reply)).await;
        reply.send(asked.unwrap_or_else(|error| Err(error.to_string())));
    }

    fn work(&self, ctx: &Context<Self>) {
        let (world, id) = (Arc::clone(&self.world), self.id.clone());
        ctx.spawn(async move {
            let guard = Logged(Arc::clone(&world), format!("{id}: work over"));
            world.log(format!("{id}: working"));
            world.gate.acquire().await.expect("open").forget();
            drop(guard);
        });
    }

    async fn endless(&self, reply: StreamReply<i64>) {
        for n in 0.. {
            if reply.send(n).await.is_err() {
                self.world.log(format!("{}: consumer gone", self.id));
                return;
            }
            self.world.log(format!("{}: sent {n}", self.id));
        }
    }
}

/// Writes its line when it is dropped.
struct Logged(Arc<World>, String);

impl Drop for Logged {
    fn drop(&mut self) {
        self.0.log(self.1.clone());
    }
}

fn take_one(from: &AtomicU32) -> bool {
    let taken = from.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    taken.is_ok()
}
