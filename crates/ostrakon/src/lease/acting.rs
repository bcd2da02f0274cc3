//! What acts under a lease that can end: one list for each thread, which the watchdog reads.
//!
//! A thread may be in several steps at once, because an ask to a free entity runs inside its asker's poll. The clock is read under the
//! list's lock, so whoever reads the list after a deadline sees everything that began before it.

use std::{
    cell::Cell,
    fmt,
    marker::PhantomData,
    sync::{Arc, Weak},
    time::Duration,
};

use ostrakon_clock::HolderClock;
use ostrakon_core::{EntityId, Time};

use super::Lease;
use crate::{CallChain, lock::Mutex};

/// A step of an entity's code: it lasts as long as this, which stays on its thread.
pub(crate) enum Acting {
    /// The lease cannot end.
    Unwatched,
    Watched(Watched),
}

pub(crate) struct Watched {
    on_this_thread: PhantomData<*const ()>,
}

/// Whose code acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    Entity(&'static str, EntityId),
    /// What the last of this chain works on beside its messages.
    Work(Option<CallChain>),
}

/// Something that acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acts {
    pub(crate) who: Who,
    pub(crate) since: Time,
}

struct Thread {
    /// The innermost is the last.
    steps: Mutex<Vec<Step>>,
}

struct Step {
    /// Which lease it is under.
    lease: LeaseId,
    acts: Acts,
    clock: HolderClock,
    /// It is counted if it takes longer than this; `None`: nobody knows how long it may take.
    slow_after: Option<Duration>,
}

/// The address of a lease, which no other has while it lives.
type LeaseId = usize;

static THREADS: Mutex<Vec<Weak<Thread>>> = Mutex::new(Vec::new());

thread_local! {
    static HERE: Arc<Thread> = Thread::enlist();
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether the code that runs here belongs to an entity whose lease can end, or does something for one.
pub(crate) fn is_acting_here() -> bool {
    DEPTH.get() > 0
}

/// Does what an entity has ordered in a step that is over: it counts as the entity's own act.
pub(crate) fn for_entity<T>(work: impl FnOnce() -> T) -> T {
    let _deeper = Deeper::enter();
    work()
}

struct Deeper;

impl Deeper {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Deeper {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

impl Acting {
    /// `None`: by the time that is passed to it, `may_begin` says no.
    pub(super) fn enter(
        lease: &Lease,
        who: impl FnOnce() -> Who,
        may_begin: impl FnOnce(Time) -> bool,
    ) -> Option<Watched> {
        let begun = HERE.with(|here| {
            let mut steps = here.steps.lock();
            let since = lease.clock.now();
            let begins = may_begin(since);
            if begins {
                let who = who();
                steps.push(Step {
                    lease: id_of(lease),
                    acts: Acts { who, since },
                    clock: lease.clock,
                    slow_after: lease.slow_after(),
                });
            }
            begins
        });
        begun.then(|| {
            DEPTH.set(DEPTH.get() + 1);
            Watched {
                on_this_thread: PhantomData,
            }
        })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        let ended = HERE.with(|here| here.steps.lock().pop());
        if let Some(step) = ended {
            step.note_time();
        }
    }
}

impl Step {
    fn note_time(&self) {
        if let Some(slow_after) = self.slow_after {
            let held = self.clock.now().saturating_since(self.acts.since);
            if held > slow_after {
                self.acts.was_slow(held);
            }
        }
    }
}

impl Acts {
    #[cold]
    fn was_slow(&self, held: Duration) {
        let kind = self.who.kind().to_owned();
        metrics::counter!("ostrakon_slow_polls_total", "kind" => kind).increment(1);
        tracing::warn!(
            who = %self.who,
            ?held,
            "an entity held its thread for more than half of what it may at the end of a lease"
        );
    }
}

impl Who {
    fn kind(&self) -> &str {
        match self {
            Self::Entity(kind, _) => kind,
            Self::Work(Some(chain)) => chain.kind(),
            Self::Work(None) => "unknown",
        }
    }
}

impl Thread {
    fn enlist() -> Arc<Self> {
        let thread = Arc::new(Self {
            steps: Mutex::default(),
        });
        let mut threads = THREADS.lock();
        threads.retain(|thread| thread.strong_count() > 0);
        threads.push(Arc::downgrade(&thread));
        thread
    }
}

/// What acts under a lease, on all threads; of each thread the innermost, for that is what holds it.
pub(super) fn all_of(lease: &Lease) -> Vec<Acts> {
    let threads: Vec<_> = THREADS.lock().iter().filter_map(Weak::upgrade).collect();
    let mut all = Vec::new();
    for thread in threads {
        let steps = thread.steps.lock();
        let innermost = steps.iter().rfind(|step| step.lease == id_of(lease));
        all.extend(innermost.map(|step| step.acts.clone()));
    }
    all
}

fn id_of(lease: &Lease) -> LeaseId {
    std::ptr::from_ref(lease).addr()
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entity(kind, id) => write!(f, "{kind}/{id}"),
            Self::Work(Some(chain)) => write!(f, "the background work of {chain}"),
            Self::Work(None) => f.write_str("an entity's background work"),
        }
    }
}
