//! `Shared`: one server for all tests that do it no harm.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use ostrakon_storage::conformance::Place;
use ostrakon_storage::{BoxFuture, Storage, StorageSettings, open};

/// The server that runs, if a test uses it. It ends with the last of them.
pub(crate) struct Shared<S>(Mutex<Weak<S>>);

impl<S> Shared<S> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    pub(crate) fn get(&self, start: impl FnOnce() -> S) -> Arc<S> {
        let mut present = self.0.lock().unwrap();
        present.upgrade().unwrap_or_else(|| {
            let started = Arc::new(start());
            *present = Arc::downgrade(&started);
            started
        })
    }
}

/// A cluster of its own on a server.
pub(crate) struct OnServer<S> {
    url: String,
    cluster: String,
    _server: Arc<S>,
}

impl<S> OnServer<S> {
    pub(crate) fn new(server: Arc<S>, url: String) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self {
            url,
            cluster: format!("test-{}", COUNT.fetch_add(1, Ordering::Relaxed)),
            _server: server,
        }
    }

    pub(crate) fn cluster(&self) -> &str {
        &self.cluster
    }
}

impl<S: Send + Sync> Place for OnServer<S> {
    fn open(&self, settings: StorageSettings) -> BoxFuture<'_, Arc<dyn Storage>> {
        Box::pin(async move { open(&self.url, &self.cluster, settings).await.unwrap() })
    }
}
