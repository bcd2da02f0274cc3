//! What happens when a server fails: errors say what may have been done, and a handle recovers by itself.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use etcd_client::{AlarmAction, AlarmType};
use ostrakon_core::{Entry, Index};
use ostrakon_servers::Etcd;
use ostrakon_storage::conformance::{patient, takeover};
use ostrakon_storage::{Append, AppendError, Storage, StorageError};

use crate::shared::{self, hasty};

const LONG: Duration = Duration::from_secs(30);

async fn append(storage: &dyn Storage, after: u64, entry: &Entry) -> Result<(), AppendError> {
    let append = Append::behind(Index::new(after), std::slice::from_ref(entry));
    storage.append(append).await
}

async fn log(storage: &dyn Storage) -> Vec<Entry> {
    let since = Instant::now();
    loop {
        match storage.read(Index::default()).await {
            Ok(read) => return read.entries.into_iter().map(|(_, entry)| entry).collect(),
            Err(error) => assert!(since.elapsed() < LONG, "{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_appended_while_the_server_is_away_and_the_handle_recovers() {
    let mut server = Etcd::start().unwrap();
    let storage = ostrakon_etcd::open(&shared::url(&server), "shop", patient()).await;
    let storage = storage.unwrap();
    append(&*storage, 0, &takeover(1)).await.unwrap();
    server.stop();
    let since = Instant::now();
    loop {
        match append(&*storage, 1, &takeover(2)).await {
            Err(AppendError::Unavailable { .. }) => break,
            // The end of the connection may be noticed only by what is sent on it.
            Err(AppendError::Unknown { .. }) => assert!(since.elapsed() < LONG),
            other => panic!("{other:?}"),
        }
    }
    let told = storage.head().await;
    assert!(
        matches!(told, Err(StorageError::Unavailable { .. })),
        "{told:?}"
    );
    server.restart().unwrap();
    assert_eq!(log(&*storage).await, [takeover(1)]);
    append(&*storage, 1, &takeover(3)).await.unwrap();
    assert_eq!(log(&*storage).await, [takeover(1), takeover(3)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_to_a_paused_server_is_unknown_until_the_log_is_read() {
    let server = Etcd::start().unwrap();
    let url = shared::url(&server);
    let storage = ostrakon_etcd::open(&url, "shop", hasty()).await.unwrap();
    append(&*storage, 0, &takeover(1)).await.unwrap();
    server.pause();
    let since = Instant::now();
    let unknown = append(&*storage, 1, &takeover(2)).await;
    assert!(
        matches!(unknown, Err(AppendError::Unknown { .. })),
        "{unknown:?}"
    );
    let told = storage.head().await;
    assert!(
        matches!(told, Err(StorageError::Unavailable { .. })),
        "{told:?}"
    );
    assert!(since.elapsed() < Duration::from_secs(10));
    server.resume();
    let mut last = log(&*storage).await.len() as u64;
    while let Err(error) = append(&*storage, last, &takeover(3)).await {
        assert!(since.elapsed() < LONG, "{error:?}");
        last = log(&*storage).await.len() as u64;
    }
    let (first, third) = (takeover(1), takeover(3));
    let found = log(&*storage).await;
    assert!(
        found == [first.clone(), third.clone()] || found == [first, takeover(2), third],
        "{found:?}"
    );
}

/// Also if etcd has forgotten its history meanwhile, and cannot be asked what has changed since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_is_woken_after_the_server_was_killed() {
    let mut server = Etcd::start().unwrap();
    let url = shared::url(&server);
    let waiter = ostrakon_etcd::open(&url, "shop", patient()).await.unwrap();
    let storage = ostrakon_etcd::open(&url, "shop", patient()).await.unwrap();
    append(&*storage, 0, &takeover(1)).await.unwrap();
    waiter.changed(Index::default()).await;
    let waiting = Arc::clone(&waiter);
    let woken = tokio::spawn(async move { waiting.changed(Index::new(1)).await });
    server.kill();
    server.restart().unwrap();
    assert_eq!(log(&*storage).await, [takeover(1)]);
    append(&*storage, 1, &takeover(2)).await.unwrap();
    let mut client = shared::client(&server).await;
    let put = client.put("elsewhere", "", None).await.unwrap();
    let revision = put.header().unwrap().revision();
    client.compact(revision, None).await.unwrap();
    tokio::time::timeout(LONG, woken).await.unwrap().unwrap();
    assert_eq!(log(&*waiter).await, [takeover(1), takeover(2)]);
}

/// etcd says that it is full also of a write that it has taken, so nobody may rely on the contrary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_is_read_but_not_written_until_there_is_room() {
    let server = Etcd::start().unwrap();
    let url = shared::url(&server);
    let storage = ostrakon_etcd::open(&url, "shop", patient()).await.unwrap();
    append(&*storage, 0, &takeover(1)).await.unwrap();
    let mut client = shared::client(&server).await;
    let full = AlarmType::Nospace;
    let raised = client.alarm(AlarmAction::Activate, full, None).await;
    raised.unwrap();
    let told = append(&*storage, 1, &takeover(2)).await;
    let Err(AppendError::Unknown { source, .. }) = told else {
        panic!("{told:?}");
    };
    assert!(source.to_string().contains("space"), "{source}");
    assert_eq!(log(&*storage).await, [takeover(1)]);
    let ended = client.alarm(AlarmAction::Deactivate, full, None).await;
    ended.unwrap();
    append(&*storage, 1, &takeover(3)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_is_away_is_passed_over() {
    let away = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = away.local_addr().unwrap();
    drop(away);
    let server = Etcd::start().unwrap();
    let present = shared::url(&server).replace("etcd://", "");
    let url = format!("etcd://{address},{present}");
    let storage = ostrakon_etcd::open(&url, "shop", patient()).await.unwrap();
    for run in 0..10 {
        append(&*storage, run, &takeover(run)).await.unwrap();
    }
    assert_eq!(log(&*storage).await.len(), 10);
}

/// The first request to it is lost; the next goes to another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_says_nothing_is_left() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Etcd::start().unwrap();
    let present = shared::url(&server).replace("etcd://", "");
    let url = format!("etcd://{present},{}", silent.local_addr().unwrap());
    let storage = ostrakon_etcd::open(&url, "shop", hasty()).await.unwrap();
    append(&*storage, 0, &takeover(1)).await.unwrap();
    server.pause();
    let unknown = append(&*storage, 1, &takeover(2)).await;
    assert!(
        matches!(unknown, Err(AppendError::Unknown { .. })),
        "{unknown:?}"
    );
    server.resume();
    assert_eq!(log(&*storage).await[0], takeover(1));
}
