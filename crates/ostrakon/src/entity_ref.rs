//! `EntityRef`: the handle through which messages reach an entity, wherever it is.
//!
//! Making one costs a hash; it holds the way to the entity, not the entity, so it stays good when the entity stops, fails
//! or moves. An ask to an entity that is free runs right here, on the asker's task; a tell never does.

use std::{cell::Cell, fmt, sync::Arc, time::Duration};

use ostrakon_core::{EntityId, Time};

use crate::{
    AskError, CallChain, Entity, EntityStream, Payload, Reply, StreamReply, TellError,
    chain::{self, Inherited},
    host::{
        Host, Place,
        envelope::{Ask, Envelope},
        turn::Due,
    },
    reply::{Opening, Pending, Settle, Slot},
    wire,
};

/// Deeper chains of asks do not run on the outermost asker's stack.
const DEEPEST_HERE: usize = 8;

/// How many asks a thread answers on the spot before it lets other tasks run.
const BEFORE_YIELD: u32 = 32;

/// A way to one entity. Cheap to clone; made by [`Node::entity`](crate::Node::entity).
pub struct EntityRef<E: Entity> {
    target: Target<E>,
    timeout: Duration,
}

enum Target<E: Entity> {
    Here {
        host: Arc<Host<E>>,
        id: EntityId,
        place: Place,
    },
    /// The id or the kind cannot be reached: every send says why.
    Nowhere(TellError),
}

impl<E: Entity> Clone for EntityRef<E> {
    fn clone(&self) -> Self {
        let target = match &self.target {
            Target::Here { host, id, place } => Target::Here {
                host: Arc::clone(host),
                id: id.clone(),
                place: *place,
            },
            Target::Nowhere(error) => Target::Nowhere(error.clone()),
        };
        Self {
            target,
            timeout: self.timeout,
        }
    }
}

impl<E: Entity> AsRef<Self> for EntityRef<E> {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl<E: Entity> fmt::Debug for EntityRef<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Here { id, .. } => write!(f, "EntityRef({}/{id})", E::KIND),
            Target::Nowhere(error) => write!(f, "EntityRef({}: {error})", E::KIND),
        }
    }
}

impl<E: Entity> EntityRef<E> {
    /// How long an ask waits unless [`EntityRef::within`] says otherwise.
    pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

    pub(crate) fn of(host: Option<Arc<Host<E>>>, id: EntityId) -> Self {
        let target = match host {
            None => Target::Nowhere(TellError::UnknownKind {
                kind: E::KIND.to_owned(),
            }),
            Some(host) => match host.place(&id) {
                Ok(place) => Target::Here { host, id, place },
                Err(error) => Target::Nowhere(error.into()),
            },
        };
        Self {
            target,
            timeout: Self::DEFAULT_TIMEOUT,
        }
    }

    pub(crate) fn nowhere(error: TellError) -> Self {
        Self {
            target: Target::Nowhere(error),
            timeout: Self::DEFAULT_TIMEOUT,
        }
    }

    /// The entity's id; `None` if the ref was made with one that cannot be used.
    pub fn id(&self) -> Option<&EntityId> {
        match &self.target {
            Target::Here { id, .. } => Some(id),
            Target::Nowhere(_) => None,
        }
    }

    /// The same way, with another time limit for asks.
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends a message and does not wait for it to be handled. An error means that it was not accepted.
    ///
    /// A full mailbox is an error at once ([`TellError::Overloaded`]): whoever sends faster than the entity works should pause and
    /// try again.
    pub async fn tell(&self, message: E::Message) -> Result<(), TellError> {
        // Whoever tells in a loop must leave the entities some of the processor.
        tokio::task::coop::consume_budget().await;
        self.try_tell(message)
    }

    /// [`EntityRef::tell`] for places that cannot wait, such as `Drop`.
    pub fn try_tell(&self, message: E::Message) -> Result<(), TellError> {
        let (host, id, place) = self.target()?;
        let message = host.cross_codec(message)?;
        if let Some(due) = host.deliver(place, id, Envelope::tell(message))? {
            due.spawn(&host.kind.runtime);
        }
        Ok(())
    }

    /// Sends the message that `make` builds around a [`Reply`] and waits for the answer.
    ///
    /// Dropping the future takes the message back if its turn has not come.
    pub fn ask<R: Payload>(
        &self,
        make: impl FnOnce(Reply<R>) -> E::Message,
    ) -> impl Future<Output = Result<R, AskError>> + Send {
        let slot = Slot::new();
        let message = make(Reply::first(&slot));
        self.ask_slot(slot, message)
    }

    pub(crate) fn ask_slot<R: Payload>(
        &self,
        slot: Arc<Slot<R>>,
        message: E::Message,
    ) -> impl Future<Output = Result<R, AskError>> + Send {
        self.ask_with(Arc::clone(&slot) as Arc<dyn Settle>, slot, message)
    }

