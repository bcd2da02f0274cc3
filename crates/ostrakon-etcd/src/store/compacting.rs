//! Compacting: a snapshot of any size takes the place of the entries in it.
//!
//! It is written in parts under the number of a draft, which nobody else has, and then put in force by one transaction that also deletes
//! the entries and all earlier drafts. Whoever was quicker meanwhile has changed `snapshot`, and this one is not put in force.

use etcd_client::{Compare, CompareOp, DeleteOptions, GetOptions, KeyValue, Txn, TxnOp};
use ostrakon_core::{Incarnation, Index};
use ostrakon_storage::backend::Compaction;

use super::reading::InForce;
use super::{Store, get};
use crate::failure::Failure;
use crate::trouble::Trouble;

/// Below what etcd takes at once.
const PART: usize = 1 << 20;
const MOST_DELETED: usize = 100;

/// What was there when a compaction began.
struct Begun {
    draft: i64,
    /// When `snapshot` was written last; zero if never.
    changed: i64,
}

impl Store {
    pub(crate) async fn compact(&self, compaction: &Compaction) -> Result<(), Trouble> {
        let Some(begun) = self.begin(compaction).await? else {
            return Ok(());
        };
        let parts = compaction.text.as_bytes().chunks(PART);
        for (number, part) in parts.clone().enumerate() {
            let put = TxnOp::put(self.keys.part(begun.draft, number), part, None);
            self.servers.transact(Txn::new().and_then([put])).await?;
        }
        let in_force = InForce {
            index: compaction.index,
            draft: begun.draft,
            parts: parts.len(),
        };
        self.put_in_force(in_force, begun.changed).await?;
        self.forget_leases(compaction).await
    }

    /// `None` if there is a later snapshot.
    async fn begin(&self, compaction: &Compaction) -> Result<Option<Begun>, Trouble> {
        let seen = self
            .look([
                // Its revision is the number of the draft.
                TxnOp::put(self.keys.drafts(), compaction.index.get().to_string(), None),
                get(self.keys.last()),
                get(self.keys.snapshot()),
            ])
            .await?;
        compaction.fits(&self.place, self.last_in(&seen.found[0])?)?;
        let in_force = self.in_force(&seen.found[1])?;
        if in_force.is_some_and(|in_force| in_force.index >= compaction.index) {
            return Ok(None);
        }
        Ok(Some(Begun {
            draft: seen.revision,
            changed: seen.found[1].first().map_or(0, KeyValue::mod_revision),
        }))
    }

    async fn put_in_force(&self, in_force: InForce, changed: i64) -> Result<(), Trouble> {
        let text = serde_json::to_string(&in_force).expect("three numbers are always JSON");
        let delete = |from, to| TxnOp::delete(from, Some(DeleteOptions::new().with_range(to)));
        let key = self.keys.snapshot();
        let txn = Txn::new()
            .when([Compare::mod_revision(
                key.clone(),
                CompareOp::Equal,
                changed,
            )])
            .and_then([
                TxnOp::put(key, text, None),
                delete(self.keys.draft(0), self.keys.draft(in_force.draft)),
                delete(
                    self.keys.log(Index::default()),
                    self.keys.log(in_force.index.next()),
                ),
            ]);
        match self.servers.transact(txn).await?.held {
            true => Ok(()),
            false => Err(Failure::Refused("somebody else compacts it too".into()).into()),
        }
    }

    /// They never come back, so it does not matter when, or whether somebody else does it too.
    async fn forget_leases(&self, compaction: &Compaction) -> Result<(), Trouble> {
        let all = GetOptions::new().with_prefix().with_keys_only();
        let all = TxnOp::get(self.keys.leases(), Some(all));
        let found = self.look([all]).await?.found;
        let is_over = |run: &Incarnation| !compaction.keeps(*run);
        let runs = found[0].iter();
        let runs = runs.filter_map(|lease| self.keys.incarnation(lease.key_str().ok()?));
        let over: Vec<Incarnation> = runs.filter(is_over).collect();
        for some in over.chunks(MOST_DELETED) {
            let deletes = some.iter();
            let deletes = deletes.map(|run| TxnOp::delete(self.keys.lease(*run), None));
            let txn = Txn::new().and_then(deletes.collect::<Vec<_>>());
            self.servers.transact(txn).await?;
        }
        Ok(())
    }
}
