//! How long a plan takes, for groups and clusters of several sizes.
//!
//! The cluster is balanced; then one node is lost, or one has joined. Only the plan is timed, not what leads to it: a
//! coordinator that plans slowly is one that does nothing else meanwhile.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ostrakon_core::{
    AllocationView, Allocator, Balanced, Holding, Incarnation, NodeVersion, NodeView, Rate, Stance,
};

use crate::figures::Figures;
use crate::measure::Pace;

/// A group on a cluster, and what its figures are called.
pub(crate) struct Size {
    shards: usize,
    nodes: usize,
    /// Milliseconds of a plan after a node was lost.
    pub(crate) lost: &'static str,
    /// Milliseconds of a plan after a node has joined.
    pub(crate) joined: &'static str,
    /// Both over those with a tenth of the shards.
    pub(crate) growth: &'static str,
}

macro_rules! size {
    ($shards:literal, $nodes:literal) => {
        Size {
            shards: $shards,
            nodes: $nodes,
            lost: concat!($shards, "x", $nodes, " lost"),
            joined: concat!($shards, "x", $nodes, " joined"),
            growth: concat!($shards, "x", $nodes, " growth"),
        }
    };
}

/// All of them, smaller groups before larger ones.
pub(crate) static SIZES: [Size; 9] = [
    size!(1_000, 10),
    size!(1_000, 100),
    size!(1_000, 1_000),
    size!(10_000, 10),
    size!(10_000, 100),
    size!(10_000, 1_000),
    size!(100_000, 10),
    size!(100_000, 100),
    LARGEST,
];
pub(crate) const LARGEST: Size = size!(100_000, 1_000);

/// Time the plans for all sizes.
pub(crate) fn run(pace: Pace) -> Result<Figures> {
    let mut figures = Figures::default();
    for size in &SIZES {
        let (lost, joined) = (size.one_lost(pace)?, size.one_joined(pace)?);
        figures = figures.with(size.lost, lost).with(size.joined, joined);
        if let Some(tenth) = size.tenth() {
            let of_tenth = |name| figures.get(name).context("smaller groups are timed first");
            let growth = (lost + joined) / (of_tenth(tenth.lost)? + of_tenth(tenth.joined)?);
            figures = figures.with(size.growth, growth);
        }
    }
    Ok(figures)
}

impl Size {
    pub(crate) fn is_largest(&self) -> bool {
        (self.shards, self.nodes) == (LARGEST.shards, LARGEST.nodes)
    }

    /// The same cluster with a tenth of the shards.
    pub(crate) fn tenth(&self) -> Option<&'static Self> {
        let (shards, nodes) = (self.shards / 10, self.nodes);
        SIZES
            .iter()
            .find(|size| (size.shards, size.nodes) == (shards, nodes))
    }

    fn one_lost(&self, pace: Pace) -> Result<f64> {
        let mut scene = Scene::balanced(self);
        let gone = scene.nodes.pop().context("a cluster has nodes")?;
        let mut expected = 0;
        for holding in &mut scene.shards {
            if *holding == Holding::Held(gone.incarnation) {
                *holding = Holding::Unowned;
                expected += 1;
            }
        }
        scene.time(expected, pace)
    }

    fn one_joined(&self, pace: Pace) -> Result<f64> {
        let mut scene = Scene::balanced(self);
        scene.nodes.push(node(self.nodes));
        scene.time(self.shards / (self.nodes + 1), pace)
    }
}

/// What is planned for.
struct Scene {
    nodes: Vec<NodeView>,
    shards: Vec<Holding>,
}

impl Scene {
    fn balanced(size: &Size) -> Self {
        let nodes = Vec::from_iter((0..size.nodes).map(node));
        let holders = nodes.iter().cycle().take(size.shards);
        Self {
            shards: holders
                .map(|node| Holding::Held(node.incarnation))
                .collect(),
            nodes,
        }
    }

    /// The median over many plans, each of `expected` moves, in milliseconds.
    fn time(&self, expected: usize, pace: Pace) -> Result<f64> {
        let view = AllocationView {
            nodes: &self.nodes,
            shards: &self.shards,
        };
        // With a limit, the plan of a large change would be a short one.
        let allocator = Balanced {
            rebalance_rate: Rate::ALL,
            seed: 1,
        };
        let planned = allocator.plan(&view).moves.len();
        ensure!(planned == expected, "{planned} moves instead of {expected}");
        let started = Instant::now();
        let mut taken = Vec::new();
        while taken.len() < FEWEST || started.elapsed() < pace.length() / 4 {
            let begin = Instant::now();
            black_box(allocator.plan(black_box(&view)));
            taken.push(begin.elapsed());
        }
        taken.sort_unstable();
        Ok(taken[taken.len() / 2].as_secs_f64() * 1e3)
    }
}

fn node(number: usize) -> NodeView {
    NodeView {
        incarnation: Incarnation::new(1 + number as u64),
        version: NodeVersion::new("1.0.0"),
        weight: 1,
        stance: Stance::Takes,
    }
}

const FEWEST: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_but_the_smallest_is_compared_with_a_tenth_of_itself() {
        let tenths = SIZES.iter().filter_map(Size::tenth);
        assert_eq!(tenths.count(), 6);
        assert_eq!(LARGEST.lost, "100000x1000 lost");
    }
}
