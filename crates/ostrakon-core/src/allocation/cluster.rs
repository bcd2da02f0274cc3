//! `Cluster`: a table of nodes and shards on which plans are carried out at once.
//!
//! For tests. It refuses moves that do not fit the table, so that every test of an allocator is also one of its plans.

use std::collections::BTreeMap;

use super::{AllocationView, Allocator, Holding, NodeVersion, NodeView, Plan, Stance};
use crate::Incarnation;

/// Nodes, shards, and how often each shard has moved.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) nodes: Vec<NodeView>,
    pub(super) shards: Vec<Holding>,
    /// By shard.
    pub(super) moved: Vec<u32>,
    registered: u64,
}

impl Cluster {
    /// Without nodes; nobody has any of the shards.
    pub(super) fn of(shards: usize) -> Self {
        Self {
            nodes: Vec::new(),
            shards: vec![Holding::Unowned; shards],
            moved: vec![0; shards],
            registered: 0,
        }
    }

    /// As many nodes of one version, which have as many shards as the numbers say.
    pub(super) fn with(version: &str, counts: &[usize]) -> Self {
        let mut cluster = Self::of(counts.iter().sum());
        let nodes = counts.iter().map(|count| (cluster.join(version), *count));
        let holders = nodes.flat_map(|(node, count)| vec![Holding::Held(node); count]);
        cluster.shards = holders.collect();
        cluster
    }

    pub(super) fn join(&mut self, version: &str) -> Incarnation {
        self.join_weighing(version, 1)
    }

    pub(super) fn join_weighing(&mut self, version: &str, weight: u32) -> Incarnation {
        self.registered += 1;
        let incarnation = Incarnation::new(self.registered);
        self.nodes.push(NodeView {
            incarnation,
            version: NodeVersion::new(version),
            weight,
            stance: Stance::Takes,
        });
        incarnation
    }

    pub(super) fn set_stance(&mut self, node: Incarnation, stance: Stance) {
        let mut nodes = self.nodes.iter_mut();
        let found = nodes.find(|view| view.incarnation == node);
        found.expect("the node is there").stance = stance;
    }

    /// The node is gone; nobody has its shards.
    pub(super) fn lose(&mut self, node: Incarnation) {
        self.nodes.retain(|view| view.incarnation != node);
        for holding in &mut self.shards {
            if *holding == Holding::Held(node) {
                *holding = Holding::Unowned;
            }
        }
    }

    /// The node drains in one round, and goes when it has nothing left.
    pub(super) fn leave(&mut self, node: Incarnation, allocator: &dyn Allocator) {
        self.set_stance(node, Stance::Leaves);
        self.round(allocator);
        assert_eq!(self.count(node), 0, "{node} still has shards");
        self.lose(node);
    }

    pub(super) fn view(&self) -> AllocationView<'_> {
        AllocationView {
            nodes: &self.nodes,
            shards: &self.shards,
        }
    }

    /// Plans and carries the plan out.
    pub(super) fn round(&mut self, allocator: &dyn Allocator) -> Plan {
        let plan = allocator.plan(&self.view());
        self.carry_out(&plan);
        plan
    }

    /// Rounds until nothing is left to do; how many there were.
    pub(super) fn settle(&mut self, allocator: &dyn Allocator) -> usize {
        let enough = self.shards.len() + 2;
        let rounds = std::iter::repeat_with(|| self.round(allocator)).take(enough);
        let needed = rounds.take_while(|plan| !plan.moves.is_empty()).count();
        assert!(needed < enough, "no end after {needed} rounds");
        needed
    }

    fn carry_out(&mut self, plan: &Plan) {
        for planned in &plan.moves {
            let shard = planned.shard.index();
            let holder = planned.from.map_or(Holding::Unowned, Holding::Held);
            assert_eq!(self.shards[shard], holder, "{planned}");
            self.shards[shard] = Holding::Held(planned.to);
            self.moved[shard] += 1;
        }
    }

    /// How many shards count as those of `node`.
    pub(super) fn count(&self, node: Incarnation) -> usize {
        let own = [Holding::Held(node), Holding::Moving(node)];
        let holders = self.shards.iter();
        holders.filter(|holding| own.contains(holding)).count()
    }

    /// How many shards each node has, in the order of registration.
    pub(super) fn counts(&self) -> Vec<usize> {
        let mut counts = self
            .nodes
            .iter()
            .map(|node| (node.incarnation, 0))
            .collect::<BTreeMap<_, _>>();
        for holding in &self.shards {
            if let Holding::Held(node) | Holding::Moving(node) = holding
                && let Some(count) = counts.get_mut(node)
            {
                *count += 1;
            }
        }
        counts.into_values().collect()
    }

    /// Counts moves from zero again.
    pub(super) fn forget_moves(&mut self) {
        self.moved.fill(0);
    }
}
