//! `Keys`: what lies where. All of a cluster is under `/ostrakon/<cluster>/`.
//!
//! | key | value |
//! |---|---|
//! | `format` | the form of all others |
//! | `last`, `term`, `beat` | the end of the log, the newest takeover, and how far its leader has counted |
//! | `log/<last index>` | the entries of one append, each as JSON on a line |
//! | `snapshot` | which snapshot is in force, as JSON |
//! | `snapshot/<draft>/<part>` | a part of a snapshot |
//! | `drafts` | written to get a number for a draft |
//! | `leases/<incarnation>` | how far a node has counted, as JSON |
//!
//! Numbers in keys have leading zeros, so that etcd sorts them. An append is named after its *last* index: the one that has a given index in
//! it is then the first that etcd finds from there, and those that a snapshot contains are all before the next.

use ostrakon_core::{Incarnation, Index};

/// The keys of one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    root: String,
}

impl Keys {
    pub(crate) fn of(cluster: &str) -> Self {
        Self {
            root: format!("/ostrakon/{cluster}/"),
        }
    }

    pub(crate) fn format(&self) -> String {
        self.under("format")
    }

    pub(crate) fn last(&self) -> String {
        self.under("last")
    }

    pub(crate) fn term(&self) -> String {
        self.under("term")
    }

    pub(crate) fn beat(&self) -> String {
        self.under("beat")
    }

    /// The append whose last entry this is.
    pub(crate) fn log(&self, last: Index) -> String {
        self.under(&format!("log/{:020}", last.get()))
    }

    /// Behind all appends.
    pub(crate) fn log_end(&self) -> String {
        self.under("log0")
    }

    /// The last entry of an append.
    pub(crate) fn index(&self, key: &str) -> Option<Index> {
        let number = key.strip_prefix(&self.under("log/"))?;
        number.parse().ok().map(Index::new)
    }

    pub(crate) fn drafts(&self) -> String {
        self.under("drafts")
    }

    pub(crate) fn snapshot(&self) -> String {
        self.under("snapshot")
    }

    /// Before all parts of this draft, and behind those of all earlier ones.
    pub(crate) fn draft(&self, draft: i64) -> String {
        self.under(&format!("snapshot/{draft:020}/"))
    }

    pub(crate) fn part(&self, draft: i64, part: usize) -> String {
        format!("{}{part:06}", self.draft(draft))
    }

    pub(crate) fn lease(&self, incarnation: Incarnation) -> String {
        format!("{}{:020}", self.leases(), incarnation.get())
    }

    /// Before all leases.
    pub(crate) fn leases(&self) -> String {
        self.under("leases/")
    }

    /// Whose lease a key is.
    pub(crate) fn incarnation(&self, key: &str) -> Option<Incarnation> {
        let number = key.strip_prefix(&self.leases())?;
        number.parse().ok().map(Incarnation::new)
    }

    fn under(&self, name: &str) -> String {
        format!("{}{name}", self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_sort_by_number_and_end_before_what_follows() {
        let keys = Keys::of("shop");
        let sorted = [
            keys.log(Index::new(0)),
            keys.log(Index::new(9)),
            keys.log(Index::new(10)),
            keys.log(Index::new(u64::MAX)),
            keys.log_end(),
        ];
        assert!(sorted.is_sorted(), "{sorted:?}");
    }

    #[test]
    fn parts_of_an_earlier_draft_are_before_a_later_one() {
        let keys = Keys::of("shop");
        assert!(keys.part(9, 999_999) < keys.draft(10));
        assert!(keys.draft(10) < keys.part(10, 0));
        assert!(keys.snapshot() < keys.draft(0));
    }

    #[test]
    fn numbers_can_be_read_off_their_keys() {
        let keys = Keys::of("shop");
        let (incarnation, index) = (Incarnation::new(17), Index::new(18));
        let (lease, log) = (keys.lease(incarnation), keys.log(index));
        assert_eq!(keys.incarnation(&lease), Some(incarnation));
        assert_eq!(keys.index(&log), Some(index));
        assert_eq!((keys.incarnation(&log), keys.index(&lease)), (None, None));
    }

    #[test]
    fn a_cluster_whose_name_begins_like_another_has_other_keys() {
        let (shop, shops) = (Keys::of("shop"), Keys::of("shops"));
        assert!(!shops.leases().starts_with(&shop.under("")));
    }
}
