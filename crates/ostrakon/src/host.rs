//! `Host`: all entities of one kind on this node.
//!
//! It finds or makes the cell of an id and hands it a message; everything after that is the [`turn`]'s. The hot path is
//! here: one shard look-up, one table look-up, one push.

pub(crate) mod cell;
pub(crate) mod envelope;
pub(crate) mod gate;
mod home;
mod hot_spots;
mod janitor;
pub(crate) mod kind;
mod latencies;
mod pulse;
pub(crate) mod runtime;
mod samples;
pub(crate) mod seat;
mod slowness;
mod stats;
pub(crate) mod timers;
pub(crate) mod turn;

use std::{any::Any, pin::Pin, sync::Arc, task::Context as TaskContext, time::Duration};

use ostrakon_core::{EntityId, Epoch, ShardGroup, ShardId, ShardOutOfRange, stable_hash};
use tokio::task::AbortHandle;

use self::{
    cell::{Cell, Phase},
    envelope::Envelope,
    home::{Cells, Found, Home, Table},
    kind::{Factory, Kind, KindParts},
    turn::{Due, stopped},
};
pub(crate) use self::{latencies::Latencies, pulse::Pulse};
use crate::{
    Entity, EntityRef, TellError,
    lease::Lease,
    link::{Arrival, Lanes, TurnedAway},
    lock::Mutex,
    wire,
};

/// How long killed entities get to notice.
const KILL_GRACE: Duration = Duration::from_secs(1);

pub(crate) struct Host<E: Entity> {
    pub(crate) kind: Arc<Kind<E>>,
    pub(crate) group: ShardGroup,
    /// The ways to other nodes, one for each shard; `None` for what lives on this node only.
    pub(crate) lanes: Option<Lanes>,
    node_name: String,
    homes: Box<[Arc<Home<E>>]>,
    janitor: std::sync::OnceLock<AbortHandle>,
}

/// Where an id lives: computed once per ref.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) shard: ShardId,
    /// The id's stable hash, the key in its home's table.
    key: u64,
}

impl Place {
    pub(crate) fn of(group: &ShardGroup, id: &EntityId) -> Result<Self, ShardOutOfRange> {
        let key = stable_hash(id.as_str());
        let shard = group.shard_of_hashed(id, key)?;
        Ok(Self { shard, key })
    }
}

impl<E: Entity> Host<E> {
    /// A host of what nobody can take away from this node.
    pub(crate) fn open(parts: KindParts<E>, group: ShardGroup, lanes: Option<Lanes>) -> Arc<Self> {
        Self::open_leased(parts, group, lanes, Arc::new(Lease::for_ever()))
    }

    /// With lanes, shards are closed until they are granted; without, they are all ours. Entities act while the lease lasts.
    pub(crate) fn open_leased(
        parts: KindParts<E>,
        group: ShardGroup,
        lanes: Option<Lanes>,
        lease: Arc<Lease>,
    ) -> Arc<Self> {
        let open = lanes.is_none().then(|| Epoch::default().next());
        let host = Arc::new_cyclic(|host| {
            let node_name = parts.node_name.clone();
            let samples = lanes.is_some().then(Mutex::default);
            let kind = Arc::new(Kind::new(parts, lease, samples, host.clone()));
            let homes = group
                .count
                .iter()
                .map(|shard| Home::new(Arc::clone(&kind), shard, open));
            Self {
                lanes,
                node_name,
                homes: homes.collect(),
                kind,
                group,
                janitor: std::sync::OnceLock::new(),
            }
        });
        let janitor = janitor::run(Arc::downgrade(&host), Arc::clone(&host.kind));
        host.janitor
            .set(host.kind.runtime.spawn(janitor).abort_handle())
            .expect("set once, here");
        host
    }

    pub(crate) fn place(&self, id: &EntityId) -> Result<Place, ShardOutOfRange> {
        Place::of(&self.group, id)
    }

