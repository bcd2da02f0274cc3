//! `Store`: plays the database.
//!
//! It keeps what accounts save, and it notes which of them live at the moment. Two lives of one account at the same time
//! are the one thing that must never happen; the store does not prevent that, it counts it. Like a real database it
//! makes its callers wait.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use ostrakon::EntityId;

use super::account::Statement;

pub(crate) struct Store {
    /// Many locks instead of one, as every account comes by.
    shards: Vec<Mutex<HashMap<EntityId, Row>>>,
    hasher: RandomState,
    started: AtomicU64,
    stopped: AtomicU64,
    overlaps: AtomicU64,
}

#[derive(Default)]
struct Row {
    saved: Statement,
    lives: u32,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            started: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
            overlaps: AtomicU64::new(0),
        }
    }
}

impl Store {
    /// An account begins to live. Its life ends when what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Self>, id: &EntityId) -> Life {
        self.started.fetch_add(1, Relaxed);
        let mut shard = self.shard(id);
        let row = shard.entry(id.clone()).or_default();
        if row.lives > 0 {
            self.overlaps.fetch_add(1, Relaxed);
        }
        row.lives += 1;
        Life {
            store: Arc::clone(self),
            id: id.clone(),
        }
    }

    /// How many lives of accounts have begun.
    pub(crate) fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// How many lives of accounts have ended.
    pub(crate) fn stopped(&self) -> u64 {
        self.stopped.load(Relaxed)
    }

    /// How often an account began to live while it lived already.
    pub(crate) fn overlaps(&self) -> u64 {
        self.overlaps.load(Relaxed)
    }

    fn shard(&self, id: &EntityId) -> MutexGuard<'_, HashMap<EntityId, Row>> {
        let shard = self.hasher.hash_one(id) as usize % self.shards.len();
        let shard = self.shards[shard].lock();
        shard.expect("nothing panics while it holds a shard")
    }
}

/// One life of one account, and its way to its row.
pub(crate) struct Life {
    store: Arc<Store>,
    id: EntityId,
}

impl Life {
    pub(crate) async fn load(&self) -> Statement {
        tokio::task::yield_now().await;
        let mut shard = self.store.shard(&self.id);
        shard.entry(self.id.clone()).or_default().saved
    }

    pub(crate) async fn save(&self, statement: Statement) {
        tokio::task::yield_now().await;
        let mut shard = self.store.shard(&self.id);
        shard.entry(self.id.clone()).or_default().saved = statement;
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(row) = self.store.shard(&self.id).get_mut(&self.id) {
            row.lives -= 1;
        }
        self.store.stopped.fetch_add(1, Relaxed);
    }
}

const SHARDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn alice() -> EntityId {
        EntityId::new("alice").unwrap()
    }

    #[tokio::test]
    async fn what_one_life_saved_the_next_one_loads() {
        let store = Arc::new(Store::default());
        let rich = Statement {
            balance: 7_000,
            ..Statement::default()
        };
        let first = store.begin(&alice());
        assert_eq!(first.load().await, Statement::default());
        first.save(rich).await;
        drop(first);
        assert_eq!(store.begin(&alice()).load().await, rich);
        assert_eq!((store.started(), store.stopped()), (2, 2));
        assert_eq!(store.overlaps(), 0);
    }

    #[test]
    fn two_lives_at_once_are_an_overlap() {
        let store = Arc::new(Store::default());
        let first = store.begin(&alice());
        let second = store.begin(&alice());
        assert_eq!(store.overlaps(), 1);
        drop((first, second));
        drop(store.begin(&alice()));
        assert_eq!(store.overlaps(), 1);
    }
}
