//! `Gossip`: how the nodes of a cluster without managers find and watch each other.

use std::time::Duration;

use ostrakon_core::{Address, Forming, NodeName, PhiConfig, TopologyConfig};

use super::node_name;
use crate::dice::Dice;

/// The port of a node that has the same address for ever; others add the number of their process.
const PORT: u64 = 7000;
const NODE: &str = "node-";

/// How nodes find and watch each other.
#[derive(Clone, Debug)]
pub(crate) struct Gossip {
    /// By node.
    pub(crate) names: Vec<NodeName>,
    /// Nodes that everybody asks first.
    seeds: Vec<usize>,
    addresses: Addresses,
    heartbeat_every: Duration,
    fanout: usize,
    watched: usize,
    remove_after: Duration,
    pub(super) forget_after: Duration,
}

/// Where a node is reached after it has started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addresses {
    /// Where it was.
    Kept,
    /// Elsewhere, unless it is a seed.
    Fresh,
}

impl Gossip {
    pub(super) fn of(nodes: usize, dice: &mut Dice) -> Self {
        let first = dice.index(nodes);
        let count = dice.between(2, 3) as usize;
        let is_short = dice.chance(500);
        let remove_after = if is_short { dice.between(20, 30) } else { 120 };
        let forget_after = if is_short { 120 } else { 900 };
        Self {
            names: (0..nodes).map(node_name).collect(),
            seeds: (0..count).map(|seed| (first + seed) % nodes).collect(),
            addresses: [Addresses::Kept, Addresses::Fresh][dice.index(2)],
            heartbeat_every: Duration::from_millis(dice.between(1500, 2500)),
            fanout: [1, 1, 2][dice.index(3)],
            watched: [2, 2, 3][dice.index(3)],
            remove_after: Duration::from_secs(remove_after),
            forget_after: Duration::from_secs(forget_after),
        }
    }

    /// Where a process of a node is reached.
    pub(crate) fn address(&self, node: usize, process: u64) -> Address {
        let moves = self.addresses == Addresses::Fresh && !self.seeds.contains(&node);
        let port = PORT + if moves { process } else { 0 };
        Address::new(format!("{NODE}{node}:{port}")).expect("an address")
    }

    /// What a process goes by. Where the address is kept, the clock that numbers the runs was sometimes set back.
    pub(crate) fn config(&self, node: usize, process: u64, dice: &mut Dice) -> TopologyConfig {
        let is_set_back = self.addresses == Addresses::Kept && dice.chance(50);
        let run = if is_set_back { 1 } else { process };
        let address = self.address(node, process);
        let usual = TopologyConfig::new(self.names[node].clone(), address, run);
        TopologyConfig {
            seeds: self
                .seeds
                .iter()
                .map(|seed| self.address(*seed, 0))
                .collect(),
            seed_value: dice.throw(),
            phi: PhiConfig {
                first_estimate: self.heartbeat_every,
                acceptable_pause: self.heartbeat_every * 2,
                ..PhiConfig::default()
            },
            heartbeat_every: self.heartbeat_every,
            fanout: self.fanout,
            watched: self.watched,
            forming: match self.seeds.contains(&node) {
                true => Forming::IfLowest,
                false => Forming::Never,
            },
            remove_after: self.remove_after,
            forget_after: self.forget_after,
            ..usual
        }
    }
}

/// The node at an address, and the only process that is reached there, if it is not whichever runs.
pub(crate) fn at_address(address: &Address) -> (usize, Option<u64>) {
    let (node, port) = address.as_str()[NODE.len()..]
        .split_once(':')
        .expect("a port");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let process = number(port) - PORT;
    (
        number(node) as usize,
        Some(process).filter(|process| *process > 0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_its_process() {
        let mut gossip = Gossip::of(5, &mut Dice::new(1));
        gossip.seeds = vec![0, 1];
        for (addresses, process) in [(Addresses::Kept, None), (Addresses::Fresh, Some(9))] {
            gossip.addresses = addresses;
            assert_eq!(at_address(&gossip.address(4, 9)), (4, process));
            assert_eq!(at_address(&gossip.address(1, 9)), (1, None));
        }
    }
}
