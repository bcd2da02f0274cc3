//! `Setup`: the cluster that a seed stands for, before anything happens in it.

mod gossip;
mod policies;

use std::{collections::BTreeSet, time::Duration};

use ostrakon_core::{
    GroupName, GroupSpec, NodeName, NodeVersion, Policy, Registration, RoleName, ShardCount,
    ShardKey,
};

pub(crate) use self::gossip::at_address;
use self::{
    gossip::Gossip,
    policies::{calm, health, policy},
};
use crate::{
    agenda::{Moment, SECOND},
    clock::{Clock, TRUE_RATE},
    dice::Dice,
    mutant::Mutant,
};

/// Who keeps the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Managers with a storage.
    Managed,
    /// The nodes themselves, some of which vote.
    Peer,
}

/// For so long more all is calm where managers go away meanwhile.
const ABSENCE: Moment = 100 * SECOND;
/// The number of registrations that one process can make.
const NONCES: u64 = 1_000_000;

/// The cluster that a seed stands for.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) plane: Plane,
    pub(crate) nodes: usize,
    /// Managers, or voters among the nodes.
    pub(crate) managers: usize,
    pub(crate) groups: Vec<GroupSpec>,
    /// All shards of all groups.
    pub(crate) keys: Vec<ShardKey>,
    pub(crate) policy: Policy,
    /// Another policy that an operator sets half-way.
    pub(crate) later_policy: Option<Policy>,
    /// When the faults stop.
    pub(crate) calm_at: Moment,
    pub(crate) ends_at: Moment,
    /// In thousandths of all messages.
    pub(crate) loss: u64,
    pub(crate) doubling: u64,
    pub(crate) tail: u64,
    /// How often in a thousand times it is known that a dead process is dead.
    pub(crate) health: u64,
    /// A node that hears nothing from some moment on, also when all else is well.
    pub(crate) deaf: Option<usize>,
    /// A node that does not come back when all else is well.
    pub(crate) gone: Option<usize>,
    /// Whether nodes reach the storage of the managers and count their leases there.
    pub(crate) shares_storage: bool,
    /// How many shards the log takes in one append; anything else counts as one.
    pub(crate) log_takes: usize,
    /// How nodes find each other where there are no managers.
    pub(crate) gossip: Option<Gossip>,
    /// From when on processes that start are of a newer version.
    updates_at: Option<Moment>,
    /// By node: its part of the shards, compared with that of others.
    weights: Vec<u32>,
    clocks: Vec<Clock>,
}

impl Setup {
    pub(crate) fn of(plane: Plane, mutant: Option<Mutant>, dice: &mut Dice) -> Self {
        let nodes = dice.between(5, 8) as usize;
        let managers = match plane {
            Plane::Managed => dice.between(2, 3) as usize,
            Plane::Peer => [3, 5][dice.index(2)].min(nodes - 1),
        };
        let groups = groups(dice);
        let policy = policy(plane, mutant, dice);
        let later_policy =
            (mutant.is_none() && dice.chance(150)).then(|| self::policy(plane, None, dice));
        let lease = policy.failover.lease();
        let shares_storage = shares_storage(plane, mutant, dice);
        let mut calm = calm(&policy).max(later_policy.as_ref().map_or(0, calm));
        if shares_storage {
            calm += ABSENCE;
        }
        let ends_at = dice.between(600, 1800) * SECOND;
        let deaf =
            (lease.is_some() && later_policy.is_none() && dice.chance(250)).then(|| nodes - 1);
        let health = health(&policy, later_policy.as_ref(), dice);
        let gossip = (plane == Plane::Peer).then(|| Gossip::of(nodes, dice));
        let gone = (gossip.is_some() && deaf.is_none() && dice.chance(300)).then(|| nodes - 1);
        Self {
            plane,
            nodes,
            managers,
            keys: keys(&groups),
            groups,
            later_policy,
            calm_at: ends_at - calm,
            ends_at,
            loss: dice.below(60),
            doubling: dice.below(90),
            tail: dice.below(80),
            health,
            deaf,
            gone,
            gossip,
            clocks: clocks(plane, nodes, managers, dice),
            updates_at: dice.chance(250).then(|| dice.below(ends_at - calm)),
            weights: weights(nodes, dice),
            log_takes: log_takes(dice),
            shares_storage,
            policy,
        }
    }

    /// Nodes, and managers if they are apart.
    pub(crate) fn sites(&self) -> usize {
        self.clocks.len()
    }

    /// Where the storage is, as far as the network is concerned.
    pub(crate) fn storage_site(&self) -> usize {
        self.sites()
    }

    /// The site of a manager.
    pub(crate) fn manager_site(&self, manager: usize) -> usize {
        match self.plane {
            Plane::Managed => self.nodes + manager,
            Plane::Peer => manager,
        }
    }

