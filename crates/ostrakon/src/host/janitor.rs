//! The janitor: one task per kind that does what must be done while nobody sends messages.
//!
//! It fires timers, stops idle entities, keeps their number within the limit, publishes the counters and takes the pulse. While the lease
//! is over it only counts.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use ostrakon_core::{ShardId, Time};

use super::{
    Host,
    cell::Cell,
    kind::Kind,
    pulse::PulseTaker,
    stats::{Tabled, Totals},
};
use crate::{Entity, dead_letters::DeadReason, lease::Wait};

const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// How many entities are stopped before others may run.
const BEFORE_YIELD: usize = 512;

/// How many entities are looked at before others may run.
const LOOKS_BEFORE_YIELD: usize = 4096;

pub(crate) async fn run<E: Entity>(host: Weak<Host<E>>, kind: Arc<Kind<E>>) {
    let mut report = Report::new(&host);
    let mut pulses = None;
    let mut next_report = kind.now() + REPORT_PERIOD;
    let mut next_sweep = kind.sweep_period().map(|period| kind.now() + period);
    let (lease, mut wait) = (&kind.runtime.lease, Wait::default());
    loop {
        let suspended = lease.is_over();
        let due = match suspended {
            true => [None, None, Some(next_report)],
            false => [kind.timers.next_due(), next_sweep, Some(next_report)],
        };
        let wake = due.into_iter().flatten().min().unwrap_or(next_report);
        tokio::select! {
            () = kind.clock.sleep_until(wake) => {}
            () = kind.call_janitor.notified() => {}
            () = lease.lasts(&mut wait), if suspended => {}
        }
        let Some(host) = host.upgrade() else {
            return;
        };
        let now = kind.now();
        kind.timers.fire(now, lease, |cell| {
            kind.dead_letters
                .bury::<E>(&cell.id, DeadReason::Overloaded, None);
        });
        if !lease.is_over() {
            host.keep_limit().await;
            if next_sweep.is_some_and(|at| at <= now) {
                kind.timers.prune();
                host.sweep(now).await;
                next_sweep = kind.sweep_period().map(|period| now + period);
            }
        }
        if next_report <= now {
            report.publish(host.count(now, &mut pulses));
            next_report = now + REPORT_PERIOD;
        }
    }
}

impl<E: Entity> Host<E> {
    /// Stops the entities that have been idle for long enough.
    pub(crate) async fn sweep(&self, now: Time) {
        let Some(idle) = self.kind.hosting.idle_after else {
            return;
        };
        let mut seen = 0;
        for home in &self.homes {
            let mut over = Vec::new();
            if seen >= LOOKS_BEFORE_YIELD {
                seen = 0;
                tokio::task::yield_now().await;
            }
            for cell in home.table.lock().cells.iter() {
                seen += 1;
                let mut queue = cell.queue.lock();
                if now.saturating_since(queue.parked_at) >= idle && queue.is_idle() {
                    over.push(Arc::clone(cell));
                }
            }
            self.stop_idle(over).await;
        }
    }

    /// Stops the least recently used idle entities while there are more than the limit.
    async fn keep_limit(&self) {
        let Some(limit) = self.kind.hosting.active_limit else {
            return;
        };
        let surplus = self.kind.active().saturating_sub(limit);
        if surplus == 0 {
            return;
        }
        let mut idle: Vec<(Time, Arc<Cell<E>>)> = Vec::new();
        let mut seen = 0;
        for home in &self.homes {
            for cell in home.table.lock().cells.iter() {
                let mut queue = cell.queue.lock();
                seen += 1;
                if queue.is_idle() {
                    idle.push((queue.parked_at, Arc::clone(cell)));
                }
            }
            if seen >= LOOKS_BEFORE_YIELD {
                seen = 0;
                tokio::task::yield_now().await;
            }
        }
        // A large table is looked through once for many, not once for each.
        let wanted = (surplus + limit / 32).min(idle.len());
        if wanted == 0 {
            return;
        }
        idle.select_nth_unstable_by_key(wanted - 1, |(used, _)| *used);
        idle.truncate(wanted);
        self.stop_idle(idle.into_iter().map(|(_, cell)| cell).collect())
            .await;
    }

    async fn stop_idle(&self, cells: Vec<Arc<Cell<E>>>) {
        for (n, cell) in cells.into_iter().enumerate() {
            // A message may have come since: then the entity is not idle any more.
            if !cell.queue.lock().is_idle() {
                continue;
            }
            if let Some(due) = cell.order_stop() {
                due.here(None).run(&self.kind.runtime).await;
            }
            if n % BEFORE_YIELD == BEFORE_YIELD - 1 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Counts what has happened; those who look after the cluster are told as well.
    fn count(&self, now: Time, pulses: &mut Option<PulseTaker>) -> Totals {
        let Some(samples) = &self.kind.samples else {
            return self.totals(|_, _| {});
        };
        let begin = || PulseTaker::new(E::KIND, self.group.name.clone(), now);
        let taker = pulses.get_or_insert_with(begin);
        let totals = self.totals(|shard, handled| taker.counted(shard, handled));
        let pulse = taker.take(now, totals, samples);
        if let Some(node) = self.kind.node.upgrade()
            && let Some(membership) = node.0.membership.get()
        {
            membership.has_pulse(pulse);
        }
        totals
    }

    fn totals(&self, mut each: impl FnMut(ShardId, u64)) -> Totals {
        let mut totals = Totals::default();
        for home in &self.homes {
            let table = home.table.lock();
            let tabled = Tabled {
                active: table.cells.len(),
                accepted: table.accepted,
                queued: table.queued,
            };
            drop(table);
            each(home.shard, totals.add(tabled, &home.stats));
        }
        totals
    }
}

/// The kind's metrics. Handles are made once: a counter that nobody listens to costs nothing then.
struct Report {
    active: metrics::Gauge,
    queued: metrics::Gauge,
    handled: metrics::Counter,
    started: metrics::Counter,
    stopped: metrics::Counter,
    failed: metrics::Counter,
    overloaded: metrics::Counter,
    given_up: metrics::Counter,
}

impl Report {
    fn new<E: Entity>(host: &Weak<Host<E>>) -> Self {
        let node = host
            .upgrade()
            .map_or_else(String::new, |host| host.node_name.clone());
        let labels = [("kind", E::KIND.to_owned()), ("node", node)];
        Self {
            active: metrics::gauge!("ostrakon_entities", &labels),
            queued: metrics::gauge!("ostrakon_queued_messages", &labels),
            handled: metrics::counter!("ostrakon_handled_total", &labels),
            started: metrics::counter!("ostrakon_started_total", &labels),
            stopped: metrics::counter!("ostrakon_stopped_total", &labels),
            failed: metrics::counter!("ostrakon_failed_total", &labels),
            overloaded: metrics::counter!("ostrakon_overloaded_total", &labels),
            given_up: metrics::counter!("ostrakon_given_up_total", &labels),
        }
    }

    fn publish(&mut self, totals: Totals) {
        self.active.set(totals.active as f64);
        self.queued.set(totals.queued as f64);
        self.handled.absolute(totals.handled);
        self.started.absolute(totals.started);
        self.stopped.absolute(totals.stopped);
        self.failed.absolute(totals.failed);
        self.overloaded.absolute(totals.overloaded);
        self.given_up.absolute(totals.given_up);
    }
}
