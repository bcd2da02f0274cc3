//! What a full disk does, with a disk that is full when the test says so.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_core::{Command, Entry, Index, Term};
use redb::backends::InMemoryBackend;
use redb::{Builder, StorageBackend};

use super::*;

#[derive(Debug, Default)]
struct Disk {
    content: InMemoryBackend,
    is_full: AtomicBool,
}

#[derive(Debug, Clone, Default)]
struct OnDisk(Arc<Disk>);

impl OnDisk {
    fn room(&self) -> Result<(), io::Error> {
        match self.0.is_full.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

impl StorageBackend for OnDisk {
    fn len(&self) -> Result<u64, io::Error> {
        self.0.content.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.0.content.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.room()?;
        self.0.content.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.room()?;
        self.0.content.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.room()?;
        self.0.content.write(offset, data)
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_needs_no_restart() {
    let disk = OnDisk::default();
    let content = disk.clone();
    let open = Box::new(move || Builder::new().create_with_backend(content.clone()));
    let settings = StorageSettings::default();
    let storage = Embedded::open_with(open, "a disk".to_owned(), "test", settings);
    let storage = storage.await.unwrap();
    let command = Command::Takeover {
        grantor: "a".parse().unwrap(),
        run: 1,
    };
    let entry = Entry {
        term: Term::default(),
        command,
    };
    let one = std::slice::from_ref(&entry);
    storage
        .append(Append::behind(Index::default(), one))
        .await
        .unwrap();

    disk.0.is_full.store(true, Ordering::SeqCst);
    let failed = storage.append(Append::behind(Index::new(1), one)).await;
    let Err(AppendError::Unknown { place, source } | AppendError::Unavailable { place, source }) =
        failed
    else {
        panic!("{failed:?}");
    };
    assert_eq!(place, "a disk");
    let said = format!("{source:?}");
    assert!(said.contains("StorageFull"), "{said}");
    let again = storage.append(Append::behind(Index::new(1), one)).await;
    assert!(again.is_err());

    disk.0.is_full.store(false, Ordering::SeqCst);
    let read = storage.read(Index::default()).await.unwrap();
    let last = read.entries.last().unwrap().0;
    assert_eq!(storage.head().await.unwrap().last, last);
    storage.append(Append::behind(last, one)).await.unwrap();
    let read = storage.read(last).await.unwrap();
    assert_eq!(read.entries, [(last.next(), entry)]);
}
