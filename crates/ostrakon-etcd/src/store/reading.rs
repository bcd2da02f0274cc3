//! Reading: entries and the snapshot before them, as they were at one moment.

use etcd_client::{GetOptions, KeyValue, TxnOp};
use ostrakon_core::Index;
use ostrakon_storage::backend::{Found, MOST_READ};
use serde::{Deserialize, Serialize};

use super::{Store, get};
use crate::trouble::Trouble;

/// How many appends are read at once. etcd cannot be told to stop at a number of bytes.
const MOST_APPENDS: i64 = 128;

/// The value of `snapshot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InForce {
    /// The last entry in it.
    pub(super) index: Index,
    /// Where its parts are.
    pub(super) draft: i64,
    /// How many there are.
    pub(super) parts: usize,
}

impl Store {
    /// What lies behind an index.
    pub(crate) async fn read(&self, behind: Index) -> Result<Found, Trouble> {
        let appends = GetOptions::new().with_range(self.keys.log_end());
        let appends = appends.with_limit(MOST_APPENDS);
        let appends = TxnOp::get(self.keys.log(behind.next()), Some(appends));
        let gets = [get(self.keys.last()), get(self.keys.snapshot()), appends];
        let seen = self.look(gets).await?;
        let mut found = Found {
            last: self.last_in(&seen.found[0])?,
            ..Found::default()
        };
        let mut start = behind;
        let in_force = self.in_force(&seen.found[1])?;
        if let Some(in_force) = in_force.filter(|in_force| behind < in_force.index) {
            found.snapshot = Some(self.snapshot(in_force, seen.revision).await?);
            start = in_force.index;
        }
        found.entries = self.entries(start, &seen.found[2])?;
        if found.entries.is_empty() && start < found.last {
            return Err(self.missing(start.next()));
        }
        Ok(found)
    }

    /// Which snapshot is in force, if any.
    pub(super) fn in_force(&self, found: &[KeyValue]) -> Result<Option<InForce>, Trouble> {
        let Some(value) = found.first() else {
            return Ok(None);
        };
        let in_force = serde_json::from_slice(value.value());
        in_force.map_err(|error| Trouble::unreadable(&self.place, "the snapshot", error))
    }

    /// At the moment when it was found to be in force: it may be deleted meanwhile.
    async fn snapshot(&self, in_force: InForce, revision: i64) -> Result<String, Trouble> {
        let options = GetOptions::new().with_prefix().with_revision(revision);
        let parts = TxnOp::get(self.keys.draft(in_force.draft), Some(options));
        let found = self.look([parts]).await?.found;
        let unreadable = |why: &str| Trouble::unreadable(&self.place, "the snapshot", why);
        if found[0].len() != in_force.parts {
            return Err(unreadable("a part of it is not there"));
        }
        let bytes: Vec<&[u8]> = found[0].iter().map(KeyValue::value).collect();
        String::from_utf8(bytes.concat()).map_err(|error| unreadable(&error.to_string()))
    }

    fn entries(
        &self,
        behind: Index,
        appends: &[KeyValue],
    ) -> Result<Vec<(Index, String)>, Trouble> {
        let mut entries = Vec::new();
        let mut next = behind.next();
        for append in appends {
            let text = self.text("an entry", append)?;
            let first = self.first(append, text.lines().count())?;
            for (index, line) in (first.get()..).map(Index::new).zip(text.lines()) {
                if index < next {
                    continue;
                }
                if index > next {
                    return Err(self.missing(next));
                }
                if entries.len() == MOST_READ {
                    return Ok(entries);
                }
                entries.push((index, line.to_owned()));
                next = next.next();
            }
        }
        Ok(entries)
    }

    /// The first index of an append with so many entries.
    fn first(&self, append: &KeyValue, entries: usize) -> Result<Index, Trouble> {
        let key = String::from_utf8_lossy(append.key());
        let last = self.keys.index(&key).map(Index::get);
        let first = last.and_then(|last| (last + 1).checked_sub(entries as u64));
        let first = first.filter(|first| *first > 0).map(Index::new);
        first.ok_or_else(|| Trouble::unreadable(&self.place, &key, "its key does not fit it"))
    }

    fn missing(&self, index: Index) -> Trouble {
        Trouble::unreadable(
            &self.place,
            format_args!("entry {index}"),
            "it is not there",
        )
    }
}