    /// Brings a message to its entity, which is made if it does not exist. A turn that is due is the caller's to run.
    ///
    /// `claim` is the epoch under which a message from another node believes us to be the owner.
    pub(crate) fn deliver(
        &self,
        place: Place,
        id: &EntityId,
        claim: Option<Epoch>,
        envelope: Envelope<E>,
    ) -> Result<Option<Due<E>>, Undelivered<E>> {
        let home = &self.homes[place.shard.index()];
        let mut table = home.table.lock();
        if !table.admits(claim) {
            return Err(Undelivered::Closed(Box::new(envelope)));
        }
        let Table {
            accepted,
            queued,
            cells,
            ..
        } = &mut *table;
        let due = match self.find_or_make(home, cells, place.key, id) {
            None => return Err(Undelivered::refused(stopped::<E>(id), envelope)),
            Some(Found::New(cell)) => Some(Due::new(cell, Some(envelope), None)),
            // Fenced, and the shard is ours again: its next life begins when this one is over.
            Some(Found::Old(cell)) if cell.is_killed() => {
                return Err(Undelivered::Closed(Box::new(envelope)));
            }
            Some(Found::Old(cell)) => {
                let mut queue = cell.queue.lock();
                if queue.phase == Phase::Parked {
                    Some(queue.take(cell, Some(envelope)))
                } else if let Some(error) = queue.is_full(cell) {
                    return Err(Undelivered::refused(error, envelope));
                } else {
                    queue.mail.push_back(envelope);
                    *queued += 1;
                    None
                }
            }
        };
        *accepted += 1;
        Ok(due)
    }

    /// `None` when entities of this kind are not made on demand and there is none.
    fn find_or_make<'t>(
        &self,
        home: &Arc<Home<E>>,
        cells: &'t mut Cells<E>,
        key: u64,
        id: &EntityId,
    ) -> Option<Found<'t, E>> {
        if !self.kind.factory.is_on_demand() {
            return cells.find(key, id).map(Found::Old);
        }
        Some(cells.find_or_make(key, id, || {
            self.kind.one_more();
            Cell::taken(id.clone(), key, Arc::clone(home))
        }))
    }

    /// Starts the entity if it is not running, and again after every end, until the shard is closed.
    pub(crate) fn keep_running(&self, id: &EntityId) -> Result<(), TellError> {
        let place = self.place(id)?;
        let home = &self.homes[place.shard.index()];
        let mut table = home.table.lock();
        if table.open.is_none() {
            return Err(stopped::<E>(id));
        }
        let due = match self.find_or_make(home, &mut table.cells, place.key, id) {
            None => None,
            Some(Found::Old(cell)) => {
                cell.queue.lock().pinned = true;
                None
            }
            Some(Found::New(cell)) => {
                cell.queue.lock().pinned = true;
                Some(Due::new(cell, None, None))
            }
        };
        drop(table);
        if let Some(due) = due {
            due.spawn(&self.kind.runtime);
        }
        Ok(())
    }

    /// Puts in an entity that was made elsewhere and starts it. `false`: the id is taken.
    pub(crate) fn insert(&self, id: &EntityId, entity: E) -> Result<bool, TellError> {
        let place = self.place(id)?;
        let home = &self.homes[place.shard.index()];
        let mut table = home.table.lock();
        if table.open.is_none() {
            return Err(stopped::<E>(id));
        }
        let made = table.cells.find_or_make(place.key, id, || {
            self.kind.one_more();
            Cell::taken(id.clone(), place.key, Arc::clone(home))
        });
        let due = match made {
            Found::Old(_) => return Ok(false),
            Found::New(cell) => Due::new(cell, None, None),
        };
        drop(table);
        if let Factory::Given(actors) = &self.kind.factory {
            actors.lock().insert(id.clone(), entity);
        }
        due.spawn(&self.kind.runtime);
        Ok(true)
    }

    /// The shard is ours: messages are admitted.
    fn open_shard(&self, shard: ShardId, epoch: Epoch) {
        if let Some(home) = self.homes.get(shard.index()) {
            home.open(epoch);
        }
    }

    /// Admits nothing any more and ends every entity between two polls: no stop hooks, no more messages. What had not begun is refused
    /// as not executed, what had ends as unknown.
    fn fence(&self, home: &Home<E>) {
        let mut table = home.table.lock();
        table.open = None;
        let cells: Vec<_> = table.cells.iter().cloned().collect();
        drop(table);
        let parked: Vec<_> = cells.iter().filter_map(Cell::fence).collect();
        if parked.is_empty() {
            return;
        }
        let runtime = tokio::runtime::Handle::clone(&self.kind.runtime);
        self.kind.runtime.spawn(async move {
            for (n, due) in parked.into_iter().enumerate() {
                due.here(None).run(&runtime).await;
                if n % 64 == 63 {
                    tokio::task::yield_now().await;
                }
            }
        });
    }

    /// Admits nothing any more, lets every entity finish and stop, ends those that do not. Returns how many are still running.
    async fn close(&self, homes: &[Arc<Home<E>>]) -> usize {
        let cells = |homes: &[Arc<Home<E>>]| {
            let of =
                |home: &Arc<Home<E>>| home.table.lock().cells.iter().cloned().collect::<Vec<_>>();
            homes.iter().flat_map(of).collect::<Vec<Arc<Cell<E>>>>()
        };
        for home in homes {
            home.table.lock().open = None;
        }
        for (n, cell) in cells(homes).iter().enumerate() {
            if let Some(due) = cell.order_stop() {
                due.here(None).run(&self.kind.runtime).await;
            }
            if n % 64 == 63 {
                tokio::task::yield_now().await;
            }
        }
        if !are_empty_within(homes, self.kind.hosting.stop_deadline).await {
            for cell in cells(homes) {
                tracing::warn!(kind = E::KIND, id = %cell.id, "the stop deadline passed; the entity is ended");
                cell.kill();
            }
            are_empty_within(homes, KILL_GRACE).await;
        }
        homes.iter().map(|home| home.table.lock().cells.len()).sum()
    }

    /// Lets go of everything without a word to the entities: their node is gone. Those that are at something end between two polls.
    fn abandon(&self) {
        if let Some(janitor) = self.janitor.get() {
            janitor.abort();
        }
        for home in &self.homes {
            let cells = home.abandon();
            cells.iter().for_each(|cell| cell.kill());
            // Cells know their home, and entities may hold refs of their own kind: without this they would keep each
            // other in memory.
            drop(cells);
        }
    }
}

