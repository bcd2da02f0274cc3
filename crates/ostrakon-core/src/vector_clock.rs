//! `VectorClock`: which of two views of the same thing has seen more.
//!
//! Each author counts the changes it makes; a view that has seen all the other has, and more, is newer, and two views that
//! each have seen something of their own are concurrent. It orders views; it does not merge them, and it measures no time.
//!
//! An author is one run of a node, not a name: a restarted node does not know how far its predecessor had counted, and would
//! give a number out a second time, for another change. Runs that are over leave entries behind; [`VectorClock::prune`]
//! drops those. Two views pruned differently may look concurrent, or equal, though they differ, so whoever uses the clock
//! must have a merge that is right whatever it says.

use serde::{Deserialize, Serialize};

use crate::NodeName;

/// One run of a node, as the author of changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Author {
    /// The node.
    pub name: NodeName,
    /// Which run of it.
    pub run: u64,
}

/// How many changes of each author a view has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(Author, u64)>")]
pub struct VectorClock(
    /// Sorted by author, each once, no zeros: equal clocks are then equal lists.
    Vec<(Author, u64)>,
);

impl VectorClock {
    /// Counts one more change by `author`.
    pub fn bump(&mut self, author: &Author) {
        let count = self.count(author).checked_add(1);
        self.raise(author, count.expect("an author never makes 2^64 changes"));
    }

    /// How many changes of `author` were seen.
    pub fn count(&self, author: &Author) -> u64 {
        self.position(author).map_or(0, |at| self.0[at].1)
    }

    /// Has seen, from now on, what either has seen.
    pub fn merge(&mut self, other: &Self) {
        for (author, count) in &other.0 {
            self.raise(author, *count);
        }
    }

    /// Which of the two has seen more.
    pub fn compare(&self, other: &Self) -> Ordering4 {
        let lacks = |a: &Self, b: &Self| a.0.iter().any(|(author, n)| *n > b.count(author));
        match (lacks(self, other), lacks(other, self)) {
            (false, false) => Ordering4::Equal,
            (false, true) => Ordering4::Before,
            (true, false) => Ordering4::After,
            (true, true) => Ordering4::Concurrent,
        }
    }

    /// Forgets the authors that are not to be kept.
    pub fn prune(&mut self, keep: impl Fn(&Author) -> bool) {
        self.0.retain(|(author, _)| keep(author));
    }

    /// The authors and their counts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Author, u64)> {
        self.0.iter().map(|(author, count)| (author, *count))
    }

    fn raise(&mut self, author: &Author, count: u64) {
        match self.position(author) {
            Ok(at) => self.0[at].1 = self.0[at].1.max(count),
            Err(at) if count > 0 => self.0.insert(at, (author.clone(), count)),
            Err(_) => {}
        }
    }

    fn position(&self, author: &Author) -> Result<usize, usize> {
        self.0.binary_search_by(|(present, _)| present.cmp(author))
    }
}

/// A list from outside need not be in order.
impl From<Vec<(Author, u64)>> for VectorClock {
    fn from(counts: Vec<(Author, u64)>) -> Self {
        let mut clock = Self::default();
        for (author, count) in &counts {
            clock.raise(author, *count);
        }
        clock
    }
}

/// How one view stands to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ordering4 {
    /// Both have seen the same.
    Equal,
    /// The other has seen all that this one has, and more.
    Before,
    /// This one has seen all that the other has, and more.
    After,
    /// Each has seen something that the other has not.
    Concurrent,
}

impl Ordering4 {
    /// The same, seen from the other.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
            Self::Equal | Self::Concurrent => self,
        }
    }
}

#[cfg(test)]
mod tests;
