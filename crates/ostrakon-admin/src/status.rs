//! `Status`: the cluster at a glance.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Json, extract::State};
use ostrakon_core::{Failover, GroupState, Incarnation, NodeName, Ownership, Rebalancing};
use ostrakon_council::Quorum;
use ostrakon_manager::View;
use serde::{Deserialize, Serialize};

use crate::office::Office;

/// The cluster at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Which cluster.
    pub cluster: String,
    /// The manager that answers.
    pub manager: String,
    /// The version of its program.
    pub version: String,
    /// Who leads; `None` before anybody did.
    pub leader: Option<Leading>,
    /// The last entry of the log that the manager has read.
    pub log_index: u64,
    /// How many runs of nodes there are.
    pub nodes: usize,
    /// What must be known before a silent node's shards are given to others: `proof` or `lease`.
    pub failover: String,
    /// Whether shards are moved for the sake of balance.
    pub rebalancing: Rebalancing,
    /// The groups of shards.
    pub groups: Vec<Group>,
    /// Nodes that are silent, and what to do about it. Only the manager that leads knows.
    pub silent: Option<Vec<Silent>>,
    /// Nodes that know more of the log than there is of it, and what to do about it. While there are any, nothing is granted.
    #[serde(default)]
    pub ahead: Vec<Ahead>,
    /// Who votes, where peers look after the cluster themselves; left out where managers do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<Peers>,
}

/// Who takes part in deciding, as far as the peer knows that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peers {
    /// Who leads now; that is known sooner here than from the log.
    pub leader: Option<String>,
    /// Those who vote.
    pub voters: Vec<String>,
    /// Those who only learn what was decided.
    pub learners: Vec<String>,
    /// Those who are there and host nothing.
    pub witnesses: Vec<String>,
    /// What is wrong with that, and what to do about it.
    pub warning: Option<String>,
}

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leading {
    /// Which manager.
    pub manager: String,
    /// In which term.
    pub term: u64,
    /// Whether it is the one that answers.
    pub is_this: bool,
}

/// A group of shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How ids are put into shards.
    pub hash: String,
    /// Only nodes with this role hold its shards.
    pub role: Option<String>,
    /// How many shards it has.
    pub shards: usize,
    /// How many of them have an owner that keeps them.
    pub owned: usize,
    /// How many are being given up by their owner.
    pub moving: usize,
    /// How many have no owner.
    pub unowned: usize,
}

/// A silent node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {
    /// Which node.
    pub node: String,
    /// Which run of it.
    pub incarnation: u64,
    /// Since when the manager knows of it, in milliseconds since 1970.
    pub since_ms: u64,
    /// How many shards it owns, which wait.
    pub shards: usize,
    /// What to do about it.
    pub remedy: String,
}

/// A node that knows more of the log than there is of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    /// Which node.
    pub node: String,
    /// The last entry that it knows.
    pub knows: u64,
    /// Where the log ended when it said so.
    pub ends: u64,
    /// Since when the manager knows of it, in milliseconds since 1970.
    pub since_ms: u64,
    /// What to do about it.
    pub remedy: String,
}

pub(crate) async fn get(State(office): State<Arc<Office>>) -> Json<Status> {
    let status = office.look(|view| Status::of(&office, view));
    Json(Status {
        peers: office.front.quorum().map(Peers::from),
        ..status
    })
}

impl Status {
    fn of(office: &Office, view: &View) -> Self {
        let leader = view.leader().map(|leader| Leading {
            manager: leader.manager.to_string(),
            term: leader.term.get(),
            is_this: leader.is_me,
        });
        let leads = leader.as_ref().is_some_and(|leader| leader.is_this);
        let state = view.state();
        Self {
            cluster: office.cluster.clone(),
            manager: office.manager.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            leader,
            log_index: state.applied().get(),
            nodes: state.members().len(),
            failover: failover(&state.policy().failover).to_owned(),
            rebalancing: state.policy().rebalancing,
            groups: state.groups().map(Group::of).collect(),
            silent: leads.then(|| silent(view)),
            ahead: ahead(view),
            peers: None,
        }
    }
}

impl From<Quorum> for Peers {
    fn from(quorum: Quorum) -> Self {
        let names = |names: &[NodeName]| names.iter().map(ToString::to_string).collect();
        Self {
            leader: quorum.leader.as_ref().map(ToString::to_string),
            voters: names(&quorum.voters),
            learners: names(&quorum.learners),
            witnesses: names(&quorum.witnesses),
            warning: quorum.weakness(),
        }
    }
}

impl Group {
    fn of(group: &GroupState) -> Self {
        let (mut owned, mut moving, mut unowned) = (0, 0, 0);
        for ownership in &group.shards {
            match ownership {
                Ownership::Owned { .. } => owned += 1,
                Ownership::Releasing { .. } => moving += 1,
                Ownership::Unowned { .. } => unowned += 1,
            }
        }
        Self {
            name: group.spec.name.to_string(),
            hash: group.spec.hash.clone(),
            role: group.spec.role.as_ref().map(ToString::to_string),
            shards: group.shards.len(),
            owned,
            moving,
            unowned,
        }
    }
}

fn silent(view: &View) -> Vec<Silent> {
    let own = shards_by_owner(view);
    let nodes = view.silences().filter_map(|(incarnation, silence)| {
        let member = view.state().member(incarnation)?;
        Some(Silent {
            node: member.registration.name.to_string(),
            incarnation: incarnation.get(),
            since_ms: silence.since_ms,
            shards: own.get(&incarnation).copied().unwrap_or_default(),
            remedy: silence.remedy.clone(),
        })
    });
    nodes.collect()
}

fn ahead(view: &View) -> Vec<Ahead> {
    let nodes = view.ahead().map(|(node, ahead)| Ahead {
        node: node.to_string(),
        knows: ahead.knows.get(),
        ends: ahead.ends.get(),
        since_ms: ahead.since_ms,
        remedy: ahead.remedy.clone(),
    });
    nodes.collect()
}

/// How many shards each run owns, whether it keeps them or not.
pub(crate) fn shards_by_owner(view: &View) -> BTreeMap<Incarnation, usize> {
    let mut own = BTreeMap::new();
    for ownership in view.state().groups().flat_map(|group| &group.shards) {
        if let Some((by, _)) = ownership.owner() {
            *own.entry(by).or_default() += 1;
        }
    }
    own
}

pub(crate) fn failover(failover: &Failover) -> &'static str {
    match failover {
        Failover::Proof => "proof",
        Failover::Lease(_) => "lease",
    }
}
