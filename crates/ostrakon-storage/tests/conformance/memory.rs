//! The log in memory.

use std::sync::Arc;

use ostrakon_storage::conformance::Place;
use ostrakon_storage::{BoxFuture, Memory, Storage, StorageSettings};

ostrakon_storage::conformance_tests!(Shared::default());

#[derive(Default)]
struct Shared(tokio::sync::OnceCell<Arc<Memory>>);

impl Place for Shared {
    fn open(&self, settings: StorageSettings) -> BoxFuture<'_, Arc<dyn Storage>> {
        Box::pin(async move {
            let open = || async { Arc::new(Memory::new(settings)) };
            let memory: Arc<dyn Storage> = self.0.get_or_init(open).await.clone();
            memory
        })
    }
}
