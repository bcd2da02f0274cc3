//! The entity of these tests: it keeps what it is told, in order.

use std::{
    collections::BTreeMap,
    sync::{Mutex, OnceLock},
    time::Duration,
};

use futures_core::Stream;
use futures_util::{StreamExt, stream};
use ostrakon::{Context, Reply, StreamReply, TraceContext, entity};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Ledger {
    entries: Vec<u64>,
}

#[derive(Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("no, because of {0}")]
pub(crate) struct Refused(pub(crate) String);

#[entity(kind = "ledger")]
impl Ledger {
    pub(crate) async fn add(&mut self, entry: u64) -> usize {
        self.entries.push(entry);
        self.entries.len()
    }

    pub(crate) async fn entries(&self) -> Vec<u64> {
        self.entries.clone()
    }

    pub(crate) async fn node(&self, ctx: &Context<Self>) -> String {
        ctx.node().name().to_string()
    }

    pub(crate) async fn refuse(&self, why: String) -> Result<u64, Refused> {
        Err(Refused(why))
    }

    pub(crate) async fn fail(&mut self) -> u64 {
        panic!("as it was told to")
    }

    /// Waits until the test opens the gate of this name; says so at the gate's other side.
    pub(crate) async fn wait(&mut self, gate: String) -> u64 {
        Gate::of(&gate).pass().await;
        7
    }

    pub(crate) async fn echo(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    pub(crate) async fn swallow(&self, bytes: Vec<u8>) -> usize {
        bytes.len()
    }

    pub(crate) async fn trace(&self) -> Option<String> {
        TraceContext::current().map(|trace| trace.to_string())
    }

    /// Asks another ledger to do the same, until `hops` are used up, and then the first one.
    pub(crate) async fn chain(
        &self,
        hops: Vec<String>,
        ctx: &Context<Self>,
    ) -> Result<String, Refused> {
        let Some((next, rest)) = hops.split_first() else {
            return Ok("end".to_owned());
        };
        let next = ctx.node().entity::<Self>(next);
        let asked = next.chain(rest.to_vec()).await;
        asked.map_err(|error| Refused(error.to_string()))
    }

    pub(crate) async fn numbers(
        &self,
        to: u64,
        size: usize,
        reply: StreamReply<(u64, Vec<u8>)>,
        ctx: &Context<Self>,
    ) {
        ctx.spawn(async move {
            for n in 0..to {
                if reply.send((n, vec![n as u8; size])).await.is_err() {
                    Gate::of("a stream was cancelled").open();
                    return;
                }
            }
            reply.finish().await;
        });
    }

    /// Sends these numbers, and leaves the end to others.
    pub(crate) async fn some(
        &self,
        from: u64,
        to: u64,
        reply: StreamReply<u64>,
        ctx: &Context<Self>,
    ) {
        ctx.spawn(async move {
            for n in from..to {
                if reply.send(n).await.is_err() {
                    Gate::of("some are not wanted").open();
                    return;
                }
            }
        });
    }

    /// Lets each of these ledgers, and this one, send a part of the numbers.
    pub(crate) async fn shared_out(
        &self,
        others: Vec<String>,
        each: u64,
        reply: StreamReply<u64>,
        ctx: &Context<Self>,
    ) {
        for (other, part) in others.iter().zip(1..) {
            let message = LedgerMessage::Some {
                from: part * each,
                to: (part + 1) * each,
                reply: reply.clone(),
                reply_: Reply::ignored(),
            };
            let other = ctx.node().entity::<Self>(other);
            other.as_ref().tell(message).await.unwrap();
        }
        self.some(0, each, reply, ctx).await;
    }

    /// Sends numbers for ever. Opens the gate when nobody wants more.
    pub(crate) async fn on_and_on(
        &self,
        gate: String,
        reply: StreamReply<u64>,
        ctx: &Context<Self>,
    ) {
        ctx.spawn(async move {
            while reply.send(0).await.is_ok() {}
            Gate::of(&gate).open();
        });
    }

    /// Lets another ledger send numbers for ever, and ends the stream when the first must be on its way.
    pub(crate) async fn finished_here(
        &self,
        other: String,
        gate: String,
        reply: StreamReply<u64>,
        ctx: &Context<Self>,
    ) {
        let copy = reply.clone();
        let message = LedgerMessage::OnAndOn {
            gate,
            reply: copy,
            reply_: Reply::ignored(),
        };
        let other = ctx.node().entity::<Self>(&other);
        other.as_ref().tell(message).await.unwrap();
        // Behind it.
        other.node().await.unwrap();
        reply.finish().await;
    }

    pub(crate) async fn half(&self, reply: StreamReply<u64>) {
        let _ = reply.send(1).await;
    }

    /// Notes in the test's log that this entry of a sender has been handled.
    pub(crate) async fn record(&mut self, log: String, sender: u32, entry: u64) -> u64 {
        record(&log, sender, entry);
        entry
    }

    /// Numbers for ever. Each knocks at the gate when it is made; the gate opens when nobody wants more.
    pub(crate) fn endless(&self, gate: String) -> impl Stream<Item = u64> + use<> {
        let opens = OpenOnDrop(Gate::of(&gate));
        stream::iter(0..).inspect(move |_| opens.0.knock())
    }

    /// Items of these sizes, each made of its number.
    pub(crate) fn sized(&self, sizes: Vec<usize>) -> impl Stream<Item = Vec<u8>> + use<> {
        let sizes = sizes.into_iter().enumerate();
        stream::iter(sizes.map(|(n, size)| vec![n as u8; size]))
    }

    pub(crate) async fn pause(&mut self, millis: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        millis
    }
}

/// What was handled in a test, by all lives of all its ledgers: senders and their entries.
type Log = Vec<(u32, u64)>;

fn logs() -> std::sync::MutexGuard<'static, BTreeMap<String, Log>> {
    static LOGS: Mutex<BTreeMap<String, Log>> = Mutex::new(BTreeMap::new());
    LOGS.lock().unwrap()
}

