//! `Shard`: a shard and who owns it.

use std::sync::Arc;

use axum::{Json, extract::State};
use ostrakon_core::{ControlState, GroupName, Incarnation, NodeName, Ownership, ShardKey};
use serde::{Deserialize, Serialize};

use crate::{asked::Asked, office::Office, problem::Problem};

/// A shard and who owns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Its group.
    pub group: String,
    /// Its number there, from 1.
    pub shard: u32,
    /// What it is about to do.
    pub state: ShardState,
    /// The node that owns it.
    pub owner: Option<String>,
    /// Which run of that node.
    pub incarnation: Option<u64>,
    /// The present ownership, or the last; 0 if there was none. It is the entry of the log that granted it.
    pub epoch: u64,
    /// The node that shall have it next.
    pub to: Option<String>,
}

/// What a shard is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardState {
    /// It has an owner, and stays.
    Owned,
    /// Its owner is giving it up.
    Moving,
    /// Nobody owns it.
    Unowned,
}

/// Shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shards {
    /// The log that these are from, as far as it was read.
    pub log_index: u64,
    /// By group and number.
    pub shards: Vec<Shard>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    node: Option<NodeName>,
    group: Option<GroupName>,
}

pub(crate) async fn list(
    State(office): State<Arc<Office>>,
    Asked(filter): Asked<Filter>,
) -> Result<Json<Shards>, Problem> {
    let found = office.look(|view| shards(view.state(), &filter));
    found.map(Json)
}

fn shards(state: &ControlState, filter: &Filter) -> Result<Shards, Problem> {
    if let Some(group) = &filter.group
        && state.group(group).is_none()
    {
        return Err(no_such_group(group));
    }
    let groups = state.groups().filter(|group| {
        filter
            .group
            .as_ref()
            .is_none_or(|name| group.spec.name == *name)
    });
    let all = groups.flat_map(|group| group.iter());
    let all = all.map(|(key, ownership)| Shard::of(state, &key, ownership));
    let is_wanted = |shard: &Shard| {
        filter
            .node
            .as_ref()
            .is_none_or(|node| shard.owner.as_deref() == Some(node.as_str()))
    };
    Ok(Shards {
        log_index: state.applied().get(),
        shards: all.filter(is_wanted).collect(),
    })
}

pub(crate) fn no_such_group(group: &GroupName) -> Problem {
    let error = format!("there is no shard group `{group}`");
    Problem::not_found(
        error,
        "GET /v1/status lists the groups; a group begins with the first node that has it",
    )
}

impl Shard {
    pub(crate) fn of(state: &ControlState, key: &ShardKey, ownership: Ownership) -> Self {
        let name = |run: Incarnation| name_of(state, run);
        let (stand, to) = match ownership {
            Ownership::Owned { .. } => (ShardState::Owned, None),
            Ownership::Releasing { to, .. } => (ShardState::Moving, to),
            Ownership::Unowned { .. } => (ShardState::Unowned, None),
        };
        let owner = ownership.owner().map(|(by, _)| by);
        Self {
            group: key.group.to_string(),
            shard: key.shard.get(),
            state: stand,
            owner: owner.map(name),
            incarnation: owner.map(Incarnation::get),
            epoch: ownership.epoch().get(),
            to: to.map(name),
        }
    }
}

/// The name of a run; its number if it is over.
pub(crate) fn name_of(state: &ControlState, run: Incarnation) -> String {
    let member = state.member(run);
    member.map_or_else(
        || run.to_string(),
        |member| member.registration.name.to_string(),
    )
}
