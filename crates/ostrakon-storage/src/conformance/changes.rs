//! Waiting for news.

use std::time::{Duration, Instant};

use ostrakon_core::Index;

use super::{Place, patient, takeover};
use crate::{Append, StorageSettings};

/// News come by themselves: the settings leave no time to look for them.
pub async fn an_append_wakes_whoever_waits_at_another_handle(place: &dyn Place) {
    let (a, b) = (place.open(patient()).await, place.open(patient()).await);
    let mut last = Index::default();
    for run in 0..5 {
        let (begun, waits) = tokio::sync::oneshot::channel();
        let (waiter, behind) = (b.clone(), last);
        let woken = tokio::spawn(async move {
            let changed = waiter.changed(behind);
            begun.send(()).unwrap();
            changed.await;
            Instant::now()
        });
        waits.await.unwrap();
        a.append(Append::behind(last, &[takeover(run)]))
            .await
            .unwrap();
        let appended = Instant::now();
        let late = woken.await.unwrap().saturating_duration_since(appended);
        assert!(late < Duration::from_secs(2), "{late:?}");
        last = last.next();
        assert_eq!(b.read(behind).await.unwrap().entries.len(), 1);
    }
}

/// A handle that was opened later knows of it.
pub async fn what_lies_there_already_is_not_waited_for(place: &dyn Place) {
    let a = place.open(patient()).await;
    a.append(Append::behind(Index::default(), &[takeover(1)]))
        .await
        .unwrap();
    let b = place.open(patient()).await;
    let since = Instant::now();
    b.changed(Index::default()).await;
    assert!(since.elapsed() < Duration::from_secs(2));
}

/// In case that news were lost.
pub async fn waiting_ends_by_itself(place: &dyn Place) {
    let storage = place.open(StorageSettings {
        poll: Duration::from_millis(50),
        ..patient()
    });
    let storage = storage.await;
    let since = Instant::now();
    storage.changed(Index::default()).await;
    assert!(since.elapsed() < Duration::from_secs(2));
}
