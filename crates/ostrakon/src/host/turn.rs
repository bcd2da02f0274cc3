//! `Turn`: one stretch of an entity's work, from "there is a message" to "there is none left".
//!
//! A turn owns the entity while it lasts: it starts it if need be, handles messages one at a time and in order, supervises
//! failures, and in the end parks the entity or takes it out of the table. It runs on a task of its own, or on the asker's
//! task until it first has to wait. Invariant: whatever a turn takes from the mailbox it handles, refuses or sends to
//! the dead letters; nothing disappears.

mod life;

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
    time::Instant,
};

use ostrakon_core::{EntityId, Time};
use tokio::runtime::Handle;

use super::{
    cell::Cell,
    envelope::{Again, Ask, Envelope, Letter},
    gate::{self, Cut, Gate, Passed, Serves},
    seat::Seat,
    slowness::Slowness,
};
use crate::{
    AskError, Cause, CodecError, Context, Entity, TellError, TraceContext,
    dead_letters::DeadReason, spans,
};

/// How many messages a turn handles before it lets others run.
const BEFORE_YIELD: u32 = 256;

/// How often a message may fail before it goes to the dead letters.
const MOST_FAILURES: u8 = 3;

/// A turn that is due: its cell is taken.
#[must_use = "the cell stays taken until the turn runs"]
pub(crate) struct Due<E: Entity> {
    cell: Arc<Cell<E>>,
    first: Option<Envelope<E>>,
    entity: Option<E>,
}

impl<E: Entity> Due<E> {
    pub(crate) fn new(cell: &Arc<Cell<E>>, first: Option<Envelope<E>>, entity: Option<E>) -> Self {
        Self {
            cell: Arc::clone(cell),
            first,
            entity,
        }
    }

    /// Runs on a task of its own.
    pub(crate) fn spawn(self, runtime: &Handle) {
        runtime.spawn(run(self, Stay::ToTheEnd, None));
    }

    /// Prepares to run on the task of somebody who may know what time it is, which saves reading the clock again.
    pub(crate) fn here(self, now: Option<Time>) -> Here {
        Here(Box::pin(run(self, Stay::ForOneMessage, now)))
    }
}

/// A turn that is about to run on somebody else's task.
#[must_use = "the cell stays taken until the turn runs"]
pub(crate) struct Here(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Here {
    /// Runs until it first has to wait or has done its first message, then goes on on a task of its own.
    pub(crate) fn poll(mut self, runtime: &Handle, cx: &mut TaskContext<'_>) {
        if self.0.as_mut().poll(cx).is_pending() {
            runtime.spawn(self.0);
        }
    }

    /// The same for those who have no context at hand.
    pub(crate) async fn run(self, runtime: &Handle) {
        let mut turn = Some(self);
        std::future::poll_fn(|cx| {
            if let Some(turn) = turn.take() {
                turn.poll(runtime, cx);
            }
            Poll::Ready(())
        })
        .await;
    }
}

/// How long a turn may use the task it runs on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stay {
    ToTheEnd,
    ForOneMessage,
}

#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` keeps its arguments twice, and this future is boxed for every ask to a parked entity"
)]
fn run<E: Entity>(
    mut due: Due<E>,
    stay: Stay,
    at: Option<Time>,
) -> impl Future<Output = ()> + Send {
    async move {
        let mut turn = Turn {
            seat: Seat::of(&due.cell),
            ctx: Context::new(Arc::clone(&due.cell)),
            entity: &mut due.entity,
            next: &mut due.first,
            batch: VecDeque::new(),
            stay,
            at,
            since_yield: 0,
            failures: 0,
        };
        while !turn.is_over().await {}
    }
}

struct Turn<'c, E: Entity> {
    seat: Seat<'c, E>,
    ctx: Context<E>,
    /// `None` before the start and after the end of a life.
    entity: &'c mut Option<E>,
    /// The message to be handled before those of the batch.
    next: &'c mut Option<Envelope<E>>,
    batch: VecDeque<Envelope<E>>,
    stay: Stay,
    /// The time, while it is known without reading the clock.
    at: Option<Time>,
    since_yield: u32,
    /// Failures in a row.
    failures: u32,
}

/// What a turn does next.
enum Step {
    /// There is a next message.
    Handle,
    /// The mailbox had more: let others run first.
    MakeRoom,
    Stop,
    /// The cell is parked; the turn is over.
    Parked,
}

/// Whether an entity can handle messages.
enum Ready {
    Yes,
    /// Look again.
    NotYet,
    /// This turn is over.
    Never,
}