fn record(log: &str, sender: u32, entry: u64) {
    let mut logs = logs();
    logs.entry(log.to_owned())
        .or_default()
        .push((sender, entry));
}

/// What one sender's messages have left in a log, in the order in which they were handled.
pub(crate) fn recorded(log: &str, sender: u32) -> Vec<u64> {
    let logs = logs();
    let entries = logs.get(log).into_iter().flatten();
    entries
        .filter(|(from, _)| *from == sender)
        .map(|(_, entry)| *entry)
        .collect()
}

struct OpenOnDrop(&'static Gate);

impl Drop for OpenOnDrop {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// A place where an entity waits for the test, and the test for the entity.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<(u32, bool)>,
    changed: Notify,
}

impl Gate {
    pub(crate) fn of(name: &str) -> &'static Self {
        static GATES: OnceLock<Mutex<BTreeMap<String, &'static Gate>>> = OnceLock::new();
        let mut gates = GATES.get_or_init(Mutex::default).lock().unwrap();
        gates
            .entry(name.to_owned())
            .or_insert_with(|| Box::leak(Box::default()))
    }

    pub(crate) async fn pass(&self) {
        self.state.lock().unwrap().0 += 1;
        self.changed.notify_waiters();
        self.until(|(_, open)| open).await;
    }

    /// Comes to the gate and does not wait.
    fn knock(&self) {
        self.state.lock().unwrap().0 += 1;
        self.changed.notify_waiters();
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_waiters();
    }

    /// Waits until so many have come to the gate.
    pub(crate) async fn reached_by(&self, count: u32) {
        self.until(|(reached, _)| reached >= count).await;
    }

    pub(crate) async fn opened(&self) {
        self.until(|(_, open)| open).await;
    }

    pub(crate) fn reached(&self) -> u32 {
        self.state.lock().unwrap().0
    }

    async fn until(&self, done: impl Fn((u32, bool)) -> bool) {
        loop {
            let changed = self.changed.notified();
            if done(*self.state.lock().unwrap()) {
                return;
            }
            changed.await;
        }
    }
}
