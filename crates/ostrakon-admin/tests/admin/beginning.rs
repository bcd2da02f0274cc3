//! A manager whose storage does not answer yet.

use std::sync::Arc;

use ostrakon_core::{Incarnation, Index, Snapshot, Term};
use ostrakon_storage::{
    Append, AppendError, BoxFuture, Head, Read, Renewal, Renewed, Storage, StorageError,
};
use tokio::sync::Semaphore;

use crate::house::{House, manager_settings, with_token, written_log};

/// A log that is not read before somebody lets it be.
struct Closed {
    log: Arc<dyn Storage>,
    open: Semaphore,
}

impl Storage for Closed {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        self.log.append(append)
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(async move {
            let _open = self.open.acquire().await;
            self.log.read(behind).await
        })
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

#[tokio::test]
async fn a_manager_is_ready_when_it_has_read_the_log_and_lives_before() {
    let closed = Arc::new(Closed {
        log: written_log().await,
        open: Semaphore::new(0),
    });
    let storage: Arc<dyn Storage> = closed.clone();
    let house = House::standing_by(storage, manager_settings(), with_token()).await;
    assert_eq!(house.get("/healthz").await.status, 200);
    let problem = house.get("/readyz").await.problem(503);
    assert!(problem.contains("has not been read"), "{problem}");
    let early = house.get("/v1/status").await.json();
    assert_eq!(early["leader"], serde_json::Value::Null);
    let refused = house.post("/v1/rebalance", "").await.problem(421);
    assert!(refused.contains("when a manager leads"), "{refused}");

    closed.open.add_permits(1);
    house
        .until("it leads", |view| {
            view.leader().is_some_and(|leader| leader.is_me)
        })
        .await;
    assert_eq!(house.get("/readyz").await.status, 200);
}
