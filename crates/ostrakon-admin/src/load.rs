//! `Load`: what the nodes are doing, as each of them says once a second.
//!
//! It is for people to look at. Those are listed that are connected to whoever answers; what they were doing before is forgotten.

use std::{sync::Arc, time::Duration};

use axum::{Json, extract::State};
use ostrakon_manager::NodeVitals;
use serde::{Deserialize, Serialize};

use crate::office::Office;

/// What the nodes are doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// By name.
    pub nodes: Vec<NodeLoad>,
}

/// What a node is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeLoad {
    /// The node's name.
    pub name: String,
    /// How many messages its entities handle.
    pub messages_per_second: f64,
    /// How long half of them take at most, in microseconds, from samples; `None` if there was none lately.
    pub p50_us: Option<f64>,
    /// The same for 99 of 100.
    pub p99_us: Option<f64>,
    /// How many entities are in memory.
    pub entities: u64,
    /// How many messages wait in their mailboxes.
    pub queued: u64,
    /// How long ago it said so.
    pub heard_ms_ago: u64,
    /// How much its silence lets the peer that answers doubt that it lives; `None` if that does not listen to it.
    pub phi: Option<f64>,
    /// For how long it may act if nobody has answered it since; `None` if it does not live by a lease.
    pub lease_left_ms: Option<u64>,
    /// The shards with the most messages, the hottest first.
    pub hot_shards: Vec<HotShard>,
    /// The entities with the most messages, from samples, the hottest first.
    pub hot_entities: Vec<HotEntity>,
}

/// A shard that has much to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotShard {
    /// Its group.
    pub group: String,
    /// Its number there, from 1.
    pub shard: u32,
    /// How many messages its entities handle.
    pub messages_per_second: f64,
}

/// An entity that has much to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotEntity {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// How many messages it handles.
    pub messages_per_second: f64,
}

pub(crate) async fn get(State(office): State<Arc<Office>>) -> Json<Load> {
    let (vitals, phis) = (office.front.vitals().await, office.front.phis().await);
    let load = |node: NodeVitals| {
        let phi = phis.get(&node.name).copied();
        NodeLoad {
            phi,
            ..NodeLoad::of(node)
        }
    };
    Json(Load {
        nodes: vitals.into_iter().map(load).collect(),
    })
}

impl NodeLoad {
    fn of(node: NodeVitals) -> Self {
        let lease_left = node.lease_left();
        let NodeVitals { name, ago, vitals } = node;
        let shards = vitals.hot_shards.into_iter().map(|hot| HotShard {
            group: hot.shard.group.to_string(),
            shard: hot.shard.shard.get(),
            messages_per_second: per_second(hot.messages_per_1000s),
        });
        let entities = vitals.hot_entities.into_iter().map(|hot| HotEntity {
            kind: hot.kind.to_string(),
            id: hot.id.to_string(),
            messages_per_second: per_second(hot.messages_per_1000s),
        });
        Self {
            name: name.to_string(),
            messages_per_second: per_second(vitals.messages_per_1000s),
            p50_us: vitals.p50_ns.map(micros),
            p99_us: vitals.p99_ns.map(micros),
            entities: vitals.entities,
            queued: vitals.queued,
            heard_ms_ago: millis(ago),
            phi: None,
            lease_left_ms: lease_left.map(millis),
            hot_shards: shards.collect(),
            hot_entities: entities.collect(),
        }
    }
}

fn per_second(per_1000s: u64) -> f64 {
    per_1000s as f64 / 1000.0
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
