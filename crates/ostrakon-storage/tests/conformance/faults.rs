//! What every server does to us, and what we make of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostrakon_core::{Entry, Index};
use ostrakon_servers::{Folder, Postgres, Redis};
use ostrakon_storage::conformance::{patient, takeover};
use ostrakon_storage::{
    Append, AppendError, OpenError, Renewal, Storage, StorageError, StorageSettings, open,
};

/// Short, because every test here waits for it.
const DEADLINE: Duration = Duration::from_millis(500);
/// What a busy machine may add to it.
const SLACK: Duration = Duration::from_secs(2);

/// A server that a test can do things to.
pub(crate) trait Server {
    fn url(&self) -> String;
    fn folder(&self) -> &Folder;
    fn stop(&mut self);
    fn kill(&mut self);
    fn pause(&self);
    fn resume(&self);
    fn restart(&mut self);
}

macro_rules! server {
    ($name:ident) => {
        impl Server for $name {
            fn url(&self) -> String {
                Self::url(self)
            }
            fn folder(&self) -> &Folder {
                Self::folder(self)
            }
            fn stop(&mut self) {
                Self::stop(self);
            }
            fn kill(&mut self) {
                Self::kill(self);
            }
            fn pause(&self) {
                Self::pause(self);
            }
            fn resume(&self) {
                Self::resume(self);
            }
            fn restart(&mut self) {
                Self::restart(self).unwrap();
            }
        }
    };
}

server!(Postgres);
server!(Redis);

fn hasty() -> StorageSettings {
    StorageSettings {
        deadline: DEADLINE,
        ..patient()
    }
}

async fn append(storage: &dyn Storage, after: Index, entry: Entry) -> Result<(), AppendError> {
    storage.append(Append::behind(after, &[entry])).await
}

/// Everything from an index on.
async fn read_all(storage: &dyn Storage, mut behind: Index) -> Vec<Entry> {
    let mut all = Vec::new();
    loop {
        let part = storage.read(behind).await.unwrap().entries;
        let Some((last, _)) = part.last() else {
            return all;
        };
        behind = *last;
        all.extend(part.into_iter().map(|(_, entry)| entry));
    }
}

/// Every call fails in time and says where; and surely nothing was written.
async fn everything_is_unavailable(storage: &dyn Storage, place: &str) {
    let begun = Instant::now();
    let appended = append(storage, Index::new(1), takeover(2)).await;
    let Err(AppendError::Unavailable { place: named, .. }) = appended else {
        panic!("{appended:?}");
    };
    assert!(named.contains(place), "{named}");
    let read = storage.read(Index::default()).await.err();
    let head = storage.head().await.err();
    let renewed = storage.renew(Index::new(1).into(), Renewal::default());
    let renewed = renewed.await.err();
    for error in [read, head, renewed] {
        let Some(StorageError::Unavailable { place: named, .. }) = &error else {
            panic!("{error:?}");
        };
        assert!(named.contains(place), "{named}");
    }
    assert!(begun.elapsed() < 4 * DEADLINE + SLACK);
}

/// Calls again until it answers; a second is enough, a busy machine may take longer.
async fn until_it_answers(storage: &dyn Storage) {
    let begun = Instant::now();
    while let Err(error) = storage.head().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "{error:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Stopped or killed: clear errors; started again: everything works with the handle of before, and nothing is lost.
pub(crate) async fn a_server_that_ends_comes_back_without_reopening(mut server: impl Server) {
    let place = server.url().rsplit_once('@').map_or_else(
        || server.url().replace("redis://", ""),
        |(_, host)| host.split('/').next().unwrap().to_owned(),
    );
    let storage = open(&server.url(), "ends", hasty()).await.unwrap();
    append(&*storage, Index::default(), takeover(1))
        .await
        .unwrap();
    server.stop();
    everything_is_unavailable(&*storage, &place).await;
    server.restart();
    until_it_answers(&*storage).await;
    server.kill();
    everything_is_unavailable(&*storage, &place).await;
    server.restart();
    until_it_answers(&*storage).await;
    append(&*storage, Index::new(1), takeover(2)).await.unwrap();
    let all = read_all(&*storage, Index::default()).await;
    assert_eq!(all, [takeover(1), takeover(2)]);
    news_arrive_again(&server, storage).await;
}

/// The settings leave no time to look for them.
async fn news_arrive_again(server: &impl Server, storage: Arc<dyn Storage>) {
    let other = open(&server.url(), "ends", patient()).await.unwrap();
    let waiting = tokio::spawn(async move { storage.changed(Index::new(2)).await });
    append(&*other, Index::new(2), takeover(3)).await.unwrap();
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, waiting).await.unwrap().unwrap();
}

/// A server that hangs does not make us hang, and goes on where it was.
pub(crate) async fn a_paused_server_holds_nobody_up(server: impl Server) {
    let storage = open(&server.url(), "paused", hasty()).await.unwrap();
    append(&*storage, Index::default(), takeover(1))
        .await
        .unwrap();
    server.pause();
    let begun = Instant::now();
    let appended = append(&*storage, Index::new(1), takeover(2)).await;
    assert!(begun.elapsed() < DEADLINE + SLACK, "{:?}", begun.elapsed());
    let Err(AppendError::Unknown { .. } | AppendError::Unavailable { .. }) = appended else {
        panic!("{appended:?}");
    };
    for _ in 0..6 {
        let begun = Instant::now();
        storage.head().await.unwrap_err();
        assert!(begun.elapsed() < DEADLINE + SLACK);
    }
    server.resume();
    until_it_answers(&*storage).await;
    let last = storage.head().await.unwrap().last;
    append(&*storage, last, takeover(3)).await.unwrap();
}

