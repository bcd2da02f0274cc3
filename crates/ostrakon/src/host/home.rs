//! `Home`: where the entities of one kind and one shard live.
//!
//! Its table's lock is the lock under which messages are admitted, entities are created and removed, and the shard is
//! opened and closed. So a message cannot slip in between "this shard is ours" and "here is its entity".

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use hashbrown::{HashTable, hash_table::Entry};
use ostrakon_core::{EntityId, Epoch, ShardId};
use tokio::sync::Notify;

use super::{cell::Cell, kind::Kind, stats::Stats};
use crate::{Entity, apart::Apart, lock::Mutex};

/// What senders write, what turns write and what both only read lie on lines of their own.
pub(crate) struct Home<E: Entity> {
    pub(crate) kind: Arc<Kind<E>>,
    pub(crate) shard: ShardId,
    /// One of those who live here may have been killed.
    has_killed: AtomicBool,
    /// The last entity of a closed home has gone.
    pub(crate) emptied: Notify,
    pub(crate) table: Apart<Mutex<Table<E>>>,
    pub(crate) stats: Apart<Stats>,
}

pub(crate) struct Table<E: Entity> {
    /// Under which epoch messages are admitted; `None` while the shard is not ours, or being given away.
    pub(crate) open: Option<Epoch>,
    /// The epoch under which it was last opened. All that lives here began under it: it is opened only when it is empty.
    pub(crate) epoch: Epoch,
    /// How many messages were accepted, and how many of them had to wait; counted here because the lock is held anyway.
    pub(crate) accepted: u64,
    pub(crate) queued: u64,
    pub(crate) cells: Cells<E>,
    /// Its node is gone: nothing lives here any more.
    is_abandoned: bool,
}

/// The cells of a home by id.
pub(crate) struct Cells<E: Entity>(HashTable<Arc<Cell<E>>>);

impl<E: Entity> Home<E> {
    pub(crate) fn new(kind: Arc<Kind<E>>, shard: ShardId, open: Option<Epoch>) -> Arc<Self> {
        Arc::new(Self {
            kind,
            shard,
            has_killed: AtomicBool::new(false),
            emptied: Notify::new(),
            table: Apart(Mutex::new(Table {
                open,
                epoch: open.unwrap_or_default(),
                accepted: 0,
                queued: 0,
                cells: Cells(HashTable::new()),
                is_abandoned: false,
            })),
            stats: Apart(Stats::default()),
        })
    }

    /// The shard is ours: messages are admitted.
    pub(crate) fn open(&self, epoch: Epoch) {
        let mut table = self.table.lock();
        if table.is_abandoned {
            return;
        }
        (table.open, table.epoch) = (Some(epoch), epoch);
        if table.cells.len() == 0 {
            self.has_killed.store(false, Ordering::Release);
        }
    }

    /// Closes for good, and hands out all that lives here.
    pub(super) fn abandon(&self) -> Cells<E> {
        let mut table = self.table.lock();
        table.open = None;
        table.is_abandoned = true;
        table.cells.take()
    }

    /// One of those who live here has been killed.
    pub(super) fn note_killed(&self) {
        self.has_killed.store(true, Ordering::Release);
    }

    /// Whether one of those who live here may have been killed.
    #[inline]
    pub(super) fn has_killed(&self) -> bool {
        self.has_killed.load(Ordering::Acquire)
    }
}

impl<E: Entity> Table<E> {
    /// Whether a message may come in that was sent to the owner under `claim`, or by somebody in this process.
    pub(crate) fn admits(&self, claim: Option<Epoch>) -> bool {
        let open = self.open;
        open.is_some_and(|open| claim.is_none_or(|claim| claim <= open))
    }
}

impl<E: Entity> Cells<E> {
    /// The id's cell, or the one that `make` makes.
    pub(crate) fn find_or_make(
        &mut self,
        key: u64,
        id: &EntityId,
        make: impl FnOnce() -> Arc<Cell<E>>,
    ) -> Found<'_, E> {
        let same = |cell: &Arc<Cell<E>>| cell.key == key && cell.id == *id;
        match self.0.entry(spread(key), same, |cell| spread(cell.key)) {
            Entry::Occupied(entry) => Found::Old(entry.into_mut()),
            Entry::Vacant(entry) => Found::New(entry.insert(make()).into_mut()),
        }
    }

    /// Takes exactly this cell out, not another one that has come under the same id.
    pub(crate) fn remove(&mut self, cell: &Arc<Cell<E>>) {
        let same = |other: &Arc<Cell<E>>| Arc::ptr_eq(other, cell);
        if let Ok(entry) = self.0.find_entry(spread(cell.key), same) {
            entry.remove();
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Cell<E>>> {
        self.0.iter()
    }

    pub(crate) fn find(&self, key: u64, id: &EntityId) -> Option<&Arc<Cell<E>>> {
        self.0
            .find(spread(key), |cell| cell.key == key && cell.id == *id)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn take(&mut self) -> Self {
        Self(std::mem::take(&mut self.0))
    }
}

/// A cell in the table.
pub(crate) enum Found<'a, E: Entity> {
    Old(&'a Arc<Cell<E>>),
    /// Made just now: taken, and the caller's to run.
    New(&'a Arc<Cell<E>>),
}

/// All keys of one shard are equal modulo the shard count; the table wants them different in every bit.
fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32)
}
