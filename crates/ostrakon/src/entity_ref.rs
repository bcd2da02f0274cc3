//! `EntityRef`: the handle through which messages reach an entity, wherever it is.
//!
//! Making one costs a hash; it holds the way to the entity, not the entity, so it stays good when the entity stops, fails
//! or moves. An ask to an entity that is free runs right here, on the asker's task; a tell never does.

mod asked;
mod target;

use std::{cell::Cell, fmt, sync::Arc, time::Duration};

use ostrakon_core::{EntityId, Time};
use tokio::runtime::Handle;
use tracing::Span;

use self::{
    asked::{Asked, GaveUp},
    target::Target,
};
use crate::{
    AskError, CallChain, Entity, EntityStream, Payload, Reply, StreamReply, TellError,
    TraceContext,
    chain::{self, Inherited},
    clock::Clock,
    host::{
        Host, Place, Undelivered,
        envelope::{Ask, Envelope},
        turn::Here,
    },
    link::{self, Asking, Draft, LaneKey, Lanes, Link, Outgoing, Ticket, Way},
    reply::{Opening, Pending, Settle, Slot},
    spans, wire,
};

/// How long an ask waits unless [`EntityRef::within`] says otherwise, and a tell for an owner.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Deeper chains of asks do not run on the outermost asker's stack.
const DEEPEST_HERE: usize = 8;

/// How many asks a thread answers on the spot before it lets other tasks run.
const BEFORE_YIELD: u32 = 32;

/// A way to one entity. Cheap to clone; made by [`Node::entity`](crate::Node::entity).
pub struct EntityRef<E: Entity> {
    target: Target<E>,
    timeout: Duration,
}

impl<E: Entity> Clone for EntityRef<E> {
    fn clone(&self) -> Self {
        Self {
            target: self.target.clone(),
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
            Target::Here { id, .. } | Target::Shard { id, .. } => {
                write!(f, "EntityRef({}/{id})", E::KIND)
            }
            Target::Actor { id, link, .. } => {
                write!(f, "EntityRef({}/{id} on {})", E::KIND, link.peer)
            }
            Target::Nowhere(error) => write!(f, "EntityRef({}: {error})", E::KIND),
        }
    }
}

impl<E: Entity> EntityRef<E> {
    pub(crate) fn of(host: Option<Arc<Host<E>>>, id: EntityId) -> Self {
        let Some(host) = host else {
            let kind = E::KIND.to_owned();
            return Self::nowhere(TellError::UnknownKind { kind });
        };
        let place = match host.place(&id) {
            Ok(place) => place,
            Err(error) => return Self::nowhere(error.into()),
        };
        let clock = host.kind.clock;
        match host
            .lanes
            .as_ref()
            .map(|lanes| Arc::clone(&lanes[place.shard.index()]))
        {
            None => Self::to(Target::Here { host, id, place }),
            Some(lane) => Self::to(Target::Shard {
                host: Some(host),
                lane,
                id,
                place,
                clock,
            }),
        }
    }

    /// An entity of a kind that only other nodes host.
    pub(crate) fn away(lanes: &Lanes, place: Place, id: EntityId, clock: Clock) -> Self {
        Self::to(Target::Shard {
            host: None,
            lane: Arc::clone(&lanes[place.shard.index()]),
            id,
            place,
            clock,
        })
    }

    /// An actor on another node.
    pub(crate) fn on(link: Arc<Link>, id: EntityId, clock: Clock) -> Self {
        Self::to(Target::Actor { link, id, clock })
    }

