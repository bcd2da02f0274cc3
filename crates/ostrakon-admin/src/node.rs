//! `Node`: a run of a node, as the manager knows it.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Json, extract::State};
use ostrakon_core::{Incarnation, Member, MemberState, NodeName, Ownership};
use ostrakon_manager::View;
use serde::{Deserialize, Serialize};

use crate::{
    asked::Named,
    office::Office,
    problem::Problem,
    status::{failover, shards_by_owner},
};

/// A run of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The node's name. While it is not known that a run is over, the next one has the same.
    pub name: String,
    /// Which run of it.
    pub incarnation: u64,
    /// Where others reach it.
    pub address: String,
    /// Which version of the program it runs.
    pub version: String,
    /// What it is for.
    pub roles: Vec<String>,
    /// Its share of the shards, compared with that of others.
    pub weight: u32,
    /// Whether it wants to stay.
    pub state: MemberState,
    /// What it lives by: `proof` or `lease`.
    pub failover: String,
    /// Whether it has not been heard for longer than it should be silent. Only the manager that leads knows.
    pub silent: Option<bool>,
    /// How many shards it owns.
    pub shards: usize,
    /// How many of them it is giving up.
    pub giving_up: usize,
}

/// All runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nodes {
    /// In the order of their registration.
    pub nodes: Vec<Node>,
}

pub(crate) async fn list(State(office): State<Arc<Office>>) -> Json<Nodes> {
    Json(office.look(|view| Nodes {
        nodes: all(view, |_| true),
    }))
}

pub(crate) async fn get(
    State(office): State<Arc<Office>>,
    Named(name): Named<NodeName>,
) -> Result<Json<Nodes>, Problem> {
    let nodes = office.look(|view| all(view, |member| member.registration.name == name));
    if nodes.is_empty() {
        let error = format!("no node `{name}` is registered");
        return Err(Problem::not_found(
            error,
            "GET /v1/nodes lists those there are",
        ));
    }
    Ok(Json(Nodes { nodes }))
}

fn all(view: &View, wanted: impl Fn(&Member) -> bool) -> Vec<Node> {
    let leads = view.leader().is_some_and(|leader| leader.is_me);
    let (own, giving_up) = (shards_by_owner(view), giving_up(view));
    let count =
        |counts: &BTreeMap<_, _>, run: Incarnation| counts.get(&run).copied().unwrap_or_default();
    let members = view.state().members().filter(|(_, member)| wanted(member));
    let nodes = members.map(
        |(
            run,
            Member {
                registration,
                state,
                failover: rule,
            },
        )| Node {
            name: registration.name.to_string(),
            incarnation: run.get(),
            address: registration.address.clone(),
            version: registration.version.to_string(),
            roles: registration.roles.iter().map(ToString::to_string).collect(),
            weight: registration.weight,
            state: *state,
            failover: failover(rule).to_owned(),
            silent: leads.then(|| view.silent().contains(&run)),
            shards: count(&own, run),
            giving_up: count(&giving_up, run),
        },
    );
    nodes.collect()
}

fn giving_up(view: &View) -> BTreeMap<Incarnation, usize> {
    let mut counts = BTreeMap::new();
    for ownership in view.state().groups().flat_map(|group| &group.shards) {
        if let Ownership::Releasing { by, .. } = ownership {
            *counts.entry(*by).or_default() += 1;
        }
    }
    counts
}
