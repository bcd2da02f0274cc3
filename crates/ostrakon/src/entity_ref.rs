//! `EntityRef`: the handle through which messages reach an entity, wherever it is.
//!
//! Making one costs a hash; it holds the way to the entity, not the entity, so it stays good when the entity stops, fails
//! or moves. An ask to an entity that is free runs right here, on the asker's task; a tell never does.

mod asked;

use std::{cell::Cell, fmt, sync::Arc, time::Duration};

use ostrakon_core::{EntityId, Time};

use self::asked::{Asked, GaveUp};
use crate::{
    AskError, CallChain, Entity, EntityStream, Payload, Reply, StreamReply, TellError,
    TraceContext,
    chain::{self, Inherited},
    clock::Clock,
    host::{
        Host, Place, Undelivered,
        envelope::{Ask, Envelope},
        turn::Due,
    },
    link::{self, Draft, Lane, LaneKey, Lanes, Leads, Link, Outgoing, Ticket, Way},
    reply::{Opening, Pending, Settle, Slot},
    wire,
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

enum Target<E: Entity> {
    /// Only in this process: everything on a solo node, and the node's own actors.
    Here {
        host: Arc<Host<E>>,
        id: EntityId,
        place: Place,
    },
    /// Wherever its shard is.
    Shard {
        /// `None`: this node does not host the kind.
        host: Option<Arc<Host<E>>>,
        lane: Arc<Lane>,
        id: EntityId,
        place: Place,
        clock: Clock,
    },
    /// An actor on another node.
    Actor {
        link: Arc<Link>,
        id: EntityId,
        clock: Clock,
    },
    /// The id or the kind cannot be reached: every send says why.
    Nowhere(TellError),
}

impl<E: Entity> Clone for Target<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Here { host, id, place } => Self::Here {
                host: Arc::clone(host),
                id: id.clone(),
                place: *place,
            },
            Self::Shard {
                host,
                lane,
                id,
                place,
                clock,
            } => Self::Shard {
                host: host.clone(),
                lane: Arc::clone(lane),
                id: id.clone(),
                place: *place,
                clock: *clock,
            },
            Self::Actor { link, id, clock } => Self::Actor {
                link: Arc::clone(link),
                id: id.clone(),
                clock: *clock,
            },
            Self::Nowhere(error) => Self::Nowhere(error.clone()),
        }
    }
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
        match &self.target {
            Target::Here { id, .. } | Target::Shard { id, .. } | Target::Actor { id, .. } => {
                Some(id)
            }
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
        let trace = TraceContext::current();
        let message = match self.home() {
            None => message,
            Some(home) => {
                let message = home.host.cross_codec(message)?;
                let envelope = Envelope::tell(message).traced(trace);
                match self.deliver(&home, envelope)? {
                    Tried::Done(due) => {
                        if let Some(due) = due {
                            due.spawn(&home.host.kind.runtime);
                        }
                        return Ok(());
                    }
                    Tried::Away(envelope) => envelope.letter.open()?,
                }
            }
        };
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
            let mut asked = Asked::new(&slot);
            let sent = self.send_ask(settle, message)?;
            match sent.way {
                Sent::Here {
                    host,
                    due,
                    run: place,
                } => {
                    if let Some(due) = due {
                        run(host, due, place).await;
                    }
                }
                Sent::Away(ticket, settle) => asked.went_away(ticket, settle),
            }
            asked
                .outcome(sent.clock, sent.deadline)
                .await
                .map_err(|error| match error {
                    GaveUp::Error(error) => error,
                    GaveUp::Unsent => AskError::NotSent(self.unsent()),
                })
        }
    }

    /// The error of an ask that did not leave this node in time.
    fn unsent(&self) -> TellError {
        match &self.target {
            Target::Shard { id, place, .. } => TellError::NoOwner {
                kind: E::KIND,
                id: id.clone(),
                shard: place.shard,
            },
            Target::Actor { link, .. } => TellError::Unreachable {
                node: link.peer.clone(),
            },
            Target::Here { id, .. } => TellError::Stopped {
                kind: E::KIND,
                id: id.clone(),
            },
            Target::Nowhere(error) => error.clone(),
        }
    }

    /// Brings an ask to its entity.
    fn send_ask(
        &self,
        settle: Arc<dyn Settle>,
        message: E::Message,
    ) -> Result<SentAsk<'_, E>, AskError> {
        let opens_stream = settle.opens_stream();
        let id = self.reachable_id()?;
        let Inherited { chain, deadline } = chain::current();
        let depth = chain.as_ref().map_or(0, CallChain::depth);
        if chain
            .as_ref()
            .is_some_and(|chain| chain.contains(E::KIND, id))
        {
            let cycle = CallChain::then(chain, E::KIND, id.clone());
            return Err(AskError::Cycle(cycle));
        }
        let trace = TraceContext::current();
        let clock = self.clock();
        let now = clock.now();
        let limit = now + self.timeout;
        let deadline = deadline.map_or(limit, |outer| outer.min(limit));
        let sent = |way| SentAsk {
            way,
            clock,
            deadline,
        };
        let (message, settle, chain) = match self.home() {
            None => (message, settle, chain),
            Some(home) => {
                let message = home.host.cross_codec(message)?;
                let ask = Ask {
                    pending: Pending::new(settle),
                    deadline,
                    chain,
                };
                let envelope = Envelope::ask(message, ask).traced(trace);
                match self.deliver(&home, envelope)? {
                    Tried::Done(due) => {
                        let host = home.host;
                        let run = Run::of(host, depth);
                        let due = due.map(|due| due.at(now));
                        return Ok(sent(Sent::Here { host, due, run }));
                    }
                    Tried::Away(envelope) => {
                        let Envelope { letter, ask, .. } = *envelope;
                        let ask = ask.expect("put in above");
                        let settle = ask.pending.hand_over().expect("nobody had a hand on it");
                        let message = letter.open().map_err(TellError::from)?;
                        (message, settle, ask.chain)
                    }
                }
            }
        };
        let mut options = Vec::new();
        link::write_options(&mut options, trace, chain.as_ref(), opens_stream);
        let asking = Asking {
            settle: &settle,
            now,
            deadline,
        };
        let ticket = self.send_away(message, Some(asking), &options)?;
        Ok(sent(Sent::Away(ticket, settle)))
    }

    /// The place in this process where the entity lives, if it does.
    fn home(&self) -> Option<Lives<'_, E>> {
        let (host, id, place) = match &self.target {
            Target::Here { host, id, place } => (host, id, *place),
            Target::Shard {
                host: Some(host),
                lane,
                id,
                place,
                ..
            } if lane.is_here() || lane.leads() == Leads::Here => (host, id, *place),
            Target::Shard { .. } | Target::Actor { .. } | Target::Nowhere(_) => return None,
        };
        Some(Lives { host, id, place })
    }

    /// Delivers in this process.
    fn deliver(&self, home: &Lives<'_, E>, envelope: Envelope<E>) -> Result<Tried<E>, TellError> {
        match home.host.deliver(home.place, home.id, None, envelope) {
            Ok(due) => Ok(Tried::Done(due)),
            Err(Undelivered::Closed(envelope)) => match &self.target {
                // It moved a moment ago.
                Target::Shard { .. } => Ok(Tried::Away(envelope)),
                Target::Here { .. } | Target::Actor { .. } | Target::Nowhere(_) => {
                    let error = self.unsent();
                    Err(silenced(error, envelope.ask))
                }
            },
            Err(Undelivered::Refused(error, envelope)) => Err(silenced(error, envelope.ask)),
        }
    }

    /// Encodes a message and sends it to another node.
    fn send_away(
        &self,
        message: E::Message,
        asking: Option<Asking<'_>>,
        options: &[u8],
    ) -> Result<Ticket<'_>, TellError> {
        let (now, deadline) = match &asking {
            Some(asking) => (asking.now, asking.deadline),
            None => {
                let now = self.clock().now();
                (now, now + DEFAULT_TIMEOUT)
            }
        };
        let asker = asking.map(|asking| asking.settle);
        wire::in_scratch(|payload| {
            let mut ports = wire::encode(E::CODEC, &message, payload)?;
            // The ports speak for the replies now.
            drop(message);
            let (way, request) = match &self.target {
                Target::Shard { lane, id, .. } => {
                    let draft = Draft {
                        kind: E::KIND,
                        id,
                        asker,
                        now,
                        deadline,
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
                        asker,
                        deadline: asker.map(|_| deadline),
                        remaining: asker.map_or(0, |_| link::remaining(now, deadline)),
                        options,
                        payload,
                    };
                    (Way::Link(link), link.send(&message, &mut ports)?)
                }
                Target::Here { .. } => return Err(self.unsent()),
                Target::Nowhere(error) => return Err(error.clone()),
            };
            Ok(Ticket { way, request })
        })
    }

    fn reachable_id(&self) -> Result<&EntityId, TellError> {
        match &self.target {
            Target::Here { id, .. } | Target::Shard { id, .. } | Target::Actor { id, .. } => Ok(id),
            Target::Nowhere(error) => Err(error.clone()),
        }
    }

    fn clock(&self) -> Clock {
        match &self.target {
            Target::Here { host, .. } => host.kind.clock,
            Target::Shard { clock, .. } | Target::Actor { clock, .. } => *clock,
            Target::Nowhere(_) => Clock::start(),
        }
    }
}

