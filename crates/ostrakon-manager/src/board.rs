//! `Board`: what the nodes that are connected to this manager are doing, as they last said.
//!
//! It is for people to look at. It is beside the log and the engine, and neither knows of it: nothing can be decided by it, and what is lost
//! with a connection is told again on the next. Invariant: a line has one note at most, and none when it is gone.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use ostrakon_control::Vitals;
use ostrakon_core::NodeName;
use serde::{Deserialize, Serialize};

#[derive(Default)]
pub(crate) struct Board {
    notes: Mutex<BTreeMap<u64, Note>>,
}

struct Note {
    name: NodeName,
    heard: Instant,
    vitals: Box<Vitals>,
}

/// What a node was doing when it was last heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeVitals {
    /// Which node.
    pub name: NodeName,
    /// How long ago it said so.
    pub ago: Duration,
    /// What it said.
    pub vitals: Vitals,
}

impl NodeVitals {
    /// For how long the node may act if nobody has answered it since; `None` if it does not live by a lease.
    pub fn lease_left(&self) -> Option<Duration> {
        let left = Duration::from_millis(self.vitals.lease_left_ms?);
        Some(left.saturating_sub(self.ago))
    }
}

impl Board {
    pub(crate) fn note(&self, line: u64, name: &NodeName, vitals: Box<Vitals>) {
        let note = Note {
            name: name.clone(),
            heard: Instant::now(),
            vitals,
        };
        self.notes().insert(line, note);
    }

    pub(crate) fn forget(&self, line: u64) {
        self.notes().remove(&line);
    }

    /// By name. Of two lines of one name, the one that was heard last counts.
    pub(crate) fn all(&self) -> Vec<NodeVitals> {
        let notes = self.notes();
        let mut latest: BTreeMap<&NodeName, &Note> = BTreeMap::new();
        for note in notes.values() {
            let kept = latest.entry(&note.name).or_insert(note);
            if note.heard > kept.heard {
                *kept = note;
            }
        }
        let all = latest.values().map(|note| NodeVitals {
            name: note.name.clone(),
            ago: note.heard.elapsed(),
            vitals: (*note.vitals).clone(),
        });
        all.collect()
    }

    fn notes(&self) -> MutexGuard<'_, BTreeMap<u64, Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doing(entities: u64) -> Box<Vitals> {
        Box::new(Vitals {
            entities,
            lease_left_ms: Some(2000),
            ..Vitals::default()
        })
    }

    #[test]
    fn of_two_lines_the_later_word_counts_and_a_line_that_is_gone_says_nothing() {
        let board = Board::default();
        let (one, two) = (NodeName::new("one").unwrap(), NodeName::new("two").unwrap());
        board.note(2, &one, doing(1));
        board.note(3, &two, doing(7));
        board.note(1, &one, doing(2));
        let said = |board: &Board| {
            let all = board.all().into_iter();
            let said: Vec<_> = all
                .map(|node| (node.name.to_string(), node.vitals.entities))
                .collect();
            said
        };
        assert_eq!(said(&board), [("one".to_owned(), 2), ("two".to_owned(), 7)]);
        board.forget(1);
        assert_eq!(said(&board), [("one".to_owned(), 1), ("two".to_owned(), 7)]);
        board.forget(2);
        assert_eq!(said(&board), [("two".to_owned(), 7)]);
    }

    #[test]
    fn a_lease_gets_shorter_while_nothing_is_heard() {
        let node = |ago| NodeVitals {
            name: NodeName::new("one").unwrap(),
            ago: Duration::from_millis(ago),
            vitals: *doing(1),
        };
        assert_eq!(node(500).lease_left(), Some(Duration::from_millis(1500)));
        assert_eq!(node(9000).lease_left(), Some(Duration::ZERO));
    }
}
