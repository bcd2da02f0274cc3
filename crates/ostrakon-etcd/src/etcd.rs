//! `Etcd`: a storage that is a [`Store`], and what it has heard of it.

use std::sync::Arc;

use etcd_client::{Event, WatchOptions};
use ostrakon_core::{Incarnation, Index, Snapshot, Term};
use ostrakon_storage::backend::{Backoff, Compaction, Known};
use ostrakon_storage::{
    Append, AppendError, BoxFuture, Head, OpenError, Read, Renewal, Renewed, Storage, StorageError,
    StorageSettings,
};
use tokio::task::JoinHandle;

use crate::address::Address;
use crate::store::Store;
use crate::trouble::Trouble;

pub(crate) struct Etcd {
    store: Arc<Store>,
    known: Arc<Known>,
    settings: StorageSettings,
    watching: JoinHandle<()>,
}

impl Etcd {
    pub(crate) async fn open(
        address: Address,
        cluster: &str,
        settings: StorageSettings,
    ) -> Result<Self, OpenError> {
        let store = Arc::new(Store::of(address, cluster, settings.deadline));
        store.create().await?;
        let known = Arc::new(Known::default());
        let watching = tokio::spawn(follow(Arc::clone(&store), Arc::clone(&known)));
        Ok(Self {
            store,
            known,
            settings,
            watching,
        })
    }

    async fn call<T>(
        &self,
        tried: &'static str,
        call: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, StorageError> {
        let ended = self.store.servers.in_time(call).await;
        ended.map_err(|trouble| trouble.storage(&self.store.place, tried))
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Storage for Etcd {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(async move {
            let last = self.store.append(&append).await?;
            self.known.hear(last);
            Ok(())
        })
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(async move {
            let found = self.call("read", self.store.read(behind)).await?;
            self.known.hear(found.last);
            found.parse(&self.store.place, behind)
        })
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        Box::pin(async move {
            let head = self.call("read", self.store.head()).await?;
            self.known.hear(head.last);
            Ok(head)
        })
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(self.call("write to", self.store.beat(term, count)))
    }

    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let compaction = Compaction::of(snapshot, &self.store.place)?;
            self.call("write to", self.store.compact(&compaction)).await
        })
    }

    fn changed(&self, behind: Index) -> BoxFuture<'_, ()> {
        Box::pin(self.known.changed(behind, self.settings.poll))
    }

    fn renew(
        &self,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> BoxFuture<'_, Result<Renewed, StorageError>> {
        Box::pin(self.call("write to", self.store.renew(incarnation, renewal)))
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        Box::pin(self.call("read", self.store.leases()))
    }
}

/// Whatever ends a watch, it begins anew with a look: a lost connection, or a history that etcd has compacted meanwhile.
async fn follow(store: Arc<Store>, known: Arc<Known>) {
    let mut backoff = Backoff::default();
    loop {
        // Whoever waits looks for itself after a while, and says what is wrong then.
        if watch(&store, &known).await.is_ok() {
            backoff.reset();
        }
        backoff.wait().await;
    }
}

/// An error is that it did not even begin.
async fn watch(store: &Store, known: &Known) -> Result<(), Trouble> {
    let servers = &store.servers;
    let (last, revision) = servers.in_time(store.last()).await?;
    known.hear(last);
    let options = WatchOptions::new().with_start_revision(revision + 1);
    let watching = servers.watch(store.keys.last(), options);
    let mut news = servers.in_time(watching).await?;
    while let Ok(Some(message)) = news.message().await {
        if message.canceled() {
            break;
        }
        for value in message.events().iter().filter_map(Event::kv) {
            known.hear(store.last_in(std::slice::from_ref(value))?);
        }
    }
    Ok(())
}