    /// Sends the message that `make` builds around a [`StreamReply`] and waits until its turn has come; the items follow.
    pub async fn stream<T: Payload>(
        &self,
        make: impl FnOnce(StreamReply<T>) -> E::Message,
    ) -> Result<EntityStream<T>, AskError> {
        let (reply, stream) = StreamReply::channel();
        let opened = Slot::new();
        let message = make(reply);
        self.ask_with(Arc::new(Opening(Arc::clone(&opened))), opened, message)
            .await?;
        Ok(stream)
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` keeps its arguments twice, and an ask's future should be small"
    )]
    fn ask_with<R: Send + 'static>(
        &self,
        settle: Arc<dyn Settle>,
        slot: Arc<Slot<R>>,
        message: E::Message,
    ) -> impl Future<Output = Result<R, AskError>> + Send {
        async move {
            let asked = Asked {
                slot: &slot,
                over: false,
            };
            let (host, _, _) = self.target()?;
            let sent = self.send_ask(settle, message)?;
            if let Some(due) = sent.due {
                run(host, due, sent.run).await;
            }
            asked.outcome(host, sent.deadline).await
        }
    }

    /// Brings an ask to its entity.
    fn send_ask(&self, settle: Arc<dyn Settle>, message: E::Message) -> Result<Sent<E>, AskError> {
        let (host, id, place) = self.target()?;
        let Inherited { chain, deadline } = chain::current();
        let depth = chain.as_ref().map_or(0, CallChain::depth);
        if chain
            .as_ref()
            .is_some_and(|chain| chain.contains(E::KIND, id))
        {
            let cycle = CallChain::then(chain, E::KIND, id.clone());
            return Err(AskError::Cycle(cycle));
        }
        let message = host.cross_codec(message)?;
        let now = host.kind.now();
        let limit = now + self.timeout;
        let deadline = deadline.map_or(limit, |outer| outer.min(limit));
        let ask = Ask {
            pending: Pending::new(settle),
            deadline,
            chain,
        };
        let due = host.deliver(place, id, Envelope::ask(message, ask))?;
        let run = if depth >= DEEPEST_HERE || host.kind.slowness.is_slow() {
            Run::Elsewhere
        } else {
            Run::Here
        };
        Ok(Sent {
            deadline,
            due: due.map(|due| due.at(now)),
            run,
        })
    }

    fn target(&self) -> Result<(&Arc<Host<E>>, &EntityId, Place), TellError> {
        match &self.target {
            Target::Here { host, id, place } => Ok((host, id, *place)),
            Target::Nowhere(error) => Err(error.clone()),
        }
    }
}

/// An ask on its way.
struct Sent<E: Entity> {
    deadline: Time,
    /// The turn that the asker has to run, if the entity was free.
    due: Option<Due<E>>,
    run: Run,
}

/// Where an ask's turn runs: here, unless that would block others or deepen the stack too much.
enum Run {
    Here,
    Elsewhere,
}

async fn run<E: Entity>(host: &Host<E>, due: Due<E>, place: Run) {
    match place {
        Run::Elsewhere => due.spawn(&host.kind.runtime),
        Run::Here => {
            due.run_here(&host.kind.runtime).await;
            // A loop of asks that are all answered on the spot never waits: others must have their turn, too.
            let asks = ASKS_HERE.get().wrapping_add(1);
            ASKS_HERE.set(asks);
            if asks.is_multiple_of(BEFORE_YIELD) {
                tokio::task::yield_now().await;
            }
        }
    }
}

thread_local! {
    /// How many asks were answered on the spot, on this thread.
    static ASKS_HERE: Cell<u32> = const { Cell::new(0) };
}

/// The asker's hold on its ask: letting go takes the message back.
struct Asked<'s, R> {
    slot: &'s Slot<R>,
    over: bool,
}

impl<R> Asked<'_, R> {
    async fn outcome<E: Entity>(mut self, host: &Host<E>, deadline: Time) -> Result<R, AskError> {
        let slot = self.slot;
        let outcome = match slot.take() {
            Some(outcome) => outcome,
            None => {
                let answer = std::future::poll_fn(|cx| slot.poll(cx));
                let deadline = host.kind.clock.instant(deadline);
                // Boxed, so that the many asks that need no timer do not carry its space around.
                let answer = Box::pin(tokio::time::timeout_at(deadline, answer)).await;
                answer.unwrap_or_else(|_| slot.give_up())
            }
        };
        self.over = true;
        outcome
    }
}

impl<R> Drop for Asked<'_, R> {
    fn drop(&mut self) {
        if !self.over {
            self.slot.abandon();
        }
    }
}

impl<E: Entity> Host<E> {
    /// With forced serialization a local message goes through the codec as if it came from another node.
    fn cross_codec(&self, message: E::Message) -> Result<E::Message, TellError> {
        if !self.kind.force_serialization {
            return Ok(message);
        }
        let encoded = wire::encode(E::CODEC, &message)?;
        // The encoded form holds the replies now; the original must not answer for them.
        drop(message);
        Ok(wire::decode(E::CODEC, encoded)?)
    }
}
