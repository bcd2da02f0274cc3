//! `shards` and `explain`: who has what, and why.

use anyhow::bail;
use clap::Args;
use ostrakon_admin as api;
use serde_json::Value;

use super::{
    client::{Client, encoded, is_not_there, print_json, read},
    happenings::ago,
    reach::Reach,
    table::{Table, or_dash},
};

/// The arguments of `ostrakon shards`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ostrakon shards
  ostrakon shards --node node-1
  ostrakon shards --group sensors --json")]
pub(crate) struct Shards {
    /// Only those that this node owns
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Only those of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

/// The arguments of `ostrakon explain`.
#[derive(Args, Debug)]
#[command(after_help = "\
A manager knows groups of shards, and not the kinds of entities in them: a name that is no group is
taken for a kind of the default group.

Examples:
  ostrakon explain account alice
  ostrakon explain sensors sensor-17
  ostrakon explain default --shard 42")]
pub(crate) struct Explain {
    /// The kind of the entity, or the group of its kind
    #[arg(value_name = "KIND-or-GROUP")]
    group: String,
    /// The entity
    #[arg(
        value_name = "ID",
        required_unless_present = "shard",
        conflicts_with = "shard"
    )]
    id: Option<String>,
    /// A shard instead, by its number
    #[arg(long, value_name = "N")]
    shard: Option<u32>,
    #[command(flatten)]
    reach: Reach,
}

pub(crate) async fn shards(verb: &Shards) -> anyhow::Result<()> {
    let filters = [("node", &verb.node), ("group", &verb.group)];
    let query = filters
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", encoded(value.as_ref()?))));
    let path = format!("/v1/shards?{}", query.collect::<Vec<_>>().join("&"));
    let answer = verb.reach.client()?.get(path.trim_end_matches('?')).await?;
    if verb.reach.json {
        return print_json(&answer);
    }
    let all: api::Shards = read(answer)?;
    let mut table = Table::of(&["GROUP", "SHARD", "STATE", "OWNER", "RUN", "EPOCH", "TO"]);
    for shard in all.shards {
        table.row([
            shard.group,
            shard.shard.to_string(),
            state_name(shard.state).to_owned(),
            or_dash(shard.owner.as_deref()),
            shard
                .incarnation
                .map_or_else(|| "-".to_owned(), |run| format!("i{run}")),
            format!("e{}", shard.epoch),
            or_dash(shard.to.as_deref()),
        ]);
    }
    print!("{table}");
    Ok(())
}

pub(crate) async fn explain(verb: &Explain) -> anyhow::Result<()> {
    let client = verb.reach.client()?;
    let answer = match (verb.shard, &verb.id) {
        (Some(shard), _) => {
            client
                .get(&format!("/v1/explain/{}/{shard}", encoded(&verb.group)))
                .await?
        }
        (None, Some(id)) => find(&client, &verb.group, id).await?,
        (None, None) => bail!("name an entity, or a shard with --shard"),
    };
    if verb.reach.json {
        return print_json(&answer);
    }
    let found: api::Explanation = read(answer)?;
    let api::Shard {
        group,
        shard,
        state,
        owner,
        incarnation,
        epoch,
        ..
    } = found.shard;
    if let Some(entity) = found.entity {
        println!("entity {entity} is in shard {group}/{shard}");
    }
    match (owner, incarnation) {
        (Some(owner), Some(run)) => {
            println!("shard {group}/{shard} is owned by {owner} (run i{run}) as e{epoch}")
        }
        _ => println!(
            "shard {group}/{shard} is {}; its last ownership was e{epoch}",
            state_name(state)
        ),
    }
    if let (Some(at), Some(event)) = (found.since_ms, found.since_event) {
        println!("since {}, by event {event}", ago(at));
    }
    println!("why: {}", found.why);
    if let Some(next) = found.next {
        println!("next: {next}");
    }
    Ok(())
}

/// A name that is no group is a kind of the default group.
async fn find(client: &Client, group: &str, id: &str) -> anyhow::Result<Value> {
    let asked = client
        .get(&format!(
            "/v1/explain?group={}&id={}",
            encoded(group),
            encoded(id)
        ))
        .await;
    match asked {
        Err(error) if is_not_there(&error) => {
            let found = client
                .get(&format!("/v1/explain?id={}", encoded(id)))
                .await?;
            eprintln!("there is no group {group}: it is taken for a kind of the default group");
            Ok(found)
        }
        asked => asked,
    }
}

fn state_name(state: api::ShardState) -> &'static str {
    match state {
        api::ShardState::Owned => "owned",
        api::ShardState::Moving => "moving",
        api::ShardState::Unowned => "unowned",
    }
}
