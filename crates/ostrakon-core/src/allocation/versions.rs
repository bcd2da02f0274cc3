//! `Versions`: the order in which versions get shards.
//!
//! Newer versions come first, because the nodes of an older one will be stopped soon. But a version of which a node
//! leaves comes last, however new it is: it is being replaced, or taken back.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{NodeView, Stance};

/// The versions of the nodes that take shards, in the order in which they get them.
pub(super) struct Versions {
    leaving: BTreeSet<Vec<u64>>,
    ranked: Vec<(Fate, Reverse<Vec<u64>>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Stays,
    Leaves,
}

impl Versions {
    pub(super) fn of(nodes: &[NodeView]) -> Self {
        let numbers = |stance| {
            let nodes = nodes.iter().filter(move |node| node.stance == stance);
            nodes.map(|node| node.version.numbers())
        };
        let mut versions = Self {
            leaving: numbers(Stance::Leaves).collect(),
            ranked: Vec::new(),
        };
        let ranked = numbers(Stance::Takes).map(|numbers| versions.key(numbers));
        versions.ranked = BTreeSet::from_iter(ranked).into_iter().collect();
        versions
    }

    /// Nodes of rank 0 get shards first.
    pub(super) fn rank(&self, node: &NodeView) -> usize {
        let key = self.key(node.version.numbers());
        self.ranked.partition_point(|other| *other < key)
    }

    fn key(&self, numbers: Vec<u64>) -> (Fate, Reverse<Vec<u64>>) {
        let fate = if self.leaving.contains(&numbers) {
            Fate::Leaves
        } else {
            Fate::Stays
        };
        (fate, Reverse(numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Incarnation, NodeVersion};

    fn ranks(nodes: &[(&str, Stance)]) -> Vec<usize> {
        let view = |&(version, stance): &(&str, _)| NodeView {
            incarnation: Incarnation::new(1),
            version: NodeVersion::new(version),
            weight: 1,
            stance,
        };
        let nodes = Vec::from_iter(nodes.iter().map(view));
        let versions = Versions::of(&nodes);
        nodes.iter().map(|node| versions.rank(node)).collect()
    }

    #[test]
    fn newer_versions_come_first_and_level_ones_together() {
        use Stance::Takes;
        let nodes = [
            ("1.9", Takes),
            ("1.10", Takes),
            ("1.10-rc", Takes),
            ("sha", Takes),
        ];
        assert_eq!(ranks(&nodes), [1, 0, 0, 2]);
    }

    #[test]
    fn a_version_of_which_a_node_leaves_comes_last() {
        use Stance::{Keeps, Leaves, Takes};
        let nodes = [("3", Takes), ("3", Leaves), ("2", Takes), ("1", Takes)];
        assert_eq!(ranks(&nodes), [2, 2, 0, 1]);
        let nodes = [("3", Takes), ("3", Keeps), ("2", Takes), ("1", Takes)];
        assert_eq!(ranks(&nodes), [0, 0, 1, 2]);
    }

    #[test]
    fn the_only_version_comes_first_even_if_it_leaves() {
        use Stance::{Leaves, Takes};
        assert_eq!(ranks(&[("1", Takes), ("1", Leaves), ("9", Leaves)])[0], 0);
    }
}