/// What became of an attempt to deliver in this process.
enum Tried<E: Entity> {
    /// Delivered; the turn that is due is the sender's to run.
    Done(Option<Due<E>>),
    /// It belongs elsewhere.
    Away(Box<Envelope<E>>),
}

/// Where an entity lives in this process.
struct Lives<'r, E: Entity> {
    host: &'r Arc<Host<E>>,
    id: &'r EntityId,
    place: Place,
}

/// Whoever asked gets the error as the result of the call, not by way of the slot.
fn silenced(error: TellError, ask: Option<Ask>) -> TellError {
    if let Some(ask) = ask {
        ask.pending.forget();
    }
    error
}

/// Who waits for a message that goes to another node.
struct Asking<'a> {
    settle: &'a Arc<dyn Settle>,
    now: Time,
    deadline: Time,
}

/// An ask on its way.
struct SentAsk<'r, E: Entity> {
    way: Sent<'r, E>,
    clock: Clock,
    deadline: Time,
}

enum Sent<'r, E: Entity> {
    Here {
        host: &'r Arc<Host<E>>,
        /// The turn that the asker has to run, if the entity was free.
        due: Option<Due<E>>,
        run: Run,
    },
    /// To another node; the asker keeps the hand by which it can be found again.
    Away(Ticket<'r>, Arc<dyn Settle>),
}

/// Where an ask's turn runs: here, unless that would block others or deepen the stack too much.
enum Run {
    Here,
    Elsewhere,
}

impl Run {
    fn of<E: Entity>(host: &Host<E>, depth: usize) -> Self {
        if depth >= DEEPEST_HERE || host.kind.slowness.is_slow() {
            Self::Elsewhere
        } else {
            Self::Here
        }
    }
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
