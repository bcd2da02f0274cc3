//! `Host`: all entities of one kind on this node.
//!
//! It finds or makes the cell of an id and hands it a message; everything after that is the [`turn`]'s. The hot path is
//! here: one shard look-up, one table look-up, one push.

pub(crate) mod cell;
pub(crate) mod envelope;
pub(crate) mod gate;
mod home;
mod janitor;
pub(crate) mod kind;
mod slowness;
mod stats;
pub(crate) mod timers;
pub(crate) mod turn;

use std::{any::Any, pin::Pin, sync::Arc, time::Duration};

use ostrakon_core::{EntityId, ShardGroup, ShardId, ShardOutOfRange, stable_hash};
use tokio::task::AbortHandle;

use self::{
    cell::{Cell, Phase},
    envelope::Envelope,
    home::{Cells, Found, Home, Table},
    kind::{Factory, Kind, KindParts},
    turn::{Due, stopped},
};
use crate::{Entity, TellError, wire};

/// How long killed entities get to notice.
const KILL_GRACE: Duration = Duration::from_secs(1);

pub(crate) struct Host<E: Entity> {
    pub(crate) kind: Arc<Kind<E>>,
    pub(crate) group: ShardGroup,
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

impl<E: Entity> Host<E> {
    pub(crate) fn open(parts: KindParts<E>, group: ShardGroup) -> Arc<Self> {
        let host = Arc::new_cyclic(|host| {
            let node_name = parts.node_name.clone();
            let kind = Arc::new(Kind::new(parts, host.clone()));
            let homes = group.count.iter().map(|_| Home::open(Arc::clone(&kind)));
            Self {
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
        Ok(Place {
            shard: self.group.shard_of(id)?,
            key: stable_hash(id.as_str()),
        })
    }

    /// Brings a message to its entity, which is made if it does not exist. A turn that is due is the caller's to run.
    pub(crate) fn deliver(
        &self,
        place: Place,
        id: &EntityId,
        envelope: Envelope<E>,
    ) -> Result<Option<Due<E>>, TellError> {
        let home = &self.homes[place.shard.index()];
        let mut table = home.table.lock();
        let Table {
            open,
            accepted,
            queued,
            cells,
        } = &mut *table;
        let found = if *open {
            self.find_or_make(home, cells, place.key, id)
        } else {
            None
        };
        let due = match found {
            None => return Err(stopped::<E>(id)),
            Some(Found::New(cell)) => Some(Due::new(cell, Some(envelope), None)),
            Some(Found::Old(cell)) => {
                let mut queue = cell.queue.lock();
                if queue.phase == Phase::Parked {
                    Some(queue.take(cell, Some(envelope)))
                } else {
                    queue.push(cell, envelope)?;
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
        if !table.open {
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
        if !table.open {
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

    fn all_cells(&self) -> Vec<Arc<Cell<E>>> {
        let mut all = Vec::with_capacity(self.kind.active());
        for home in &self.homes {
            all.extend(home.table.lock().cells.iter().cloned());
        }
        all
    }

    /// Admits nothing any more, lets every entity finish and stop, ends those that do not. Returns how many are still running.
    async fn close(&self) -> usize {
        for home in &self.homes {
            home.table.lock().open = false;
        }
        for (n, cell) in self.all_cells().iter().enumerate() {
            if let Some(due) = cell.order_stop() {
                due.run_here(&self.kind.runtime).await;
            }
            if n % 64 == 63 {
                tokio::task::yield_now().await;
            }
        }
        if !self.is_empty_within(self.kind.hosting.stop_deadline).await {
            for cell in self.all_cells() {
                tracing::warn!(kind = E::KIND, id = %cell.id, "the stop deadline passed; the entity is ended");
                cell.kill();
            }
            self.is_empty_within(KILL_GRACE).await;
        }
        self.kind.active()
    }

    /// Lets go of everything without a word to the entities: their node is gone.
    fn abandon(&self) {
        if let Some(janitor) = self.janitor.get() {
            janitor.abort();
        }
        for home in &self.homes {
            let mut table = home.table.lock();
            table.open = false;
            let cells = table.cells.take();
            drop(table);
            // Cells know their home, and entities may hold refs of their own kind: without this they would keep each
            // other in memory.
            drop(cells);
        }
    }

    async fn is_empty_within(&self, time: Duration) -> bool {
        let emptied = async {
            loop {
                let emptied = self.kind.emptied.notified();
                if self.kind.active() == 0 {
                    return;
                }
                emptied.await;
            }
        };
        tokio::time::timeout(time, emptied).await.is_ok()
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
    fn group(&self) -> &ShardGroup;
    fn keep_running(&self, id: &EntityId) -> Result<(), TellError>;
    /// Delivers a message as it comes from a link or a gateway: encoded with the kind's codec.
    fn tell_encoded(&self, id: &EntityId, bytes: Vec<u8>) -> Result<(), TellError>;
    fn active(&self) -> usize;
    fn close(&self) -> Pin<Box<dyn Future<Output = usize> + Send + '_>>;
    fn abandon(&self);
}

impl<E: Entity> AnyHost for Host<E> {
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn group(&self) -> &ShardGroup {
        &self.group
    }

    fn keep_running(&self, id: &EntityId) -> Result<(), TellError> {
        self.keep_running(id)
    }

    fn tell_encoded(&self, id: &EntityId, bytes: Vec<u8>) -> Result<(), TellError> {
        let ports = Vec::new();
        let message = wire::decode(E::CODEC, wire::Encoded { bytes, ports })?;
        let place = self.place(id)?;
        let due = self.deliver(place, id, Envelope::tell(message))?;
        if let Some(due) = due {
            due.spawn(&self.kind.runtime);
        }
        Ok(())
    }

    fn active(&self) -> usize {
        self.kind.active()
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = usize> + Send + '_>> {
        Box::pin(self.close())
    }

    fn abandon(&self) {
        self.abandon();
    }
}
