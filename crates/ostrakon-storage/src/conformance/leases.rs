//! Leases, and what protects them.

use ostrakon_core::{Command, DeathProof, Entry, Incarnation, Index};

use super::{Place, expire, patient, register, state_of, takeover};
use crate::{Append, AppendError, Renewal, Renewed, Storage};

fn run(index: u64) -> Incarnation {
    Index::new(index).into()
}

fn seq(seq: u64) -> Renewal {
    let ok_seq = seq.saturating_sub(1);
    Renewal { seq, ok_seq }
}

async fn append(storage: &dyn Storage, after: u64, entries: &[Entry]) {
    let append = Append::behind(Index::new(after), entries);
    storage.append(append).await.unwrap();
}

/// With the entry that registers it, until the one that ends it.
pub async fn a_lease_begins_and_ends_with_its_run(place: &dyn Place) {
    let (a, b) = (place.open(patient()).await, place.open(patient()).await);
    assert_eq!(b.renew(run(2), seq(1)).await.unwrap(), Renewed::Ended);
    append(&*a, 0, &[takeover(1), register(1, 1), register(1, 2)]).await;
    let begun = [(run(2), Renewal::default()), (run(3), Renewal::default())];
    assert_eq!(b.leases().await.unwrap(), begun);
    for (renewal, counted) in [(seq(1), seq(1)), (seq(5), seq(5)), (seq(3), seq(5))] {
        assert_eq!(b.renew(run(2), renewal).await.unwrap(), Renewed::Counted);
        assert_eq!(a.leases().await.unwrap()[0], (run(2), counted));
    }
    append(&*a, 3, &[expire(1, run(2))]).await;
    assert_eq!(b.renew(run(2), seq(6)).await.unwrap(), Renewed::Ended);
    assert_eq!(b.leases().await.unwrap(), begun[1..]);
    let (incarnation, proof) = (run(3), DeathProof::ProcessGone);
    let command = Command::ConfirmDead { incarnation, proof };
    let dead = Entry {
        command,
        ..takeover(0)
    };
    append(&*a, 4, &[dead, register(1, 3), expire(1, run(6))]).await;
    assert_eq!(b.renew(run(3), seq(1)).await.unwrap(), Renewed::Ended);
    assert_eq!(b.leases().await.unwrap(), []);
}

/// Nothing is written if one of several is not as it was seen, or is not there.
pub async fn a_lease_that_has_moved_keeps_its_run_from_expiring(place: &dyn Place) {
    let storage = place.open(patient()).await;
    append(&*storage, 0, &[takeover(1), register(1, 1), register(1, 2)]).await;
    storage.renew(run(2), seq(4)).await.unwrap();
    let entries = [expire(1, run(2)), expire(1, run(3))];
    let still = (run(3), Renewal::default());
    for moved in [
        (run(2), seq(3)),
        (run(2), Renewal { seq: 4, ok_seq: 4 }),
        (run(9), seq(0)),
    ] {
        let unmoved = [still, moved];
        let append = Append {
            after: Index::new(3),
            entries: &entries,
            unmoved: &unmoved,
        };
        let refused = storage.append(append).await;
        let Err(AppendError::Renewed { incarnation }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(incarnation, moved.0);
    }
    assert_eq!(storage.head().await.unwrap().last, Index::new(3));
    assert_eq!(storage.leases().await.unwrap().len(), 2);
    let unmoved = [still, (run(2), seq(4))];
    let append = Append {
        after: Index::new(3),
        entries: &entries,
        unmoved: &unmoved,
    };
    storage.append(append).await.unwrap();
    assert_eq!(storage.leases().await.unwrap(), []);
}

/// Whichever comes first, the other is told.
pub async fn a_run_is_never_both_renewed_and_expired(place: &dyn Place) {
    let (a, b) = (place.open(patient()).await, place.open(patient()).await);
    append(&*a, 0, &[takeover(1)]).await;
    let mut last = 1;
    for nonce in 0..100 {
        append(&*a, last, &[register(1, nonce)]).await;
        last += 1;
        let incarnation = run(last);
        let node = b.clone();
        let renewing = tokio::spawn(async move { node.renew(incarnation, seq(1)).await });
        let append = Append {
            after: Index::new(last),
            entries: &[expire(1, incarnation)],
            unmoved: &[(incarnation, Renewal::default())],
        };
        let expired = a.append(append).await;
        match (renewing.await.unwrap().unwrap(), expired) {
            (Renewed::Counted, Err(AppendError::Renewed { .. })) => {}
            (Renewed::Ended, Ok(())) => last += 1,
            both => panic!("{both:?}"),
        }
    }
}

/// A registration that came to nothing has a lease until then; members and later runs keep theirs.
pub async fn compaction_forgets_the_leases_of_runs_that_are_over(place: &dyn Place) {
    let storage = place.open(patient()).await;
    let twice = register(1, 1);
    let entries = [takeover(1), twice.clone(), twice, register(1, 2)];
    append(&*storage, 0, &entries).await;
    let runs = |leases: Vec<(Incarnation, Renewal)>| -> Vec<_> {
        leases
            .into_iter()
            .map(|(incarnation, _)| incarnation)
            .collect()
    };
    assert_eq!(
        runs(storage.leases().await.unwrap()),
        [run(2), run(3), run(4)]
    );
    let snapshot = state_of(&entries[..3]).snapshot();
    storage.compact(&snapshot).await.unwrap();
    assert_eq!(runs(storage.leases().await.unwrap()), [run(2), run(4)]);
}
