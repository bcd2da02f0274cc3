//! `Cell`: one entity's place in memory.
//!
//! ```text
//!            message: a turn begins                     turn ends, mailbox empty
//!   Parked ─────────────────────────▶ Taken ─────────────────────────────────────▶ Parked
//!                                      │ stopped, failed or killed, nothing waits
//!                                      ▼
//!                                     Gone (out of the table; nobody finds it any more)
//! ```
//!
//! A parked cell has no task and no timer: it is an id, a state and an empty queue. While it is taken exactly one
//! [`Turn`](super::turn) owns the entity: it has taken it out of the cell, and puts it back when it parks the cell. Lock
//! order: shard table, then queue.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Waker},
};

use ostrakon_core::{EntityId, Time};
use tokio::task::JoinSet;

use super::{
    envelope::Envelope,
    home::Home,
    runtime::Runtime,
    turn::{Due, stopped},
};
use crate::{
    Entity, TellError,
    lease::{Acting, Wait, Who},
    lock::Mutex,
};

pub(crate) struct Cell<E: Entity> {
    pub(crate) id: EntityId,
    /// The id's stable hash, kept so that a growing table need not compute it again.
    pub(crate) key: u64,
    pub(crate) home: Arc<Home<E>>,
    fate: AtomicU8,
    pub(crate) queue: Mutex<Queue<E>>,
}

pub(crate) struct Queue<E: Entity> {
    pub(crate) phase: Phase,
    /// Here while the cell is parked.
    entity: Option<E>,
    /// The entity shall stop as soon as its mailbox is empty.
    pub(crate) stop: bool,
    /// Idle time does not stop this life of the entity.
    pub(crate) keep: bool,
    /// The entity is kept running: after every end comes a new life (singletons).
    pub(crate) pinned: bool,
    /// Which life of the entity this is; timers of an earlier one do not fire.
    pub(crate) life: u32,
    /// Timers of this life that have not fired.
    pub(crate) timers: u32,
    /// When the cell was parked last; meaningless while it is taken.
    pub(crate) parked_at: Time,
    pub(crate) mail: VecDeque<Envelope<E>>,
    /// Rare things, so that the common entity does not pay for their space.
    rare: Option<Box<Rare>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Parked,
    Taken,
    Gone,
}

/// Nothing is decided.
const LIVES: u8 = 0;
/// It ends at the next point where it can be ended.
const KILLED: u8 = 1;
/// The same, because its shard is not ours any more.
const FENCED: u8 = 2;

/// Which life's timer has come, and whether it comes again.
#[derive(Clone, Copy)]
pub(crate) struct TimerOf {
    pub(crate) life: u32,
    /// It was cancelled.
    pub(crate) is_over: bool,
    pub(crate) comes_again: bool,
}

/// What became of a timer's message.
pub(crate) enum Timed {
    Delivered,
    /// The life that set the timer is over, or has cancelled it.
    Stale,
    /// The mailbox was full.
    Refused,
}

#[derive(Default)]
struct Rare {
    /// Wakes the turn that waits inside a handler, so that a kill is seen.
    waker: Option<Waker>,
    /// What the entity started with `Context::spawn`.
    tasks: JoinSet<()>,
}

impl<E: Entity> Cell<E> {
    /// A new cell, taken by whoever makes it.
    pub(crate) fn taken(id: EntityId, key: u64, home: Arc<Home<E>>) -> Arc<Self> {
        Arc::new(Self {
            id,
            key,
            home,
            fate: AtomicU8::new(LIVES),
            queue: Mutex::new(Queue {
                phase: Phase::Taken,
                entity: None,
                stop: false,
                keep: false,
                pinned: false,
                life: 0,
                timers: 0,
                parked_at: Time::ZERO,
                mail: VecDeque::new(),
                rare: None,
            }),
        })
    }

    /// Orders the entity to stop once its mailbox is empty. The turn in which a parked one does so is returned.
    pub(crate) fn order_stop(self: &Arc<Self>) -> Option<Due<E>> {
        let mut queue = self.queue.lock();
        queue.stop = true;
        match queue.phase {
            Phase::Parked => Some(queue.take(self, None)),
            Phase::Taken => {
                let waker = queue.rare.as_mut().and_then(|rare| rare.waker.take());
                drop(queue);
                if let Some(waker) = waker {
                    waker.wake();
                }
                None
            }
            Phase::Gone => None,
        }
    }

    /// Delivers a note of the entity to itself: no look-up, the cell is known.
    pub(crate) fn deliver_own(self: &Arc<Self>, message: E::Message) -> Result<(), TellError> {
        let mut queue = self.queue.lock();
        let due = self.accept_own(&mut queue, message)?;
        drop(queue);
        if let Some(due) = due {
            due.spawn(&self.home.kind.runtime);
        }
        Ok(())
    }

    /// Delivers a timer's message to the life that set it, and to no other.
    pub(crate) fn deliver_timed(self: &Arc<Self>, timer: TimerOf, message: E::Message) -> Timed {
        let mut queue = self.queue.lock();
        if queue.phase == Phase::Gone || queue.life != timer.life {
            return Timed::Stale;
        }
        if timer.is_over || !timer.comes_again {
            queue.timers -= 1;
        }
        if timer.is_over {
            return Timed::Stale;
        }
        let accepted = self.accept_own(&mut queue, message);
        drop(queue);
        match accepted {
            Ok(Some(due)) => due.spawn(&self.home.kind.runtime),
            Ok(None) => {}
            Err(_) => return Timed::Refused,
        }
        Timed::Delivered
    }

