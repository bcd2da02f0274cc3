//! How a turn begins and ends the lives of its entity.
//!
//! A life is one instance of the entity, from `start` to `stop`. Invariant: one is over, its background work included, before the
//! next begins.

use std::task::Poll;

use super::Turn;
use crate::{
    AskError, Cause, Entity,
    dead_letters::DeadReason,
    host::{
        cell::Phase,
        gate::{self, Cut, Gate, Passed, Serves},
    },
    lease::Wait,
};

impl<E: Entity> Turn<'_, E> {
    /// Begins a life. `false`: it could not be begun; those who waited have been told, and a pause was made.
    pub(super) async fn start(&mut self) -> bool {
        let cell = self.seat.cell;
        let result = match gate::call_of(cell, || self.seat.kind.factory.make(&cell.id)) {
            Ok(None) => return false,
            Ok(Some(mut entity)) => {
                let span = tracing::debug_span!("start", kind = E::KIND, id = %cell.id);
                let passed = match gate::call_of(cell, || entity.start(&mut self.ctx)) {
                    Ok(code) => Gate::new(&self.seat, Serves::default(), span, code).await,
                    Err(cut) => Passed::cut(cut),
                };
                if passed.waited {
                    self.has_waited();
                }
                passed.result.map(|started| started.map(|()| entity))
            }
            Err(cut) => Err(cut),
        };
        let cause = match result {
            Ok(Ok(entity)) => {
                self.ctx.life_begins();
                *self.entity = Some(entity);
                cell.home.stats.started.one();
                return true;
            }
            Err(Cut::Killed) => return false,
            Ok(Err(failure)) => Cause::from_failure(&failure),
            Err(Cut::Panicked(cause)) => cause,
        };
        self.count_failure(&cause, "an entity could not start");
        self.tell_all_waiting(&|| AskError::StartFailed(cause.clone()), &|| {
            DeadReason::StartFailed(cause.clone())
        });
        self.end_life().await;
        self.pause().await;
        false
    }

    /// Fails every message that waits, and leaves the mailbox empty.
    fn tell_all_waiting(&mut self, error: &dyn Fn() -> AskError, reason: &dyn Fn() -> DeadReason) {
        let mail = std::mem::take(&mut self.seat.cell.queue.lock().mail);
        self.seat.home.stats.dequeued.many(mail.len());
        let batch = std::mem::take(&mut self.batch);
        for envelope in self.next.take().into_iter().chain(batch).chain(mail) {
            self.seat.home.stats.given_up.one();
            match envelope.ask {
                Some(ask) => ask.pending.fail(error()),
                None => self.bury(reason(), envelope.letter.message()),
            }
        }
    }

    pub(super) async fn stop(&mut self) {
        let cell = self.seat.cell;
        let deadline = self.seat.kind.hosting.stop_deadline;
        if let Some(entity) = self.entity.as_mut() {
            let span = tracing::debug_span!("stop", kind = E::KIND, id = %cell.id);
            let hook = async {
                match gate::call_of(cell, || entity.stop(&mut self.ctx)) {
                    Ok(code) => Gate::new(&self.seat, Serves::default(), span, code).await,
                    Err(cut) => Passed::cut(cut),
                }
            };
            match tokio::time::timeout(deadline, hook).await {
                Err(_) => {
                    self.has_waited();
                    tracing::warn!(kind = E::KIND, id = %cell.id, "the stop deadline passed; the entity was ended");
                }
                Ok(passed) => {
                    if passed.waited {
                        self.has_waited();
                    }
                    if let Err(Cut::Panicked(cause)) = passed.result {
                        tracing::warn!(kind = E::KIND, id = %cell.id, %cause, "a stop hook failed");
                    }
                }
            }
        }
        self.end_life().await;
    }

    /// Drops the entity's state and ends what it had started.
    pub(super) async fn end_life(&mut self) {
        let tasks = self.seat.cell.queue.lock().end_life();
        let entity = self.entity.take();
        if entity.is_some() {
            self.seat.home.stats.stopped.one();
        }
        if gate::call(|| drop(entity)).is_err() {
            tracing::warn!(kind = E::KIND, id = %self.seat.id, "dropping the entity panicked");
        }
        if let Some(mut tasks) = tasks {
            tasks.shutdown().await;
            self.has_waited();
        }
    }

    /// Waits until the lease is extended, or the entity is killed.
    pub(super) async fn suspend(&mut self) {
        self.has_waited();
        let mut wait = Wait::default();
        std::future::poll_fn(|cx| self.seat.cell.poll_lasts(&mut wait, cx)).await;
    }

    /// Waits before the next life, if there can be one. Ends early when the entity is to stop.
    pub(super) async fn pause(&mut self) {
        if !self.seat.kind.factory.is_on_demand() {
            return;
        }
        let pause = self.seat.kind.hosting.restart.after(self.failures);
        let mut over = std::pin::pin!(tokio::time::sleep(pause));
        std::future::poll_fn(|cx| {
            self.seat.cell.waits(cx.waker());
            if self.seat.is_killed() || self.seat.cell.queue.lock().stop {
                return Poll::Ready(());
            }
            over.as_mut().poll(cx)
        })
        .await;
        self.has_waited();
    }

    /// Takes the cell out of the table, unless somebody waits for a new life.
    pub(super) fn vacate(&mut self) -> bool {
        let cell = self.seat.cell;
        let mut table = cell.home.table.lock();
        let mut queue = cell.queue.lock();
        let waiting = self.next.is_some() || !self.batch.is_empty() || !queue.mail.is_empty();
        let pinned = queue.pinned && table.open.is_some() && !queue.stop;
        let can_live = self.seat.kind.factory.is_on_demand() && !self.seat.is_killed();
        if can_live && (waiting || pinned) {
            // An order to stop that came with idleness is void when messages come; one that came with closing is not.
            queue.stop &= table.open.is_none();
            return false;
        }
        queue.phase = Phase::Gone;
        table.cells.remove(cell);
        let emptied = table.open.is_none() && table.cells.len() == 0;
        drop(queue);
        drop(table);
        self.tell_all_waiting(&|| AskError::NotSent(cell.ended()), &|| DeadReason::Stopped);
        if !self.seat.kind.factory.is_on_demand() {
            self.seat.kind.node.actor_ended(&cell.id);
        }
        self.seat.kind.one_less();
        if emptied {
            cell.home.emptied.notify_waiters();
        }
        true
    }
}