/// As every call does.
pub(crate) async fn opening_a_paused_server_ends_by_its_deadline(server: impl Server) {
    server.pause();
    let begun = Instant::now();
    let opened = open(&server.url(), "paused", hasty()).await;
    assert!(matches!(opened.err(), Some(OpenError::Unavailable { .. })));
    assert!(begun.elapsed() < DEADLINE + SLACK);
    server.resume();
    open(&server.url(), "paused", patient()).await.unwrap();
}

/// Whatever happens while it is paused, killed and started again: what was said to be written is, what was said not to be is not.
pub(crate) async fn an_append_during_a_fault_is_never_misreported(mut server: impl Server) {
    let storage = open(&server.url(), "faults", hasty()).await.unwrap();
    let mut last = Index::default();
    let mut fates = [0, 0];
    for round in 0..12_u64 {
        let (writer, after) = (Arc::clone(&storage), last);
        let writing =
            tokio::spawn(async move { write_until_it_fails(&*writer, after, round).await });
        tokio::time::sleep(Duration::from_millis(5 + 7 * round)).await;
        match round % 3 {
            0 => server.kill(),
            _ => server.pause(),
        }
        let (written, failed) = writing.await.unwrap();
        match round % 3 {
            0 => server.restart(),
            _ => server.resume(),
        }
        until_it_answers(&*storage).await;
        let found = settle(&*storage, last, round).await;
        let unsure = takeover(1_000 * round + written);
        let (sure, rest) = found.split_at(usize::try_from(written).unwrap());
        let expected: Vec<_> = (0..written).map(|n| takeover(1_000 * round + n)).collect();
        assert_eq!(sure, expected);
        if let AppendError::Unavailable { .. } = failed {
            assert_eq!(rest.len(), 1, "{failed:?} {rest:?}");
        } else {
            assert!(matches!(failed, AppendError::Unknown { .. }), "{failed:?}");
            assert!(rest.len() == 1 || rest[0] == unsure, "{rest:?}");
        }
        fates[rest.len() - 1] += 1;
        last = Index::new(last.get() + found.len() as u64);
    }
    println!(
        "not written: {}, written although nobody knew: {}",
        fates[0], fates[1]
    );
}

/// How many were acknowledged, and what became of the next.
async fn write_until_it_fails(
    storage: &dyn Storage,
    mut after: Index,
    round: u64,
) -> (u64, AppendError) {
    let mut written = 0;
    loop {
        match append(storage, after, takeover(1_000 * round + written)).await {
            Ok(()) => (written, after) = (written + 1, after.next()),
            Err(error) => return (written, error),
        }
    }
}

/// Writes a last entry, behind which nothing of before can come any more, and reads all from an index on.
async fn settle(storage: &dyn Storage, behind: Index, round: u64) -> Vec<Entry> {
    loop {
        let last = storage.head().await.unwrap().last;
        match append(storage, last, takeover(1_000 * round + 999)).await {
            Ok(()) => return read_all(storage, behind).await,
            Err(AppendError::Conflict { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// How a server takes a full disk.
pub(crate) enum WhenFull {
    /// It refuses, and works again when there is room.
    Refuses,
    /// It ends, and has to be started.
    Ends,
}

/// What was acknowledged before is there after, and nothing else has to be done than to make room.
pub(crate) async fn a_full_disk_loses_nothing(mut server: impl Server, when_full: WhenFull) {
    let storage = open(&server.url(), "full", patient()).await.unwrap();
    append(&*storage, Index::default(), takeover(1))
        .await
        .unwrap();
    server.folder().fill().unwrap();
    let mut last = Index::new(1);
    let much = vec![takeover(2); 2_000];
    let failed = loop {
        match storage.append(Append::behind(last, &much)).await {
            Ok(()) => last = Index::new(last.get() + 2_000),
            Err(error) => break error,
        }
    };
    match (&failed, &when_full) {
        (AppendError::Unavailable { source, .. }, WhenFull::Refuses) => {
            let said = source.to_string();
            assert!(said.contains("No space left"), "{said}");
        }
        (AppendError::Unknown { .. }, WhenFull::Ends) => {}
        _ => panic!("{failed:?}"),
    }
    server.folder().clear().unwrap();
    if let WhenFull::Ends = when_full {
        server.restart();
    }
    until_it_answers(&*storage).await;
    let all = read_all(&*storage, Index::default()).await;
    assert_eq!(all.len() as u64, last.get());
    append(&*storage, last, takeover(3)).await.unwrap();
}

/// Only root can make a disk small; on an ordinary developer's machine there is nothing to see.
pub(crate) fn small_disk(mebibytes: u32) -> Option<Folder> {
    let folder = Folder::on_small_disk("small", mebibytes);
    folder
        .inspect_err(|error| eprintln!("not tested: no small disk: {error}"))
        .ok()
}
