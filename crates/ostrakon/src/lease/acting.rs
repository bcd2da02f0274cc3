//! What acts under a lease that can end: one list for each thread, which the watchdog reads.
//!
//! A thread may be in several steps at once, because an ask to a free entity runs inside its asker's poll. The clock is read under the
//! list's lock, so whoever reads the list after a deadline sees everything that began before it.

use std::{
    cell::Cell,
    fmt,
    marker::PhantomData,
    sync::{Arc, Weak},
};

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
    /// With which lease each is under; the innermost is the last.
    steps: Mutex<Vec<(LeaseId, Acts)>>,
}

/// The address of a lease, which no other has while it lives.
type LeaseId = usize;

static THREADS: Mutex<Vec<Weak<Thread>>> = Mutex::new(Vec::new());

thread_local! {
    static HERE: Arc<Thread> = Thread::enlist();
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether the code that runs here belongs to an entity whose lease can end.
pub(crate) fn is_acting_here() -> bool {
    DEPTH.get() > 0
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
                steps.push((id_of(lease), Acts { who, since }));
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
        HERE.with(|here| here.steps.lock().pop());
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
        let innermost = steps.iter().rfind(|(id, _)| *id == id_of(lease));
        all.extend(innermost.map(|(_, acts)| acts.clone()));
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
