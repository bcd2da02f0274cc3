//! Appending: one transaction that is refused unless the log ends where it is said to.

use std::collections::BTreeSet;

use etcd_client::{Compare, CompareOp, Txn, TxnOp};
use ostrakon_core::{Incarnation, Index};
use ostrakon_storage::backend::{Batch, Limits};
use ostrakon_storage::{Append, AppendError, Renewal};

use super::{Store, get};
use crate::counted;
use crate::servers::Outcome;

/// etcd takes requests of 1.5 MiB, unless told otherwise; keys and conditions need some of it.
const LIMITS: Limits = Limits {
    entries: 8192,
    bytes: 1 << 20,
};
/// etcd takes 128 operations at once, unless told otherwise. Four are for the entries, `last`, `term` and `beat`.
const MOST_LEASES: usize = 124;

impl Store {
    /// Where the log ends then.
    pub(crate) async fn append(&self, append: &Append<'_>) -> Result<Index, AppendError> {
        let batch = Batch::of(append, &self.place, LIMITS)?;
        self.check_leases(append, &batch)?;
        let txn = Txn::new()
            .when(self.conditions(append))
            .and_then(self.writes(&batch))
            .or_else(self.looks(append));
        let outcome = self.servers.in_time(self.servers.transact(txn)).await;
        let outcome = outcome.map_err(|failure| failure.append(&self.place))?;
        match outcome.held {
            true => Ok(batch.last),
            false => Err(self.obstacle(append, &outcome)),
        }
    }

    fn check_leases(&self, append: &Append<'_>, batch: &Batch) -> Result<(), AppendError> {
        let moved = batch.begun.len() + batch.ended.len();
        if moved.max(append.unmoved.len()) <= MOST_LEASES {
            return Ok(());
        }
        Err(AppendError::TooLarge {
            place: self.place.clone(),
            entries: batch.entries.len(),
            bytes: batch.entries.iter().map(|(_, text)| text.len()).sum(),
            most_entries: MOST_LEASES,
            most_bytes: LIMITS.bytes,
        })
    }

    fn conditions(&self, append: &Append<'_>) -> Vec<Compare> {
        let is = |key, value| Compare::value(key, CompareOp::Equal, value);
        let last = is(self.keys.last(), append.after.get().to_string());
        let leases = append.unmoved.iter();
        let leases =
            leases.map(|(run, renewal)| is(self.keys.lease(*run), counted::text(*renewal)));
        std::iter::once(last).chain(leases).collect()
    }

    fn writes(&self, batch: &Batch) -> Vec<TxnOp> {
        if batch.entries.is_empty() {
            return Vec::new();
        }
        let put = |key, value: String| TxnOp::put(key, value, None);
        let lines: Vec<&str> = batch
            .entries
            .iter()
            .map(|(_, text)| text.as_str())
            .collect();
        let mut writes = vec![
            put(self.keys.log(batch.last), lines.join("\n")),
            put(self.keys.last(), batch.last.get().to_string()),
        ];
        if let Some(term) = batch.term {
            writes.push(put(self.keys.term(), term.get().to_string()));
            writes.push(put(self.keys.beat(), "0".to_owned()));
        }
        // etcd refuses to put and delete a key at once.
        let ended: BTreeSet<&Incarnation> = batch.ended.iter().collect();
        let begun = batch.begun.iter().filter(|run| !ended.contains(run));
        let begun = begun.map(|run| put(self.keys.lease(*run), counted::text(Renewal::default())));
        writes.extend(begun);
        writes.extend(
            ended
                .iter()
                .map(|run| TxnOp::delete(self.keys.lease(**run), None)),
        );
        writes
    }

    /// Which of the conditions did not hold can be told only at the same moment.
    fn looks(&self, append: &Append<'_>) -> Vec<TxnOp> {
        let leases = append.unmoved.iter();
        let leases = leases.map(|(run, _)| get(self.keys.lease(*run)));
        std::iter::once(get(self.keys.last()))
            .chain(leases)
            .collect()
    }

    fn obstacle(&self, append: &Append<'_>, outcome: &Outcome) -> AppendError {
        let after = append.after;
        let conflict = AppendError::Conflict { after };
        let mut found = outcome.found.iter();
        let last = found.next().map(|last| self.last_in(last));
        if !matches!(last, Some(Ok(last)) if last == after) {
            return conflict;
        }
        let leases = append.unmoved.iter().zip(found);
        let mut moved = leases.filter(|((_, renewal), lease)| {
            let is = lease.first().map(|lease| lease.value());
            is != Some(counted::text(*renewal).as_bytes())
        });
        match moved.next() {
            Some(((incarnation, _), _)) => AppendError::Renewed {
                incarnation: *incarnation,
            },
            None => conflict,
        }
    }
}