    /// The manager at a site.
    pub(crate) fn manager_at(&self, site: usize) -> Option<usize> {
        let first = self.manager_site(0);
        site.checked_sub(first)
            .filter(|manager| *manager < self.managers)
    }

    pub(crate) fn clock(&self, site: usize) -> Clock {
        self.clocks[site]
    }

    /// How long a removed node is remembered.
    pub(crate) fn forget_after(&self) -> Duration {
        let gossip = self.gossip.as_ref();
        gossip.map_or(Duration::ZERO, |gossip| gossip.forget_after)
    }

    /// The place of a shard among all.
    pub(crate) fn number(&self, key: &ShardKey) -> usize {
        let mut before = 0;
        for group in &self.groups {
            if group.name == key.group {
                return before + key.shard.index();
            }
            before += group.count.get() as usize;
        }
        unreachable!("{key} is not of this cluster")
    }

    /// The version of a process that starts at this moment.
    pub(crate) fn version(&self, at: Moment) -> NodeVersion {
        let is_new = self.updates_at.is_some_and(|updates_at| updates_at <= at);
        NodeVersion::new(if is_new { "2.0" } else { "1.0" })
    }

    /// What a process that starts at this moment says about itself.
    pub(crate) fn registration(&self, node: usize, process: u64, at: Moment) -> Registration {
        let mut roles = BTreeSet::new();
        if node > 0 {
            roles.insert(RoleName::new(ROLE).expect("a role"));
        }
        Registration {
            name: node_name(node),
            address: format!("node-{node}:7000"),
            nonce: process * NONCES,
            version: self.version(at),
            roles,
            place: std::collections::BTreeMap::new(),
            weight: self.weights[node],
            groups: self.groups.clone(),
        }
    }
}

/// The process that registered with this number.
pub(crate) fn process_of(nonce: u64) -> u64 {
    nonce / NONCES
}

pub(crate) fn node_name(node: usize) -> NodeName {
    NodeName::new(format!("node-{node}")).expect("a node name")
}

/// The node of this name.
pub(crate) fn node_of(name: &NodeName) -> usize {
    let number = name.as_str().rsplit('-').next();
    let number = number.and_then(|number| number.parse().ok());
    number.expect("the name of a node of this cluster")
}

const ROLE: &str = "worker";

fn groups(dice: &mut Dice) -> Vec<GroupSpec> {
    let group = |name: &str, count, role: Option<&str>| GroupSpec {
        name: GroupName::new(name).expect("a group name"),
        count: ShardCount::new(count).expect("a shard count"),
        hash: "stable".to_owned(),
        role: role.map(|role| RoleName::new(role).expect("a role")),
    };
    let first = dice.between(8, 32) as u32;
    let mut groups = vec![group("default", first, None)];
    if dice.chance(400) {
        let second = dice.between(8, 16) as u32;
        groups.push(group("work", second, dice.chance(500).then_some(ROLE)));
    }
    groups
}

fn keys(groups: &[GroupSpec]) -> Vec<ShardKey> {
    let of_group = |group: &GroupSpec| {
        let name = group.name.clone();
        let key = move |shard| ShardKey {
            group: name.clone(),
            shard,
        };
        group.count.iter().map(key).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

/// Half of the managers have a storage that nodes reach too.
fn shares_storage(plane: Plane, mutant: Option<Mutant>, dice: &mut Dice) -> bool {
    let must = mutant.is_some_and(Mutant::needs_shared_storage);
    plane == Plane::Managed && (dice.chance(500) || must)
}

/// Mostly more than anybody wants to append.
fn log_takes(dice: &mut Dice) -> usize {
    if dice.chance(250) {
        dice.between(1, 6) as usize
    } else {
        usize::MAX
    }
}

/// Mostly all alike.
fn weights(nodes: usize, dice: &mut Dice) -> Vec<u32> {
    let most = if dice.chance(250) { 3 } else { 1 };
    (0..nodes).map(|_| dice.between(1, most) as u32).collect()
}

/// Half of the time the worst there can be: slow holders and fast grantors.
fn clocks(plane: Plane, nodes: usize, managers: usize, dice: &mut Dice) -> Vec<Clock> {
    let worst = dice.chance(500);
    let drift = TRUE_RATE / 10;
    let (slow, fast) = (TRUE_RATE - drift, TRUE_RATE + drift);
    let sites = match plane {
        Plane::Managed => nodes + managers,
        Plane::Peer => nodes,
    };
    let grants = |site: usize| match plane {
        Plane::Managed => site >= nodes,
        Plane::Peer => site < managers,
    };
    let clock = |site| {
        let origin = dice.between(1_000, 1_000_000) * SECOND;
        let rate = match worst {
            false => dice.between(slow, fast),
            true if grants(site) => fast,
            true => slow,
        };
        Clock::new(origin, rate)
    };
    (0..sites).map(clock).collect()
}
