//! The entity of these tests: it keeps what it is told, in order.

use std::{
    collections::BTreeMap,
    sync::{Mutex, OnceLock},
    time::Duration,
};

use ostrakon::{Context, StreamReply, TraceContext, entity};
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

    pub(crate) async fn half(&self, reply: StreamReply<u64>) {
        let _ = reply.send(1).await;
    }

    pub(crate) async fn pause(&mut self, millis: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        millis
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

    async fn pass(&self) {
        self.state.lock().unwrap().0 += 1;
        self.changed.notify_waiters();
        self.until(|(_, open)| open).await;
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