    fn to(target: Target<E>) -> Self {
        Self {
            target,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    pub(crate) fn nowhere(error: TellError) -> Self {
        Self::to(Target::Nowhere(error))
    }

    /// The entity's id; `None` if the ref was made with one that cannot be used.
    pub fn id(&self) -> Option<&EntityId> {
        self.target.id().ok()
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
        let trace = chain::current_trace();
        let Some(home) = self.target.home() else {
            return self.tell_away(message, trace.as_deref());
        };
        let message = home.host.cross_codec(message)?;
        let envelope = Envelope::tell(message).traced(trace);
        match home.host.deliver(home.place, home.id, None, envelope) {
            Ok(None) => {}
            Ok(Some(due)) => due.spawn(&home.host.kind.runtime),
            Err(undelivered) => {
                let Envelope { letter, trace, .. } = self.undelivered(undelivered)?;
                self.tell_away(letter.open()?, trace.as_deref())?;
            }
        }
        Ok(())
    }

    fn tell_away(
        &self,
        message: E::Message,
        trace: Option<&TraceContext>,
    ) -> Result<(), TellError> {
        let mut options = Vec::new();
        link::write_options(&mut options, trace, None, false);
        self.send_away(message, None, &options)?;
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
        let opening = Arc::new(Opening(Arc::clone(&opened)));
        self.ask_with(opening, opened, message).await?;
        Ok(stream)
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` keeps its arguments twice, and an ask's future should be small"
    )]
    fn ask_with<R: Payload>(
        &self,
        settle: Arc<dyn Settle>,
        slot: Arc<Slot<R>>,
        message: E::Message,
    ) -> impl Future<Output = Result<R, AskError>> + Send {
        async move {
            let span = self.span();
            let mut asked = Asked::new(&slot);
            let send = || self.send_ask(settle, message);
            let sent = match &span {
                None => send(),
                Some(span) => span.in_scope(send),
            };
            let outcome = match sent {
                Err(error) => Err(error),
                Ok(sent) => {
                    match sent.way {
                        Sent::Queued => {}
                        Sent::Here(turn, runtime) => run_here(turn, runtime).await,
                        Sent::Away(ticket) => asked.went_away(ticket),
                    }
                    let outcome = asked.outcome(sent.clock, sent.deadline).await;
                    outcome.map_err(|gave_up| self.gave_up(gave_up))
                }
            };
            if let Some(span) = span {
                spans::answered(&span, outcome.as_ref().err());
            }
            outcome
        }
    }

    /// Of an ask that is part of a recorded trace.
    fn span(&self) -> Option<Box<Span>> {
        spans::asking(E::KIND, self.id()?)
    }

    fn gave_up(&self, why: GaveUp) -> AskError {
        match why {
            GaveUp::Error(error) => error,
            GaveUp::Unsent => AskError::NotSent(self.target.unsent()),
        }
    }

    /// Brings an ask to its entity.
    fn send_ask(
        &self,
        settle: Arc<dyn Settle>,
        message: E::Message,
    ) -> Result<SentAsk<'_>, AskError> {
        let id = self.target.id().map_err(TellError::clone)?;
        let Inherited {
            chain,
            deadline,
            trace,
        } = chain::current();
        let depth = chain.as_ref().map_or(0, CallChain::depth);
        if let Some(chain) = &chain
            && chain.contains(E::KIND, id)
        {
            return Err(cycle::<E>(chain, id));
        }
        let clock = self.target.clock();
        let now = clock.now();
        let limit = now + self.timeout;
        let deadline = deadline.map_or(limit, |outer| outer.min(limit));
        let sent = |way| SentAsk {
            way,
            clock,
            deadline,
        };
        let ask = Ask {
            pending: Pending::new(settle),
            deadline,
            chain,
        };
        let Some(home) = self.target.home() else {
            let way = self.ask_away(message, ask, trace.as_deref(), now)?;
            return Ok(sent(way));
        };
        let message = home.host.cross_codec(message)?;
        let envelope = Envelope::ask(message, ask).traced(trace);
        let kind = &home.host.kind;
        Ok(sent(
            match home.host.deliver(home.place, home.id, None, envelope) {
                Ok(None) => Sent::Queued,
                // On the asker's task it would block others, or deepen the stack too much.
                Ok(Some(due)) if depth >= DEEPEST_HERE || kind.slowness.is_slow() => {
                    due.spawn(&kind.runtime);
                    Sent::Queued
                }
                Ok(Some(due)) => Sent::Here(due.here(Some(now)), &kind.runtime),
                Err(undelivered) => {
                    let Envelope { letter, ask, trace } = self.undelivered(undelivered)?;
                    let ask = ask.expect("put in above");
                    let message = letter.open().map_err(TellError::from)?;
                    self.ask_away(message, ask, trace.as_deref(), now)?
                }
            },
        ))
    }

    fn ask_away(
        &self,
        message: E::Message,
        ask: Ask,
        trace: Option<&TraceContext>,
        now: Time,
    ) -> Result<Sent<'_>, TellError> {
        let settle = ask.pending.hand_over().expect("nobody had a hand on it");
        let mut options = Vec::new();
        link::write_options(
            &mut options,
            trace,
            ask.chain.as_ref(),
            settle.opens_stream(),
        );
        let asking = Asking {
            settle: &settle,
            now,
            deadline: ask.deadline,
        };
        let ticket = self.send_away(message, Some(asking), &options)?;
        Ok(Sent::Away(ticket))
    }

    /// What to do with a message that its host did not take: it may have moved a moment ago.
    #[cold]
    fn undelivered(&self, undelivered: Undelivered<E>) -> Result<Envelope<E>, TellError> {
        let (error, envelope) = match (undelivered, &self.target) {
            (Undelivered::Closed(envelope), Target::Shard { .. }) => return Ok(*envelope),
            (Undelivered::Closed(envelope), _) => (self.target.unsent(), envelope),
            (Undelivered::Refused(error, envelope), _) => (error, envelope),
        };
        // Whoever asked gets the error as the result of the call, not by way of the slot.
        if let Some(ask) = envelope.ask {
            ask.pending.forget();
        }
        Err(error)
    }

    /// Encodes a message and sends it to another node.
    fn send_away(
        &self,
        message: E::Message,
        asking: Option<Asking<'_>>,
        options: &[u8],
    ) -> Result<Ticket<'_>, TellError> {
        wire::in_scratch(|payload| {
            let mut ports = wire::encode(E::CODEC, &message, payload)?;
            // The ports speak for the replies now.
            drop(message);
            let (way, request) = match &self.target {
                Target::Shard { lane, id, .. } => {
                    let draft = Draft {
                        kind: E::KIND,
                        id,
                        asking,
                        options,
                        ports,
                        payload,
                    };
                    (Way::Lane(lane), lane.send(draft)?)
                }
                Target::Actor { link, id, .. } => {
                    let message = Outgoing {
                        kind: E::KIND,
                        id,
                        to: link::frame::Addressee::Actor,
                        lane: LaneKey::Actors,
                        asker: asking.map(|asking| asking.settle),
                        deadline: asking.map(|asking| asking.deadline),
                        remaining: asking.map_or(0, Asking::remaining),
                        options,
                        payload,
                    };
                    (Way::Link(link), link.send(&message, &mut ports)?)
                }
                Target::Here { .. } => return Err(self.target.unsent()),
                Target::Nowhere(error) => return Err(error.clone()),
            };
            Ok(Ticket { way, request })
        })
    }
}

#[cold]
fn cycle<E: Entity>(chain: &CallChain, id: &EntityId) -> AskError {
    AskError::Cycle(CallChain::then(Some(chain.clone()), E::KIND, id.clone()))
}

/// An ask on its way.
struct SentAsk<'r> {
    way: Sent<'r>,
    clock: Clock,
    deadline: Time,
}

enum Sent<'r> {
    /// Its entity is at work, and will come to it.
    Queued,
    /// Its entity was free: the asker runs the turn.
    Here(Here, &'r Handle),
    /// To another node.
    Away(Ticket<'r>),
}

async fn run_here(turn: Here, runtime: &Handle) {
    turn.run(runtime).await;
    // A loop of asks that are all answered on the spot never waits: others must have their turn, too.
    let asks = ASKS_HERE.get().wrapping_add(1);
    ASKS_HERE.set(asks);
    if asks.is_multiple_of(BEFORE_YIELD) {
        tokio::task::yield_now().await;
    }
}

thread_local! {
    /// How many asks were answered on the spot, on this thread.
    static ASKS_HERE: Cell<u32> = const { Cell::new(0) };
}

impl<E: Entity> Host<E> {
    /// With forced serialization a local message goes through the codec as if it came from another node.
    fn cross_codec(&self, message: E::Message) -> Result<E::Message, TellError> {
        if !self.kind.force_serialization {
            return Ok(message);
        }
        wire::in_scratch(|bytes| {
            let ports = wire::encode(E::CODEC, &message, bytes)?;
            // The encoded form holds the replies now; the original must not answer for them.
            drop(message);
            Ok(wire::decode(E::CODEC, wire::Encoded { bytes, ports })?)
        })
    }
}
