//! `Explanation`: where a shard or an entity is, since when, and why there.
//!
//! Where it is comes from the log and is always known. Why comes from the events that this manager remembers, which are the latest ones
//! only: what happened before is said to be unknown, and never guessed.

use std::sync::Arc;

use axum::{Json, extract::State};
use ostrakon_core::{
    EntityId, Epoch, GroupName, GroupState, Ownership, Placement, ShardHash, ShardId, ShardKey,
    shard_of,
};
use ostrakon_manager::{ClusterEvent, Happening, View};
use serde::{Deserialize, Serialize};

use crate::{
    asked::{Asked, Named},
    office::Office,
    problem::Problem,
    shard::{Shard, no_such_group},
};

/// Where a shard or an entity is, since when, and why there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The entity that was asked for, if it was one.
    pub entity: Option<String>,
    /// Where it is.
    #[serde(flatten)]
    pub shard: Shard,
    /// When this manager learned of that, in milliseconds since 1970; `None` if it was too long ago.
    pub since_ms: Option<u64>,
    /// The number of the event that made it so; `None` if it was too long ago.
    pub since_event: Option<u64>,
    /// Why it is there.
    pub why: String,
    /// What is about to happen to it, and why.
    pub next: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entity {
    #[serde(default)]
    group: GroupName,
    id: EntityId,
}

pub(crate) async fn of_shard(
    State(office): State<Arc<Office>>,
    Named((group, number)): Named<(GroupName, u32)>,
) -> Result<Json<Explanation>, Problem> {
    let explained = office.look(|view| {
        let state = group_in(view, &group)?;
        let count = state.spec.count;
        let shard = ShardId::new(number).filter(|shard| count.contains(*shard));
        let shard = shard.ok_or_else(|| {
            let error = format!("group `{group}` has no shard {number}");
            Problem::not_found(error, format!("its shards are 1 to {count}"))
        })?;
        let key = ShardKey { group, shard };
        Ok(explain(view, &key, None))
    });
    explained.map(Json)
}

pub(crate) async fn of_entity(
    State(office): State<Arc<Office>>,
    Asked(asked): Asked<Entity>,
) -> Result<Json<Explanation>, Problem> {
    let Entity { group, id } = asked;
    let explained = office.look(|view| {
        let state = group_in(view, &group)?;
        let shard = shard_in(state, &id)?;
        let key = ShardKey { group, shard };
        Ok(explain(view, &key, Some(id.to_string())))
    });
    explained.map(Json)
}

fn group_in<'v>(view: &'v View, group: &GroupName) -> Result<&'v GroupState, Problem> {
    view.state()
        .group(group)
        .ok_or_else(|| no_such_group(group))
}

fn shard_in(group: &GroupState, id: &EntityId) -> Result<ShardId, Problem> {
    let built_in = [ShardHash::Stable, ShardHash::Java, ShardHash::Md5];
    let hash = built_in
        .into_iter()
        .find(|hash| hash.name() == group.spec.hash);
    let found = hash.and_then(|hash| shard_of(id, group.spec.count, &hash).ok());
    found.ok_or_else(|| {
        let error = format!(
            "group `{}` places entities by `{}`, which only its nodes know",
            group.spec.name, group.spec.hash
        );
        let remedy = format!(
            "find the shard with a node, and ask GET /v1/explain/{}/SHARD",
            group.spec.name
        );
        Problem::bad_request(error).with_remedy(remedy)
    })
}

fn explain(view: &View, key: &ShardKey, entity: Option<String>) -> Explanation {
    let state = view.state();
    let nobody = Ownership::Unowned {
        last: Epoch::default(),
    };
    let ownership = state.ownership(key).unwrap_or(nobody);
    let own: Vec<_> = view
        .remembered()
        .filter(|event| event.what.shard() == Some(key))
        .collect();
    let since = own.iter().rposition(|event| made(event, ownership));
    Explanation {
        entity,
        shard: Shard::of(state, key, ownership),
        since_ms: since.map(|at| own[at].at_ms),
        since_event: since.map(|at| own[at].number),
        why: why(view, ownership, &own, since),
        next: next(ownership, &own),
    }
}

/// Whether this event began what is.
fn made(event: &ClusterEvent, now: Ownership) -> bool {
    match (&event.what, now.owner()) {
        (Happening::Granted { epoch, .. }, Some((_, present))) => *epoch == present,
        (Happening::Freed { epoch, .. }, None) => *epoch == now.epoch(),
        _ => false,
    }
}

fn why(view: &View, now: Ownership, own: &[&ClusterEvent], since: Option<usize>) -> String {
    let Some(since) = since else {
        return match now {
            Ownership::Unowned { last } if last == Epoch::default() => waits(view),
            Ownership::Unowned { .. } | Ownership::Owned { .. } | Ownership::Releasing { .. } => {
                "that was decided before what this manager remembers".to_owned()
            }
        };
    };
    match now {
        Ownership::Unowned { .. } => format!(
            "{}; {}",
            how_it_was_freed(view, &own[..=since]),
            waits(view)
        ),
        Ownership::Owned { .. } | Ownership::Releasing { .. } => {
            how_it_was_freed(view, &own[..since])
        }
    }
}

/// What ended the former ownership, of which these are the events.
fn how_it_was_freed(view: &View, earlier: &[&ClusterEvent]) -> String {
    let Some((freed, before)) = earlier.split_last() else {
        return "nobody had it, as far as this manager remembers".to_owned();
    };
    let ended = view.remembered().find_map(|event| {
        let Happening::Ended { node, reason, .. } = &event.what else {
            return None;
        };
        (event.index == freed.index).then(|| format!("its owner {node} is gone: {reason}"))
    });
    let moved = before.last().and_then(|event| {
        let Happening::MoveBegan { from, reason, .. } = &event.what else {
            return None;
        };
        Some(format!("{from} was to give it up: {reason}"))
    });
    ended
        .or(moved)
        .unwrap_or_else(|| "its former owner gave it up".to_owned())
}

fn waits(view: &View) -> String {
    match view.state().policy().placement {
        Placement::AtOnce => "it waits for a node that can take it".to_owned(),
        Placement::AtFirstAccess => "it gets an owner when somebody asks for it".to_owned(),
    }
}

fn next(now: Ownership, own: &[&ClusterEvent]) -> Option<String> {
    let Ownership::Releasing { .. } = now else {
        return None;
    };
    let began = own.iter().rev().find_map(|event| {
        let Happening::MoveBegan { to, reason, .. } = &event.what else {
            return None;
        };
        let to = to.as_ref().map_or("another node", |to| to.as_str());
        Some(format!("it goes to {to}: {reason}"))
    });
    Some(began.unwrap_or_else(|| "its owner is giving it up".to_owned()))
}
