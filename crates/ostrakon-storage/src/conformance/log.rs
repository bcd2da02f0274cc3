//! Appending, reading, compacting.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_core::{Entry, Index, Term};
use tokio::task::JoinSet;

use super::{Place, expire, group, patient, register, state_of, takeover};
use crate::{Append, AppendError, Head, Renewal, Storage, StorageError};

/// The log from an index to its end, as one after the other was read.
async fn read_all(storage: &dyn Storage, mut behind: Index) -> Vec<(Index, Entry)> {
    let mut all = Vec::new();
    loop {
        let part = storage.read(behind).await.unwrap();
        assert_eq!(part.snapshot, None);
        let Some((last, _)) = part.entries.last() else {
            return all;
        };
        behind = *last;
        all.extend(part.entries);
    }
}

async fn append(storage: &dyn Storage, after: u64, entries: &[Entry]) -> Result<(), AppendError> {
    let append = Append::behind(Index::new(after), entries);
    storage.append(append).await
}

/// Two handles write by turns, and both read the same.
pub async fn entries_are_read_in_order_by_every_handle(place: &dyn Place) {
    let (a, b) = (place.open(patient()).await, place.open(patient()).await);
    assert_eq!(a.head().await.unwrap(), Head::default());
    assert_eq!(read_all(&*a, Index::default()).await, []);
    append(&*a, 0, &[takeover(1), group(1, 1)]).await.unwrap();
    append(&*b, 2, &[group(1, 2)]).await.unwrap();
    append(&*a, 3, &[takeover(2)]).await.unwrap();
    let written = [takeover(1), group(1, 1), group(1, 2), takeover(2)];
    let written: Vec<_> = (1..).map(Index::new).zip(written).collect();
    for storage in [&a, &b] {
        assert_eq!(read_all(&**storage, Index::default()).await, written);
        assert_eq!(read_all(&**storage, Index::new(2)).await, written[2..]);
        let head = storage.head().await.unwrap();
        assert_eq!((head.last, head.term), (Index::new(4), Term::new(4)));
    }
}

