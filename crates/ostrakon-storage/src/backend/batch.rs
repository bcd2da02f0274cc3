//! `Batch`: an append as it is stored, and what it does to term and leases.

use ostrakon_core::{Command, Entry, Incarnation, Index, Term};

use crate::{Append, AppendError};

/// What is written for an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Each entry as JSON, without a gap.
    pub entries: Vec<(Index, String)>,
    /// The last index after it.
    pub last: Index,
    /// The term that it begins, if it does; the beat is then back at zero.
    pub term: Option<Term>,
    /// The leases that it begins, before any is ended.
    pub begun: Vec<Incarnation>,
    /// The leases that it ends.
    pub ended: Vec<Incarnation>,
}

/// The most that a place takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many entries.
    pub entries: usize,
    /// How many bytes, as JSON.
    pub bytes: usize,
}

/// 8192 entries with 32 MiB.
impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 8192,
            bytes: 32 << 20,
        }
    }
}

impl Batch {
    /// The batch of an append, unless it is more than `place` takes.
    pub fn of(append: &Append<'_>, place: &str, limits: Limits) -> Result<Self, AppendError> {
        let mut batch = Self {
            entries: Vec::with_capacity(append.entries.len()),
            last: append.after,
            term: None,
            begun: Vec::new(),
            ended: Vec::new(),
        };
        for entry in append.entries {
            batch.push(entry);
        }
        let (entries, bytes) = (batch.entries.len(), batch.bytes());
        if entries > limits.entries || bytes > limits.bytes {
            return Err(AppendError::TooLarge {
                place: place.to_owned(),
                entries,
                bytes,
                most_entries: limits.entries,
                most_bytes: limits.bytes,
            });
        }
        Ok(batch)
    }

    fn push(&mut self, entry: &Entry) {
        self.last = self.last.next();
        match &entry.command {
            Command::Takeover { .. } => self.term = Some(self.last.into()),
            Command::Register(_) => self.begun.push(self.last.into()),
            Command::Expire { incarnation } | Command::ConfirmDead { incarnation, .. } => {
                self.ended.push(*incarnation);
            }
            Command::Leave { .. }
            | Command::BeginMove(_)
            | Command::Released(_)
            | Command::Grant(_)
            | Command::SetPolicy(_)
            | Command::CreateGroup(_) => {}
        }
        let text = serde_json::to_string(entry).expect("an entry has only keys that JSON can have");
        self.entries.push((self.last, text));
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(|(_, text)| text.len()).sum()
    }
}
