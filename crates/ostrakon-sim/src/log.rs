//! `Log`: the control log, as it really is.
//!
//! Whoever keeps it, a storage or a quorum, appends behind a named index or not at all.

use std::rc::Rc;

use ostrakon_core::{Command, Entry, Index, Term};

/// Entries from index 1 on.
#[derive(Default)]
pub(crate) struct Log {
    entries: Vec<Rc<Entry>>,
    term: Term,
}

impl Log {
    pub(crate) fn last(&self) -> Index {
        Index::new(self.entries.len() as u64)
    }

    /// The index of the newest takeover.
    pub(crate) fn term(&self) -> Term {
        self.term
    }

    /// Appends at the end; returns the index.
    pub(crate) fn push(&mut self, entry: Rc<Entry>) -> Index {
        let is_takeover = matches!(entry.command, Command::Takeover { .. });
        self.entries.push(entry);
        if is_takeover {
            self.term = self.last().into();
        }
        self.last()
    }

    /// The entries behind an index, with their own.
    pub(crate) fn behind(&self, index: Index) -> Vec<(Index, Rc<Entry>)> {
        let from = (index.get() as usize).min(self.entries.len());
        let entries = self.entries[from..].iter().cloned();
        let numbers = (from as u64 + 1..).map(Index::new);
        numbers.zip(entries).collect()
    }
}