/// Neither before nor behind it; and nothing is written then.
pub async fn an_append_must_be_at_the_end(place: &dyn Place) {
    let (a, b) = (place.open(patient()).await, place.open(patient()).await);
    append(&*a, 0, &[takeover(1), group(1, 1)]).await.unwrap();
    for after in [0, 1, 3, 100] {
        let refused = append(&*b, after, &[takeover(2), group(2, 2)]).await;
        let Err(AppendError::Conflict { after: named }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(named, Index::new(after));
    }
    assert!(append(&*b, 1, &[]).await.is_err());
    append(&*b, 2, &[]).await.unwrap();
    let entries = read_all(&*a, Index::default()).await;
    assert_eq!(entries.len(), 2);
    assert_eq!(a.head().await.unwrap().term, Term::new(1));
}

/// Whoever believes to have written has, and nobody else.
pub async fn exactly_one_of_many_appenders_wins_each_index(place: &dyn Place) {
    const APPENDERS: u64 = 200;
    let mut handles = Vec::new();
    for _ in 0..4 {
        handles.push(place.open(patient()).await);
    }
    for after in 0..4 {
        let mut appenders = JoinSet::new();
        for appender in 0..APPENDERS {
            let storage = Arc::clone(&handles[appender as usize % handles.len()]);
            appenders.spawn(async move {
                let written = append(&*storage, after, &[takeover(appender)]).await;
                (appender, written)
            });
        }
        let mut winners = Vec::new();
        while let Some(ended) = appenders.join_next().await {
            match ended.unwrap() {
                (appender, Ok(())) => winners.push(appender),
                (_, Err(AppendError::Conflict { .. })) => {}
                (appender, Err(other)) => panic!("{appender}: {other:?}"),
            }
        }
        let read = read_all(&*handles[0], Index::new(after)).await;
        let expected: Vec<_> = winners.iter().map(|winner| takeover(*winner)).collect();
        let found: Vec<_> = read.into_iter().map(|(_, entry)| entry).collect();
        assert_eq!((winners.len(), found), (1, expected));
    }
}

/// Nobody waits for the answer; the log tells, and a batch is in it whole or not at all.
pub async fn a_lost_answer_is_found_by_reading(place: &dyn Place) {
    let (a, b) = (place.open(patient()).await, place.open(patient()).await);
    let mut last = 0;
    for attempt in 0..40 {
        let batch = [takeover(attempt), takeover(attempt), takeover(attempt)];
        let patience = Duration::from_micros(100 * attempt);
        // Whatever it would have said is lost.
        let _ = tokio::time::timeout(patience, append(&*a, last, &batch)).await;
        let marker = takeover(1_000);
        loop {
            let found = read_all(&*b, Index::new(last)).await;
            let found: Vec<_> = found.into_iter().map(|(_, entry)| entry).collect();
            assert!(found.is_empty() || found == batch, "{found:?}");
            last += found.len() as u64;
            // Only what is written behind it makes sure that a late one cannot come any more.
            match append(&*b, last, std::slice::from_ref(&marker)).await {
                Ok(()) => break,
                Err(AppendError::Conflict { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        last += 1;
    }
    assert_eq!(a.head().await.unwrap().last, Index::new(last));
}

/// What is long is not returned at once, and nothing of it is left out.
pub async fn a_log_is_read_in_parts(place: &dyn Place) {
    let storage = place.open(patient()).await;
    let entries: Vec<_> = (0..2_500).map(|number| group(1, number)).collect();
    let mut last = 0;
    for part in entries.chunks(100) {
        append(&*storage, last, part).await.unwrap();
        last += part.len() as u64;
    }
    let first = storage.read(Index::default()).await.unwrap();
    assert!(first.entries.len() < entries.len());
    let read = read_all(&*storage, Index::default()).await;
    let written: Vec<_> = (1..).map(Index::new).zip(entries).collect();
    assert_eq!(read, written);
}

/// Whoever is behind it begins with it; whoever is not never sees it.
pub async fn a_snapshot_stands_for_what_it_contains(place: &dyn Place) {
    let (a, b) = (place.open(patient()).await, place.open(patient()).await);
    let entries = [takeover(1), group(1, 1), group(1, 2), group(1, 3)];
    append(&*a, 0, &entries).await.unwrap();
    let of_three = state_of(&entries[..3]).snapshot();
    a.compact(&of_three).await.unwrap();
    a.compact(&state_of(&entries[..2]).snapshot())
        .await
        .unwrap();
    for behind in [0, 1, 2] {
        let read = b.read(Index::new(behind)).await.unwrap();
        assert_eq!(read.snapshot, Some(of_three.clone()));
        assert_eq!(read.entries, [(Index::new(4), entries[3].clone())]);
    }
    assert_eq!(read_all(&*b, Index::new(3)).await.len(), 1);
    append(&*b, 4, &[group(1, 4)]).await.unwrap();
    let head = a.head().await.unwrap();
    assert_eq!((head.last, head.term), (Index::new(5), Term::new(1)));
    let foreign: Vec<_> = (0..9).map(|number| group(0, number)).collect();
    let refused = a.compact(&state_of(&foreign).snapshot()).await;
    assert!(matches!(refused, Err(StorageError::Shorter { .. })));
}

/// A log that is shorter than it was has lost something.
pub async fn whoever_has_seen_more_than_there_is_is_told(place: &dyn Place) {
    let storage = place.open(patient()).await;
    append(&*storage, 0, &[takeover(1)]).await.unwrap();
    storage.read(Index::new(1)).await.unwrap();
    let told = storage.read(Index::new(2)).await;
    let Err(StorageError::Shorter { last, seen, .. }) = told else {
        panic!("{told:?}");
    };
    assert_eq!((last, seen), (Index::new(1), Index::new(2)));
}

/// A deposed one is not heard, and a new one begins at zero.
pub async fn only_the_present_leader_beats(place: &dyn Place) {
    let (a, b) = (place.open(patient()).await, place.open(patient()).await);
    append(&*a, 0, &[takeover(1)]).await.unwrap();
    a.beat(Term::new(1), 7).await.unwrap();
    assert_eq!(b.head().await.unwrap().beat, 7);
    append(&*b, 1, &[takeover(2)]).await.unwrap();
    assert_eq!(b.head().await.unwrap().beat, 0);
    a.beat(Term::new(1), 8).await.unwrap();
    assert_eq!(b.head().await.unwrap().beat, 0);
    b.beat(Term::new(2), 1).await.unwrap();
    append(&*b, 2, &[group(2, 1)]).await.unwrap();
    let head = a.head().await.unwrap();
    assert_eq!((head.term, head.beat), (Term::new(2), 1));
}

/// The error says what is too much, and the log is as it was.
pub async fn too_much_at_once_is_refused_before_anything_is_written(place: &dyn Place) {
    let storage = place.open(patient()).await;
    let much = vec![takeover(1); 100_000];
    let refused = append(&*storage, 0, &much).await;
    let Err(AppendError::TooLarge {
        entries,
        most_entries,
        ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert!(entries == much.len() && most_entries < entries);
    assert_eq!(storage.head().await.unwrap(), Head::default());
}

/// Entries, snapshot, term, beat and leases.
pub async fn reopening_keeps_everything(place: &dyn Place) {
    let entries = [takeover(1), register(1, 1), register(1, 2), group(1, 1)];
    let snapshot = state_of(&entries[..3]).snapshot();
    {
        let storage = place.open(patient()).await;
        append(&*storage, 0, &entries).await.unwrap();
        append(&*storage, 4, &[expire(1, Index::new(2).into())])
            .await
            .unwrap();
        storage.beat(Term::new(1), 5).await.unwrap();
        let renewal = Renewal { seq: 9, ok_seq: 8 };
        storage.renew(Index::new(3).into(), renewal).await.unwrap();
        storage.compact(&snapshot).await.unwrap();
    }
    let storage = place.open(patient()).await;
    let read = storage.read(Index::default()).await.unwrap();
    assert_eq!(read.snapshot, Some(snapshot));
    let indexes: Vec<_> = read.entries.iter().map(|(index, _)| index.get()).collect();
    assert_eq!(indexes, [4, 5]);
    let (last, term) = (Index::new(5), Term::new(1));
    let head = storage.head().await.unwrap();
    assert_eq!(
        head,
        Head {
            last,
            term,
            beat: 5
        }
    );
    let lease = (Index::new(3).into(), Renewal { seq: 9, ok_seq: 8 });
    assert_eq!(storage.leases().await.unwrap(), [lease]);
}