/// Waits until nothing lives in these closed homes. `false`: the time was over first.
async fn are_empty_within<E: Entity>(homes: &[Arc<Home<E>>], time: Duration) -> bool {
    let emptied = async {
        for home in homes {
            loop {
                let emptied = home.emptied.notified();
                if home.table.lock().cells.len() == 0 {
                    break;
                }
                emptied.await;
            }
        }
    };
    tokio::time::timeout(time, emptied).await.is_ok()
}

/// Why a message did not come in.
pub(crate) enum Undelivered<E: Entity> {
    /// The shard is not ours; the message is as it was.
    Closed(Box<Envelope<E>>),
    /// It is refused, and not executed. Whoever asked is still to be told.
    Refused(TellError, Box<Envelope<E>>),
}

impl<E: Entity> Undelivered<E> {
    fn refused(error: TellError, envelope: Envelope<E>) -> Self {
        Self::Refused(error, Box::new(envelope))
    }
}

impl<E: Entity> Drop for Host<E> {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// A host whose entity type is not known: what the node keeps.
pub(crate) trait AnyHost: Send + Sync {
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    fn kind(&self) -> &'static str;
    fn group(&self) -> &ShardGroup;
    fn keep_running(&self, id: &EntityId) -> Result<(), TellError>;
    /// Delivers a message as it comes from a link or a gateway: encoded with the kind's codec.
    fn tell_encoded(&self, id: &EntityId, bytes: Vec<u8>) -> Result<(), TellError>;
    /// Delivers a message from another node, or says why not. If its entity is free and quick, it is handled before this returns.
    ///
    /// Without a task's context it is handled on a task of its own.
    fn arrive(
        &self,
        arrival: Arrival<'_>,
        cx: Option<&mut TaskContext<'_>>,
    ) -> Result<(), TurnedAway>;
    fn open_shard(&self, shard: ShardId, epoch: Epoch);
    /// Closes one shard; returns how many of its entities would not end.
    fn close_shard(&self, shard: ShardId) -> Pin<Box<dyn Future<Output = usize> + Send + '_>>;
    /// Ends the entities of a shard at once, because it is not ours any more. The future waits until all are over; the shard must not be
    /// opened again before that.
    fn fence_shard(&self, shard: ShardId) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    fn active(&self) -> usize;
    fn close(&self) -> Pin<Box<dyn Future<Output = usize> + Send + '_>>;
    /// Admits nothing any more and ends every entity between two polls.
    fn end(&self);
    fn abandon(&self);
}

impl<E: Entity> AnyHost for Host<E> {
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn kind(&self) -> &'static str {
        E::KIND
    }

