//! `Page`: what one node has entered, as it travels. Invariant of one that [`fits`](Page::fits): it can be sent between any two nodes.

use ostrakon_core::{EntityId, Incarnation};
use serde::{Deserialize, Serialize};

/// How many actors a node can enter.
pub(super) const ENTRIES: usize = 1024;
/// How many bytes they may take. With what is around them it is less than the smallest limit of a message, which is 64 KiB.
pub(super) const BYTES: usize = 63 * 1024;
/// How long a key may be.
pub(super) const KEY: usize = 256;
/// What a line takes besides its texts.
const LINE: usize = 10;

/// Everything that a node has entered at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Page {
    pub(super) edition: Edition,
    /// In order.
    pub(super) lines: Vec<Line>,
}

/// Of two pages of one node, the later counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Edition {
    pub(super) incarnation: Incarnation,
    pub(super) version: u64,
}

/// An actor of the page's node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Line(
    /// The key.
    pub(super) String,
    /// The kind: all that is known of a type on another node.
    pub(super) String,
    pub(super) EntityId,
);

impl Page {
    /// Whether a node that keeps to the limits can have written it.
    pub(super) fn fits(&self) -> bool {
        let bytes = |Line(key, kind, actor): &Line| weight(key, kind, actor);
        self.lines.len() <= ENTRIES
            && self.lines.iter().map(bytes).sum::<usize>() <= BYTES
            && self.lines.iter().all(|line| line.0.len() <= KEY)
            && self.lines.is_sorted_by(|line, next| line < next)
    }

    /// The actors of a kind under a key.
    pub(super) fn under<'a>(
        &'a self,
        key: &'a str,
        kind: &'a str,
    ) -> impl Iterator<Item = &'a EntityId> {
        let before = |Line(k, of, _): &Line| (k.as_str(), of.as_str()) < (key, kind);
        let first = self.lines.partition_point(before);
        let these = self.lines[first..].iter();
        these
            .take_while(move |Line(k, of, _)| k == key && of == kind)
            .map(|Line(.., actor)| actor)
    }
}

/// How many bytes of the limit a line takes.
pub(super) fn weight(key: &str, kind: &str, actor: &EntityId) -> usize {
    key.len() + kind.len() + actor.as_str().len() + LINE
}
