//! Who takes part, and the little that each has to be able to do.
//!
//! Every contender hosts the same [`Counter`] and is driven by the same loops in
//! `workload`; a module below only translates. Two traits, because the limit for
//! memory is a bare map that has entities but nothing to send a message through.
//! What contenders do between two processes is in `remote`, apart from all this.

mod actix;
mod kameo;
mod limit;
mod ours;
mod ractor;
pub(crate) mod remote;

use std::future::Future;
use std::ops::Range;

use anyhow::{Result, bail};
use clap::ValueEnum;
use tokio::task::JoinHandle;

use crate::figures::Figures;
use crate::measure::{Measure, Pace, Runtime, label};
use crate::workload;

/// The contenders by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Name {
    /// Ostrakon.
    Ours,
    /// What tokio alone can do; between processes, without a task per entity.
    Limit,
    /// The limit between processes with a task and a mailbox per entity.
    Framed,
    /// tonic.
    Tonic,
    /// kameo.
    Kameo,
    /// ractor.
    Ractor,
    /// actix.
    Actix,
    /// coerce.
    Coerce,
}

impl Name {
    pub(crate) fn label(self) -> String {
        label(&self)
    }
}

/// Take one measurement that needs no other process.
pub(crate) fn run(name: Name, measure: Measure, runtime: Runtime, pace: Pace) -> Result<Figures> {
    let memory = measure == Measure::Memory;
    let crowd = pace.crowd(name);
    match name {
        Name::Limit if memory => workload::memory::<limit::Map>(runtime, crowd),
        Name::Limit if measure == Measure::TellUnbounded => {
            workload::run::<limit::Unbounded>(measure, runtime, pace)
        }
        Name::Limit => workload::run::<limit::Bounded>(measure, runtime, pace),
        Name::Ours if memory => workload::memory::<ours::Ours>(runtime, crowd),
        Name::Ours => workload::run::<ours::Ours>(measure, runtime, pace),
        Name::Kameo if memory => workload::memory::<kameo::Kameo>(runtime, crowd),
        Name::Kameo => workload::run::<kameo::Kameo>(measure, runtime, pace),
        Name::Ractor if memory => workload::memory::<ractor::Ractor>(runtime, crowd),
        Name::Ractor => workload::run::<ractor::Ractor>(measure, runtime, pace),
        Name::Actix if memory => workload::memory::<actix::Actix>(runtime, crowd),
        Name::Actix => workload::run::<actix::Actix>(measure, runtime, pace),
        Name::Framed | Name::Tonic | Name::Coerce => bail!("takes part between processes only"),
    }
}

/// What the tasks of a contender run on.
pub(crate) trait Threads {
    /// Run `work` to its end as a task of the runtime under measurement, never
    /// on the thread that merely waits for it.
    fn run<W>(runtime: Runtime, work: W) -> Result<Figures>
    where
        W: Future<Output = Result<Figures>> + Send + 'static,
    {
        runtime
            .start()?
            .block_on(async { Self::spawn(work).await? })
    }

    /// Start a caller or producer.
    fn spawn<W>(work: W) -> JoinHandle<W::Output>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        tokio::spawn(work)
    }
}

/// Those of tokio, for whoever does not bring its own.
pub(crate) struct Tokio;

impl Threads for Tokio {}

/// Entities that are found by id.
pub(crate) trait Crowd: Threads + Sized + Send + Sync + 'static {
    /// Ready to create entities; called inside the runtime.
    fn start(runtime: Runtime) -> impl Future<Output = Result<Self>> + Send;

    /// Create the entities with the ids of `numbers` ([`id_of`]); when this
    /// returns each of them exists, is idle and has a sum of 0.
    fn create(&mut self, numbers: Range<u64>) -> impl Future<Output = Result<()>> + Send;

    /// [`Counter::answer`] of the entity with this id, looked up in this call.
    fn ask_by_id(&self, id: &str, number: u64) -> impl Future<Output = Result<u64>> + Send;
}

/// Entities that can be sent messages through a prepared handle.
pub(crate) trait Contender: Crowd {
    /// Reaches one entity.
    type Handle: Clone + Send + Sync + 'static;

    /// The handle of an entity that was created before.
    fn handle(&self, id: &str) -> Result<Self::Handle>;

    /// Deliver a message that is not answered; waits only for a full mailbox.
    fn tell(handle: &Self::Handle, number: u64) -> impl Future<Output = Result<()>> + Send;

    /// Deliver a message and wait for the answer.
    fn ask(handle: &Self::Handle, number: u64) -> impl Future<Output = Result<u64>> + Send;
}

/// The id of the entity with this number; twelve characters for each of the
/// first nine million.
pub(crate) fn id_of(number: u64) -> String {
    format!("user-{}", 1_000_000 + number)
}

/// The state of every entity: 16 bytes.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    sum: u64,
    answered: u64,
}

impl Counter {
    /// A tell: add `number`.
    pub(crate) fn add(&mut self, number: u64) {
        self.sum += number;
    }

    /// An ask: `number` plus the sum so far, so that an answer proves both which
    /// question it belongs to and that no tell before it was lost.
    pub(crate) fn answer(&mut self, number: u64) -> u64 {
        self.answered += 1;
        self.sum + number
    }
}
