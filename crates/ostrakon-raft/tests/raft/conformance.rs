//! A single voter, in memory and on disk.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ostrakon_raft::{
    CallError, Calls, RaftLog, RaftRequest, RaftResponse, RaftSettings, Voice, fresh_id,
};
use ostrakon_servers::Folder;
use ostrakon_storage::conformance::Place;
use ostrakon_storage::{BoxFuture, Storage, StorageSettings};
use tokio::sync::Mutex;

mod in_memory {
    ostrakon_storage::conformance_tests!(super::Single::in_memory());
}

mod on_disk {
    ostrakon_storage::conformance_tests!(super::Single::on_disk());
}

/// Nobody to call.
struct Alone;

impl Calls for Alone {
    fn call<'a>(
        &'a self,
        _: &'a Voice,
        _: RaftRequest,
        _: Duration,
    ) -> BoxFuture<'a, Result<RaftResponse, CallError>> {
        Box::pin(async { Err(CallError::Unreachable("there is nobody else".to_owned())) })
    }
}

/// One voter. In memory it stays; on disk it ends with its last user, and is started again for the next.
struct Single {
    kept: Mutex<Option<Arc<RaftLog>>>,
    present: Mutex<Option<Weak<RaftLog>>>,
    folder: Option<Folder>,
}

impl Single {
    fn in_memory() -> Self {
        Self {
            kept: Mutex::default(),
            present: Mutex::default(),
            folder: None,
        }
    }

    fn on_disk() -> Self {
        let folder = Some(Folder::new("raft").unwrap());
        Self {
            folder,
            ..Self::in_memory()
        }
    }

    async fn start(&self, storage: StorageSettings) -> Arc<RaftLog> {
        let me = Voice {
            id: fresh_id(),
            name: "a".parse().unwrap(),
            address: ostrakon_core::Address::new("127.0.0.1:1").unwrap(),
        };
        let mut settings = RaftSettings::new("test", me);
        settings.storage = storage;
        settings.data = self.folder.as_ref().map(|folder| folder.path().join("a"));
        let log = loop {
            match RaftLog::start(settings.clone(), Arc::new(Alone)).await {
                Ok(log) => break log,
                // The one before has been dropped, and is about to close its file.
                Err(ostrakon_raft::StartError::InUse { .. }) => tokio::task::yield_now().await,
                Err(other) => panic!("{other:?}"),
            }
        };
        if !log.has_log().await {
            log.form().await.unwrap();
        }
        log.leads().wait_for(|leads| *leads).await.unwrap();
        // A leader that came back has applied what it had when this returns.
        log.head().await.unwrap();
        Arc::new(log)
    }
}

impl Place for Single {
    fn open(&self, settings: StorageSettings) -> BoxFuture<'_, Arc<dyn Storage>> {
        Box::pin(async move {
            let mut present = self.present.lock().await;
            if let Some(log) = present.as_ref().and_then(Weak::upgrade) {
                return log as Arc<dyn Storage>;
            }
            let log = self.start(settings).await;
            *present = Some(Arc::downgrade(&log));
            if self.folder.is_none() {
                *self.kept.lock().await = Some(Arc::clone(&log));
            }
            log as Arc<dyn Storage>
        })
    }
}