    /// Counts a timer of the present life, which is returned. `None`: there are `most` already.
    pub(crate) fn begin_timer(&self, most: usize) -> Option<u32> {
        let mut queue = self.queue.lock();
        if queue.timers as usize >= most {
            return None;
        }
        queue.timers += 1;
        Some(queue.life)
    }

    /// A timer of this life will not come any more.
    pub(crate) fn end_timer(&self, life: u32) {
        let mut queue = self.queue.lock();
        if queue.life == life {
            queue.timers -= 1;
        }
    }

    fn accept_own(
        self: &Arc<Self>,
        queue: &mut Queue<E>,
        message: E::Message,
    ) -> Result<Option<Due<E>>, TellError> {
        let envelope = Envelope::tell(message);
        let stats = &self.home.stats;
        let due = match queue.phase {
            Phase::Gone => return Err(stopped::<E>(&self.id)),
            Phase::Parked => Some(queue.take(self, Some(envelope))),
            Phase::Taken => {
                if let Some(error) = queue.is_full(self) {
                    return Err(error);
                }
                queue.mail.push_back(envelope);
                stats.own_queued.one();
                None
            }
        };
        stats.own_accepted.one();
        Ok(due)
    }

    /// Ends the entity at the next point where it can be ended: between two polls.
    pub(crate) fn kill(&self) {
        self.end_as(KILLED);
        let waker = self.queue.lock().rare().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The same for an entity whose shard is not ours any more. The turn in which a parked one ends is returned.
    pub(crate) fn fence(self: &Arc<Self>) -> Option<Due<E>> {
        self.end_as(FENCED);
        self.order_stop()
    }

    fn end_as(&self, fate: u8) {
        self.fate.store(fate, Ordering::Release);
        self.home.note_killed();
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.fate.load(Ordering::Acquire) != LIVES
    }

    /// The error of a message that waited for an entity that has ended.
    pub(crate) fn ended(&self) -> TellError {
        if self.fate.load(Ordering::Acquire) == FENCED {
            return TellError::NoOwner {
                kind: E::KIND,
                id: self.id.clone(),
                shard: self.home.shard,
            };
        }
        stopped::<E>(&self.id)
    }

    /// Ready when the lease lasts, or the entity has been killed.
    pub(crate) fn poll_lasts(&self, wait: &mut Wait, cx: &mut Context<'_>) -> Poll<()> {
        self.waits(cx.waker());
        // A kill before this found no waker.
        if self.is_killed() {
            return Poll::Ready(());
        }
        let lease = &self.home.kind.runtime.lease;
        lease.poll_lasts(wait, cx.waker())
    }

    /// A call of its code begins that belongs to a turn for which the lease has lasted.
    #[inline]
    pub(crate) fn goes_on(&self) -> Acting {
        self.home.kind.runtime.lease.goes_on(|| self.who())
    }

    fn who(&self) -> Who {
        Who::Entity(E::KIND, self.id.clone())
    }

    /// The running turn waits; `waker` brings it back.
    pub(crate) fn waits(&self, waker: &Waker) {
        let mut queue = self.queue.lock();
        let stored = &mut queue.rare().waker;
        if !stored.as_ref().is_some_and(|w| w.will_wake(waker)) {
            *stored = Some(waker.clone());
        }
    }
}

impl<E: Entity> Queue<E> {
    /// The error for whoever wants to put one more message behind those that wait, if there is no room.
    pub(crate) fn is_full(&self, cell: &Cell<E>) -> Option<TellError> {
        let capacity = cell.home.kind.hosting.mailbox;
        if self.mail.len() < capacity {
            return None;
        }
        cell.home.stats.overloaded.one();
        Some(TellError::Overloaded {
            kind: E::KIND,
            id: cell.id.clone(),
            capacity,
        })
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Starts a task that lives at most as long as this life of the entity, and waits while the lease is over.
    pub(crate) fn spawn(
        &mut self,
        runtime: &Runtime,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let tasks = &mut self.rare().tasks;
        reap(tasks);
        tasks.spawn_on(runtime.leased(task), runtime);
    }

    /// Nothing would be missed if the entity stopped now.
    pub(crate) fn is_idle(&mut self) -> bool {
        if self.phase != Phase::Parked || self.timers > 0 || self.keep || self.pinned {
            return false;
        }
        let Some(rare) = &mut self.rare else {
            return true;
        };
        reap(&mut rare.tasks);
        rare.tasks.is_empty()
    }

    /// Ends a life: its timers will not fire, and its tasks are returned to be ended.
    pub(crate) fn end_life(&mut self) -> Option<JoinSet<()>> {
        self.life = self.life.wrapping_add(1);
        self.timers = 0;
        self.keep = false;
        let rare = self.rare.take()?;
        (!rare.tasks.is_empty()).then_some(rare.tasks)
    }

    /// Takes a parked cell for a turn.
    pub(crate) fn take(&mut self, cell: &Arc<Cell<E>>, first: Option<Envelope<E>>) -> Due<E> {
        self.phase = Phase::Taken;
        Due::new(cell, first, self.entity.take())
    }

    /// Puts the entity back, and frees what only a busy one needs.
    pub(crate) fn park(&mut self, entity: Option<E>, now: Time) {
        self.entity = entity;
        self.phase = Phase::Parked;
        self.parked_at = now;
        self.mail = VecDeque::new();
        if let Some(rare) = &mut self.rare {
            rare.waker = None;
            reap(&mut rare.tasks);
            if rare.tasks.is_empty() {
                self.rare = None;
            }
        }
    }
}

fn reap(tasks: &mut JoinSet<()>) {
    // A task that panicked has been reported by the panic hook; the entity is told nothing.
    while tasks.try_join_next().is_some() {}
}