#[cold]
fn boxed<'f, T>(
    rare: impl Future<Output = T> + Send + 'f,
) -> Pin<Box<dyn Future<Output = T> + Send + 'f>> {
    Box::pin(rare)
}

/// A message whose handler failed.
struct Trouble<E: Entity> {
    cause: Cause,
    ask: Option<Ask>,
    trace: Option<Arc<TraceContext>>,
    /// The message once more, if its kind wants that.
    copy: Option<Box<Again<E>>>,
}

impl<E: Entity> Turn<'_, E> {
    /// Does one step. `true`: there is nothing left to do.
    ///
    /// What is rare is boxed and apart: a turn's future is made for every message to a parked entity, so it must be small.
    async fn is_over(&mut self) -> bool {
        let is_ready = !self.seat.is_killed() && !self.seat.kind.runtime.lease.is_over();
        if !is_ready || self.entity.is_none() {
            match boxed(self.get_ready()).await {
                Ready::Yes => {}
                Ready::NotYet => return false,
                Ready::Never => return self.vacate(),
            }
        }
        match self.step() {
            Step::Handle => {
                let Some(trouble) = self.handle().await else {
                    return false;
                };
                boxed(self.recover(trouble)).await;
                // Perhaps nobody wants the entity back.
                self.vacate()
            }
            Step::MakeRoom => {
                self.make_room().await;
                false
            }
            Step::Stop => {
                boxed(self.stop()).await;
                self.vacate()
            }
            Step::Parked => true,
        }
    }

    /// Begins a life if there is none, unless the entity must not act.
    async fn get_ready(&mut self) -> Ready {
        if self.seat.is_killed() {
            self.end_life().await;
            return Ready::Never;
        }
        if self.seat.kind.runtime.lease.is_over() {
            self.suspend().await;
            return Ready::NotYet;
        }
        if self.entity.is_none() && !self.start().await {
            return Ready::Never;
        }
        Ready::Yes
    }

    fn step(&mut self) -> Step {
        if self.ctx.wants_to_stop() {
            return Step::Stop;
        }
        if self.next.is_some() || !self.batch.is_empty() {
            return Step::Handle;
        }
        let mut queue = self.seat.cell.queue.lock();
        if queue.mail.is_empty() {
            if queue.stop {
                return Step::Stop;
            }
            let now = self.at.unwrap_or_else(|| self.seat.kind.now());
            queue.park(self.entity.take(), now);
            return Step::Parked;
        }
        let most = self.seat.kind.batch();
        if queue.mail.len() <= most {
            std::mem::swap(&mut self.batch, &mut queue.mail);
        } else {
            self.batch.extend(queue.mail.drain(..most));
        }
        drop(queue);
        self.seat.home.stats.dequeued.many(self.batch.len());
        Step::MakeRoom
    }

    /// By now the turn has a task of its own, and time has passed.
    fn has_waited(&mut self) {
        self.stay = Stay::ToTheEnd;
        self.at = None;
    }

    /// Lets other tasks run now and then; leaves the asker's task for good.
    async fn make_room(&mut self) {
        if self.stay == Stay::ForOneMessage {
            self.has_waited();
            let mut left = false;
            // Pending once, without a waker: whoever polls us then gives us a task of our own.
            std::future::poll_fn(|_| {
                if std::mem::replace(&mut left, true) {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
            return;
        }
        self.at = None;
        if self.since_yield >= BEFORE_YIELD || self.seat.kind.slowness.is_slow() {
            self.since_yield = 0;
            tokio::task::yield_now().await;
        }
    }

    /// Handles the next message; what is returned is what went wrong.
    async fn handle(&mut self) -> Option<Trouble<E>> {
        let Envelope {
            letter,
            mut ask,
            trace,
        } = self.next.take().or_else(|| self.batch.pop_front())?;
        self.since_yield += 1;
        if !self.is_wanted(ask.as_ref()) {
            return self.refuse(ask, None);
        }
        let acting = self.seat.goes_on();
        let failures = letter.failures() + 1;
        let message = match letter {
            Letter::Open(message) => message,
            letter @ (Letter::Again(_) | Letter::Sealed(_)) => self.open(letter, &mut ask)?,
        };
        // Not even a copy that cannot be made may bring the turn down: then there is none.
        let again = |message| Box::new(Again { message, failures });
        let copy = gate::call(|| E::redeliver(&message).map(again)).unwrap_or(None);
        let sample = Slowness::samples_this().then(Instant::now);
        let entity = self.entity.as_mut();
        let entity = entity.expect("started before the first message");
        let serves = Serves {
            ask: ask.as_ref(),
            trace: trace.as_ref(),
        };
        let span = spans::handling(E::KIND, &self.seat.id, serves);
        let about = span.clone();
        let passed = match gate::call(|| entity.handle(message, &mut self.ctx)) {
            Ok(code) => {
                drop(acting);
                Gate::new(&self.seat, serves, span, code).await
            }
            Err(cut) => Passed::cut(cut),
        };
        self.note_work(sample, passed.waited);
        let cause = match passed.result {
            Ok(Ok(())) => {
                self.failures = 0;
                if let Some(ask) = ask {
                    ask.pending.handled();
                }
                return None;
            }
            // The ask is dropped unanswered, which tells its asker.
            Err(Cut::Killed) => return None,
            Ok(Err(failure)) => Cause::from_failure(&failure),
            Err(Cut::Panicked(cause)) => cause,
        };
        spans::failed(&about, &cause);
        Some(Trouble {
            cause,
            ask,
            trace,
            copy,
        })
    }

    fn open(&self, letter: Letter<E>, ask: &mut Option<Ask>) -> Option<E::Message> {
        letter
            .open()
            .map_or_else(|error| self.refuse(ask.take(), Some(error)), Some)
    }

    /// Nobody wants the message any more, or its bytes cannot be decoded: it is not executed.
    #[cold]
    fn refuse<T>(&self, ask: Option<Ask>, error: Option<CodecError>) -> Option<T> {
        self.seat.home.stats.given_up.one();
        match (ask, error) {
            (Some(ask), None) => ask.pending.fail(AskError::Expired),
            (Some(ask), Some(error)) => ask.pending.fail(AskError::NotSent(error.into())),
            (None, Some(error)) => {
                let cause = Cause::said(&error.to_string());
                self.bury(DeadReason::Unreadable(cause), None);
            }
            // A tell is always wanted.
            (None, None) => {}
        }
        None
    }

    /// After a failed message: tells who must know, ends this life, and pauses before the next.
    async fn recover(&mut self, trouble: Trouble<E>) {
        self.message_failed(trouble);
        self.end_life().await;
        self.pause().await;
    }

    /// Whether somebody still waits for the message; a tell is always wanted.
    fn is_wanted(&self, ask: Option<&Ask>) -> bool {
        let Some(ask) = ask else {
            return true;
        };
        // On the asker's own task the message has not waited.
        let in_time = self.stay == Stay::ForOneMessage || self.seat.kind.now() < ask.deadline;
        in_time && ask.pending.begin()
    }

    fn note_work(&mut self, sample: Option<Instant>, waited: bool) {
        if let Some(began) = sample {
            self.note_time(began, waited);
        }
        if waited {
            self.has_waited();
        }
    }

    #[inline(never)]
    fn note_time(&self, began: Instant, waited: bool) {
        let took = began.elapsed();
        self.seat.kind.latency.record(took);
        if let Some(samples) = &self.seat.kind.samples {
            samples.lock().note(self.seat.cell.key, &self.seat.id, took);
        }
        if !waited {
            self.seat.kind.slowness.note(took);
        }
    }

    fn message_failed(&mut self, trouble: Trouble<E>) {
        let Trouble {
            cause,
            ask,
            trace,
            copy,
        } = trouble;
        self.count_failure(&cause, "a handler failed");
        let poison = copy.is_some();
        if let Some(again) = copy
            && again.failures < MOST_FAILURES
        {
            *self.next = Some(Envelope {
                letter: Letter::Again(again),
                ask,
                trace,
            });
            return;
        }
        match ask {
            Some(ask) => {
                ask.pending.fail(AskError::Failed(cause.clone()));
                if poison {
                    self.bury(DeadReason::Poison(cause), None);
                }
            }
            None if poison => self.bury(DeadReason::Poison(cause), None),
            None => self.bury(DeadReason::Failed(cause), None),
        }
    }

    fn count_failure(&mut self, cause: &Cause, what: &'static str) {
        self.failures += 1;
        self.seat.home.stats.failed.one();
        tracing::warn!(kind = E::KIND, id = %self.seat.id, %cause, "{what}");
    }

    fn bury(&self, reason: DeadReason, message: Option<&E::Message>) {
        self.seat
            .kind
            .dead_letters
            .bury::<E>(&self.seat.id, reason, message);
    }
}

pub(crate) fn stopped<E: Entity>(id: &EntityId) -> TellError {
    TellError::Stopped {
        kind: E::KIND,
        id: id.clone(),
    }
}
