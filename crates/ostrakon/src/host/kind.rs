//! `Kind`: what all homes of one kind on this node share.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ostrakon_core::{EntityId, Time};
use tokio::sync::Notify;

use super::{Host, runtime::Runtime, samples::Samples, slowness::Slowness, timers::Timers};
use crate::{
    Entity, clock::Clock, dead_letters::DeadLetters, hosting::Hosting, lease::Lease, lock::Mutex,
    node::WeakNode,
};

pub(crate) struct Kind<E: Entity> {
    pub(crate) hosting: Hosting,
    pub(crate) factory: Factory<E>,
    pub(crate) force_serialization: bool,
    pub(crate) clock: Clock,
    pub(crate) runtime: Runtime,
    pub(crate) node: WeakNode,
    pub(crate) host: Weak<Host<E>>,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) timers: Timers<E>,
    pub(crate) slowness: Slowness,
    pub(crate) latency: metrics::Histogram,
    /// For those who look after the cluster; `None` where there are none.
    pub(crate) samples: Option<Mutex<Samples>>,
    /// Wakes the janitor before its time: a timer was set, or there are too many entities.
    pub(crate) call_janitor: Notify,
    active: AtomicUsize,
}

/// Where a kind's entities come from.
pub(crate) enum Factory<E> {
    /// Made for any id, as often as needed.
    OnDemand(Box<dyn Fn(&EntityId) -> E + Send + Sync>),
    /// Handed in from outside, for one life each: plain actors. The map holds those that have not started.
    Given(Mutex<BTreeMap<EntityId, E>>),
}

impl<E> Factory<E> {
    pub(crate) fn is_on_demand(&self) -> bool {
        matches!(self, Self::OnDemand(_))
    }

    pub(crate) fn make(&self, id: &EntityId) -> Option<E> {
        match self {
            Self::OnDemand(make) => Some(make(id)),
            Self::Given(actors) => actors.lock().remove(id),
        }
    }
}

/// What a [`Kind`] is made of.
pub(crate) struct KindParts<E: Entity> {
    pub(crate) hosting: Hosting,
    pub(crate) factory: Factory<E>,
    pub(crate) force_serialization: bool,
    pub(crate) clock: Clock,
    pub(crate) node: WeakNode,
    pub(crate) node_name: String,
    pub(crate) dead_letters: DeadLetters,
}

impl<E: Entity> Kind<E> {
    pub(crate) fn new(
        parts: KindParts<E>,
        lease: Arc<Lease>,
        samples: Option<Mutex<Samples>>,
        host: Weak<Host<E>>,
    ) -> Self {
        Self {
            hosting: parts.hosting,
            factory: parts.factory,
            force_serialization: parts.force_serialization,
            clock: parts.clock,
            runtime: Runtime::current(lease),
            node: parts.node,
            host,
            dead_letters: parts.dead_letters,
            timers: Timers::default(),
            slowness: Slowness::default(),
            latency: metrics::histogram!(
                "ostrakon_handle_seconds",
                "kind" => E::KIND,
                "node" => parts.node_name
            ),
            samples,
            call_janitor: Notify::new(),
            active: AtomicUsize::new(0),
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn active(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }

    /// An entity was made.
    pub(crate) fn one_more(&self) {
        let before = self.active.fetch_add(1, Ordering::AcqRel);
        // The janitor makes room for several at a time, so it need not be called for each.
        let calls = |most: usize| before >= most && (before - most).is_multiple_of(most / 32 + 1);
        if self.hosting.active_limit.is_some_and(calls) {
            self.call_janitor.notify_one();
        }
    }

    /// An entity is over.
    pub(crate) fn one_less(&self) {
        self.active.fetch_sub(1, Ordering::AcqRel);
    }

    /// How many messages a turn picks up at once. Those are no longer counted against the mailbox, so it is a small
    /// part of it.
    pub(crate) fn batch(&self) -> usize {
        (self.hosting.mailbox / 16).clamp(1, 64)
    }

    /// How often the janitor looks for idle entities.
    pub(crate) fn sweep_period(&self) -> Option<Duration> {
        let idle = self.hosting.idle_after?;
        Some((idle / 8).clamp(Duration::from_millis(1), Duration::from_secs(10)))
    }
}
