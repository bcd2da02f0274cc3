//! The log in a file.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use ostrakon_servers::Folder;
use ostrakon_storage::conformance::{Place, patient, takeover};
use ostrakon_storage::{Append, BoxFuture, OpenError, Storage, StorageSettings, open};
use tokio::sync::Mutex;

ostrakon_storage::conformance_tests!(InFile::new());

/// There is one handle while somebody has it; then the file is closed, and opened again for the next.
struct InFile {
    present: Mutex<Option<Weak<dyn Storage>>>,
    folder: Folder,
}

impl InFile {
    fn new() -> Self {
        Self {
            present: Mutex::default(),
            folder: Folder::new("storage").unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn url(&self) -> String {
        format!("file:{}", self.path().display())
    }
}

impl Place for InFile {
    fn open(&self, settings: StorageSettings) -> BoxFuture<'_, Arc<dyn Storage>> {
        Box::pin(async move {
            let mut present = self.present.lock().await;
            if let Some(storage) = present.as_ref().and_then(Weak::upgrade) {
                return storage;
            }
            let storage = open(&self.url(), "test", settings).await.unwrap();
            *present = Some(Arc::downgrade(&storage));
            storage
        })
    }
}

#[tokio::test]
async fn a_file_that_is_open_is_not_opened_again() {
    let place = InFile::new();
    let first = place.open(patient()).await;
    let Err(error) = open(&place.url(), "test", patient()).await else {
        panic!("it must not be opened twice");
    };
    assert!(matches!(&error, OpenError::InUse { .. }), "{error:?}");
    assert!(
        error.to_string().contains(&place.url()["file:".len()..]),
        "{error}"
    );
    drop(first);
    open(&place.url(), "test", patient()).await.unwrap();
}

#[tokio::test]
async fn clusters_in_one_file_do_not_see_each_other() {
    let place = InFile::new();
    let (entries, storage) = ([takeover(1)], place.open(patient()).await);
    let append = Append::behind(Default::default(), &entries);
    storage.append(append).await.unwrap();
    drop(storage);
    let other = open(&place.url(), "other", patient()).await.unwrap();
    assert_eq!(other.head().await.unwrap(), Default::default());
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused() {
    let place = InFile::new();
    drop(place.open(patient()).await);
    let formats = redb::TableDefinition::<&str, u32>::new("ostrakon");
    let database = redb::Database::open(place.path()).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction
        .open_table(formats)
        .unwrap()
        .insert("format", 99)
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
    let Err(OpenError::NewerFormat { found, .. }) = open(&place.url(), "test", patient()).await
    else {
        panic!("it must not be opened");
    };
    assert_eq!(found, 99);
}

#[tokio::test]
async fn what_is_not_a_log_is_left_alone() {
    let place = InFile::new();
    std::fs::write(place.path(), "the diary of a manager").unwrap();
    let Err(error) = open(&place.url(), "test", patient()).await else {
        panic!("it must not be opened");
    };
    assert!(matches!(error, OpenError::Unavailable { .. }), "{error:?}");
    let left = std::fs::read_to_string(place.path()).unwrap();
    assert_eq!(left, "the diary of a manager");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let error = open("file:/no/such/folder/log", "test", patient())
        .await
        .err();
    assert!(error.unwrap().to_string().contains("/no/such/folder/log"));
}