    fn group(&self) -> &ShardGroup {
        &self.group
    }

    fn keep_running(&self, id: &EntityId) -> Result<(), TellError> {
        self.keep_running(id)
    }

    fn tell_encoded(&self, id: &EntityId, bytes: Vec<u8>) -> Result<(), TellError> {
        let encoded = wire::Encoded {
            bytes: &bytes,
            ports: wire::Ports::new(),
        };
        let message = wire::decode(E::CODEC, encoded)?;
        let host = self.kind.host.upgrade();
        EntityRef::of(host, id.clone()).try_tell(message)
    }

    fn arrive(
        &self,
        arrival: Arrival<'_>,
        cx: Option<&mut TaskContext<'_>>,
    ) -> Result<(), TurnedAway> {
        let place = self.place(&arrival.id).map_err(TellError::from);
        let place = match place {
            Ok(place) if arrival.claim.is_none_or(|claim| claim.shard == place.shard) => place,
            Ok(_) => return Err(arrival.turned_away(TellError::HashDiffers { kind: E::KIND })),
            Err(error) => return Err(arrival.turned_away(error)),
        };
        let claim = arrival.claim.map(|claim| claim.epoch);
        let now = arrival.now;
        let (id, stays, envelope) = arrival.open()?;
        match self.deliver(place, &id, claim, envelope) {
            Ok(None) => Ok(()),
            Ok(Some(due)) => {
                match cx.filter(|_| stays && !self.kind.slowness.is_slow()) {
                    // Ready at its first poll.
                    Some(cx) => due.here(now).poll(&self.kind.runtime, cx),
                    None => due.spawn(&self.kind.runtime),
                }
                Ok(())
            }
            Err(Undelivered::Closed(envelope)) => Err(TurnedAway::not_owner(*envelope)),
            Err(Undelivered::Refused(error, envelope)) => Err(TurnedAway::full(error, *envelope)),
        }
    }

    fn open_shard(&self, shard: ShardId, epoch: Epoch) {
        self.open_shard(shard, epoch);
    }

    fn close_shard(&self, shard: ShardId) -> Pin<Box<dyn Future<Output = usize> + Send + '_>> {
        let home = self.homes.get(shard.index());
        Box::pin(async move {
            match home {
                Some(home) => self.close(std::slice::from_ref(home)).await,
                None => 0,
            }
        })
    }

    fn fence_shard(&self, shard: ShardId) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let home = self.homes.get(shard.index());
        if let Some(home) = home {
            self.fence(home);
        }
        Box::pin(async move {
            let homes = home.map_or(&[][..], std::slice::from_ref);
            while !are_empty_within(homes, KILL_GRACE).await {
                tracing::error!(
                    kind = E::KIND,
                    %shard,
                    "entities of a lost shard hold their threads; it cannot be taken again before they end"
                );
            }
        })
    }

    fn active(&self) -> usize {
        self.kind.active()
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = usize> + Send + '_>> {
        Box::pin(self.close(&self.homes))
    }

    fn end(&self) {
        self.homes.iter().for_each(|home| self.fence(home));
    }

    fn abandon(&self) {
        self.abandon();
    }
}
