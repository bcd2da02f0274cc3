//! What etcd takes at once, and what we do with more.

use etcd_client::GetOptions;
use ostrakon_core::{Entry, Index};
use ostrakon_storage::conformance::{Place, group, patient, register, state_of, takeover};
use ostrakon_storage::{Append, AppendError, Storage};

use crate::shared::Shared;

async fn append(storage: &dyn Storage, after: u64, entries: &[Entry]) -> Result<(), AppendError> {
    let append = Append::behind(Index::new(after), entries);
    storage.append(append).await
}

async fn keys(place: &Shared, under: &str) -> usize {
    let prefix = format!("/ostrakon/{}/{under}", place.cluster);
    let all = GetOptions::new().with_prefix().with_keys_only();
    let found = place.client().await.get(prefix, Some(all)).await;
    found.unwrap().kvs().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_leases_than_one_transaction_takes_are_refused_before_anything_is_written() {
    let place = Shared::new();
    let storage = place.open(patient()).await;
    let registrations: Vec<_> = (0..125).map(|nonce| register(0, nonce)).collect();
    let refused = append(&*storage, 0, &registrations).await;
    let Err(AppendError::TooLarge {
        entries: 125,
        most_entries: 124,
        ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(storage.head().await.unwrap().last, Index::default());
    let mut fitting = registrations[..124].to_vec();
    fitting.push(takeover(1));
    append(&*storage, 0, &fitting).await.unwrap();
    let leases = storage.leases().await.unwrap();
    assert_eq!(leases.len(), 124);

    let refused = storage
        .append(Append {
            after: Index::new(125),
            entries: &[],
            unmoved: &[leases[0]; 125],
        })
        .await;
    assert!(
        matches!(refused, Err(AppendError::TooLarge { .. })),
        "{refused:?}"
    );
    let every_lease = Append {
        after: Index::new(125),
        entries: &[takeover(2)],
        unmoved: &leases,
    };
    storage.append(every_lease).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_larger_than_one_request_is_stored_in_parts_and_the_earlier_one_goes() {
    let place = Shared::new();
    let storage = place.open(patient()).await;
    let entries: Vec<_> = (0..400).map(|number| group(0, number)).collect();
    for (part, entries) in (0..).zip(entries.chunks(100)) {
        append(&*storage, part * 100, entries).await.unwrap();
    }
    for (contained, appends_left) in [(350, 1), (400, 0)] {
        let snapshot = state_of(&entries[..contained]).snapshot();
        storage.compact(&snapshot).await.unwrap();
        let read = storage.read(Index::default()).await.unwrap();
        assert!(read.snapshot == Some(snapshot.clone()), "it is another");
        let bytes = serde_json::to_string(&snapshot).unwrap().len();
        assert!(bytes > 1_572_864, "{bytes}");
        assert_eq!(keys(&place, "snapshot/").await, bytes.div_ceil(1 << 20));
        assert_eq!(keys(&place, "log/").await, appends_left);
    }
}

/// All of them begin with the same snapshot; one puts its own in force, the others are told or find it there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compactions_at_the_same_time_leave_one_whole_snapshot() {
    let place = Shared::new();
    let entries: Vec<_> = (0..10).map(|number| group(0, number)).collect();
    let storage = place.open(patient()).await;
    append(&*storage, 0, &entries).await.unwrap();
    let mut compactions = tokio::task::JoinSet::new();
    for contained in 1..=10 {
        let (storage, snapshot) = (storage.clone(), state_of(&entries[..contained]).snapshot());
        compactions.spawn(async move { storage.compact(&snapshot).await.is_ok() });
    }
    let done = compactions.join_all().await;
    assert!(done.contains(&true));
    storage
        .compact(&state_of(&entries).snapshot())
        .await
        .unwrap();
    let read = storage.read(Index::default()).await.unwrap();
    assert_eq!(read.snapshot, Some(state_of(&entries).snapshot()));
    assert_eq!(read.entries, []);
}
