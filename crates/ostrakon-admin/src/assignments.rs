//! `Assignments`: which node has which shards, in the shortest form.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Json, extract::State};
use ostrakon_core::{ControlState, GroupState};
use serde::{Deserialize, Serialize};

use crate::{office::Office, shard::name_of};

/// Which node has which shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignments {
    /// The log that these are from, as far as it was read.
    pub log_index: u64,
    /// By the name of the group.
    pub groups: BTreeMap<String, GroupAssignments>,
}

/// Which node has which shards of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupAssignments {
    /// By the name of the node. What a node gives up is its own until it has.
    pub nodes: BTreeMap<String, Vec<u32>>,
    /// Those that nobody has.
    pub unowned: Vec<u32>,
}

pub(crate) async fn get(State(office): State<Arc<Office>>) -> Json<Assignments> {
    Json(office.look(|view| Assignments::of(view.state())))
}

impl Assignments {
    fn of(state: &ControlState) -> Self {
        let groups = state.groups().map(|group| {
            (
                group.spec.name.to_string(),
                GroupAssignments::of(state, group),
            )
        });
        Self {
            log_index: state.applied().get(),
            groups: groups.collect(),
        }
    }
}

impl GroupAssignments {
    fn of(state: &ControlState, group: &GroupState) -> Self {
        let mut assignments = Self::default();
        for (key, ownership) in group.iter() {
            let shards = match ownership.owner() {
                Some((by, _)) => assignments.nodes.entry(name_of(state, by)).or_default(),
                None => &mut assignments.unowned,
            };
            shards.push(key.shard.get());
        }
        assignments
    }
}
