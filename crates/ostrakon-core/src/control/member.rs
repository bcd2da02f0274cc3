//! `Member`: one run of a node, from its registration to its end.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Failover, GroupSpec};
use crate::{NodeName, NodeVersion, RoleName};

/// What a node says about itself when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Its name.
    pub name: NodeName,
    /// Where others reach it.
    pub address: String,
    /// A number that no other run of any node has: a registration that arrives twice counts once.
    pub nonce: u64,
    /// Which version of the program it runs.
    pub version: NodeVersion,
    /// What it is for.
    pub roles: BTreeSet<RoleName>,
    /// Its share of the shards, compared with that of others.
    pub weight: u32,
    /// The groups whose shards it can hold, as it knows them.
    pub groups: Vec<GroupSpec>,
    /// Where it runs, by names that whoever looks after its health knows, such as `process.id`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub place: BTreeMap<String, String>,
}

/// A live run of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// What it said about itself.
    pub registration: Registration,
    /// Whether it wants to stay.
    pub state: MemberState,
    /// What it lives by. It was the rule when it began, and a later rule does not change it: the node might not know of it.
    pub failover: Failover,
}

/// Whether a node wants to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    /// It takes shards.
    Active,
    /// It gives its shards up and goes.
    Leaving,
}

impl Member {
    /// Whether it may hold shards of this group.
    pub fn can_hold(&self, group: &GroupSpec) -> bool {
        let has_role = group
            .role
            .as_ref()
            .is_none_or(|role| self.registration.roles.contains(role));
        has_role
            && self
                .registration
                .groups
                .iter()
                .any(|own| own.name == group.name)
    }
}
