//! Very many shards, on a storage that takes no more at once than etcd does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ostrakon_control::Seat;
use ostrakon_core::{
    GroupName, GroupSpec, Incarnation, Index, ShardCount, Snapshot, Term, ToCoordinator,
};
use ostrakon_manager::{Manager, ManagerSettings};
use ostrakon_storage::{
    Append, AppendError, BoxFuture, Head, Memory, Read, Renewal, Renewed, Storage, StorageError,
    StorageSettings,
    backend::{Batch, Limits},
};

use crate::{
    callers::{Caller, registration},
    cluster::{spread, until},
};

/// A log that takes only so much at once.
struct Narrow {
    log: Memory,
    limits: Limits,
    appends: AtomicUsize,
    refused: AtomicUsize,
}

impl Narrow {
    fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            log: Memory::new(StorageSettings::default()),
            limits,
            appends: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        })
    }
}

impl Storage for Narrow {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        self.appends.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = Batch::of(&append, "narrow", self.limits) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Box::pin(std::future::ready(Err(error)));
        }
        self.log.append(append)
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        self.log.read(behind)
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        self.log.head()
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        self.log.beat(term, count)
    }

    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        self.log.compact(snapshot)
    }

    fn changed(&self, behind: Index) -> BoxFuture<'_, ()> {
        self.log.changed(behind)
    }

    fn renew(
        &self,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> BoxFuture<'_, Result<Renewed, StorageError>> {
        self.log.renew(incarnation, renewal)
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        self.log.leases()
    }
}

/// A node that can hold so many shards.
fn large(name: &str, nonce: u64, shards: u32) -> ToCoordinator {
    let ToCoordinator::Register {
        mut registration,
        slack,
    } = registration(name, nonce)
    else {
        unreachable!()
    };
    registration.groups.push(GroupSpec {
        name: GroupName::default(),
        count: ShardCount::new(shards).unwrap(),
        hash: "stable".to_owned(),
        role: None,
    });
    ToCoordinator::Register {
        registration,
        slack,
    }
}

async fn places(storage: &Arc<Narrow>, shards: u32) {
    let storage = Arc::clone(storage) as Arc<dyn Storage>;
    let manager = Manager::start_over(storage, ManagerSettings::default());
    let manager = manager.await.unwrap();
    let node = Caller::call(manager.address().unwrap(), "large", Seat::Node).await;
    let began = Instant::now();
    node.say(large("large", 1, shards));
    until(&manager, "all shards", |view| {
        spread(view) == [("large".to_owned(), shards as usize)]
    })
    .await;
    println!("{shards} shards placed in {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_shards_are_placed_without_asking_too_much_of_etcd() {
    let storage = Narrow::new(Limits {
        entries: 124,
        bytes: 1 << 20,
    });
    places(&storage, 100_000).await;
    assert_eq!(storage.refused.load(Ordering::Relaxed), 0);
    println!("{} appends", storage.appends.load(Ordering::Relaxed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storage_that_takes_very_little_gets_it_bit_by_bit_and_it_is_said_once() {
    let log = crate::cluster::Log::listen();
    let storage = Narrow::new(Limits {
        entries: 2,
        bytes: 16 << 10,
    });
    places(&storage, 3000).await;
    let refused = storage.refused.load(Ordering::Relaxed);
    assert!((1..20).contains(&refused), "{refused}");
    log.says(&["ERROR", "the storage takes less at once than it has to"])
        .await;
}
