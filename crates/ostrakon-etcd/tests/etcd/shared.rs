//! `Shared`: a server for all tests that leave it alone, with a cluster for each.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use etcd_client::Client;
use ostrakon_servers::Etcd;
use ostrakon_storage::conformance::Place;
use ostrakon_storage::{BoxFuture, Storage, StorageSettings};

/// It ends with the last test that has it: what is static is never dropped.
static SERVER: Mutex<Weak<Etcd>> = Mutex::new(Weak::new());
static CLUSTERS: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Shared {
    server: Arc<Etcd>,
    pub(crate) cluster: String,
}

impl Shared {
    pub(crate) fn new() -> Self {
        let mut present = SERVER.lock().unwrap();
        let server = present
            .upgrade()
            .unwrap_or_else(|| Arc::new(Etcd::start().unwrap()));
        *present = Arc::downgrade(&server);
        let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        Self {
            server,
            cluster: format!("test-{number}"),
        }
    }

    pub(crate) fn url(&self) -> String {
        url(&self.server)
    }

    pub(crate) async fn client(&self) -> Client {
        client(&self.server).await
    }
}

impl Place for Shared {
    fn open(&self, settings: StorageSettings) -> BoxFuture<'_, Arc<dyn Storage>> {
        Box::pin(async move {
            let storage = ostrakon_etcd::open(&self.url(), &self.cluster, settings).await;
            storage.unwrap()
        })
    }
}

pub(crate) fn url(server: &Etcd) -> String {
    server.url().replace("http://", "etcd://")
}

/// To do what an operator does.
pub(crate) async fn client(server: &Etcd) -> Client {
    Client::connect([server.url()], None).await.unwrap()
}

/// Settings for tests in which a server says nothing.
pub(crate) fn hasty() -> StorageSettings {
    StorageSettings {
        deadline: Duration::from_millis(500),
        ..StorageSettings::default()
    }
}
