//! `Context`: what an entity's code can do besides handling its message.

use std::{sync::Arc, time::Duration};

use ostrakon_core::{EntityId, Epoch};

use crate::{
    Entity, EntityRef, Node, TellError, Timer,
    dead_letters::DeadReason,
    host::{cell::Cell, timers::Schedule},
};

/// Handed to every handler and hook of an entity.
pub struct Context<E: Entity> {
    cell: Arc<Cell<E>>,
    stopping: bool,
}

impl<E: Entity> Context<E> {
    pub(crate) fn new(cell: Arc<Cell<E>>) -> Self {
        Self {
            cell,
            stopping: false,
        }
    }

    /// The entity's id.
    pub fn id(&self) -> &EntityId {
        &self.cell.id
    }

    /// The ownership of the shard that this entity lives under. A later owner has a higher one: give it to whatever stores or does
    /// something for this entity, so that it can refuse those who do not know yet that they are no longer the owner.
    pub fn epoch(&self) -> Epoch {
        self.cell.home.table.lock().epoch
    }

    /// The node this code runs on.
    ///
    /// # Panics
    /// When the last [`Node`] handle was dropped without [`Node::leave`] while this code still runs.
    pub fn node(&self) -> Node {
        self.cell
            .home
            .kind
            .node
            .upgrade()
            .expect("the node was dropped while its entities run; keep it, and end it with `leave`")
    }

    /// A ref to this entity, to be given to others. Asking oneself is a [`Cycle`](crate::AskError::Cycle); use [`Context::tell_self`].
    pub fn me(&self) -> E::Ref {
        let host = self.cell.home.kind.host.upgrade();
        EntityRef::of(host, self.cell.id.clone()).into()
    }

    /// Sends this entity a message, behind those that wait already.
    pub fn tell_self(&self, message: E::Message) -> Result<(), TellError> {
        self.cell.deliver_own(message)
    }

    /// Sends this entity a message after a while. The end of this life of the entity cancels it.
    ///
    /// An entity may have as many timers as its mailbox has places; one more is a dead letter.
    pub fn schedule(&self, after: Duration, message: E::Message) -> Timer {
        self.set_timer(after, Schedule::Once(Some(message)))
    }

    /// Sends this entity a message every `period`, the first after one period. Missed ticks are skipped.
    pub fn schedule_every(
        &self,
        period: Duration,
        message: impl FnMut() -> E::Message + Send + 'static,
    ) -> Timer {
        // A period of nothing would keep the janitor busy for ever.
        let period = period.max(Duration::from_millis(1));
        self.set_timer(period, Schedule::Every(period, Box::new(message)))
    }

    fn set_timer(&self, after: Duration, schedule: Schedule<E>) -> Timer {
        let kind = &self.cell.home.kind;
        let Some(timer) = kind.timers.set(kind.now() + after, &self.cell, schedule) else {
            let letters = &kind.dead_letters;
            letters.bury::<E>(&self.cell.id, DeadReason::Overloaded, None);
            return Timer::inert();
        };
        kind.call_janitor.notify_one();
        timer
    }

    /// Runs `work` beside the entity, which handles other messages meanwhile and is not idle. It ends with this life of the entity at the latest.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let runtime = &self.cell.home.kind.runtime;
        self.cell.queue.lock().spawn(runtime, work);
    }

    /// Stops the entity after the present message. The next message starts it anew. In `start` this does nothing: return an
    /// error there.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Exempts this life of the entity from being stopped for idleness.
    pub fn keep_alive(&self) {
        self.cell.queue.lock().keep = true;
    }

    pub(crate) fn wants_to_stop(&self) -> bool {
        self.stopping
    }

    pub(crate) fn life_begins(&mut self) {
        self.stopping = false;
    }
}
