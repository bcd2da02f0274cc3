//! `drain`, `rebalance` and `rebalancing`: what shall be.

use std::time::Duration;

use clap::{Args, Subcommand};
use ostrakon_admin as api;
use serde_json::Value;

use super::{
    client::{Client, encoded, is_not_there, print_json, read},
    reach::Reach,
    table::{Table, or_dash},
};

/// How often to look whether a node is empty.
const LOOK: Duration = Duration::from_millis(500);

/// The arguments of `ostrakon drain`.
#[derive(Args, Debug)]
#[command(after_help = "\
Every shard is handed over in order: no request fails, and nothing is handled twice.

Examples:
  ostrakon drain node-3
  ostrakon drain node-3 --wait && echo it can be switched off")]
pub(crate) struct Drain {
    /// Which node
    node: String,
    /// Come back when it has no shard left
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    reach: Reach,
}

/// The arguments of `ostrakon rebalance`.
#[derive(Args, Debug)]
#[command(after_help = "\
One round moves at most the rate of a group to each node; the next round follows by itself.

Examples:
  ostrakon rebalance --dry-run
  ostrakon rebalance")]
pub(crate) struct Rebalance {
    /// Change nothing, say which shards would move and why
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    reach: Reach,
}

/// The arguments of `ostrakon rebalancing`.
#[derive(Args, Debug)]
#[command(after_help = "\
While it is frozen, shards without an owner still get one, and nodes that leave are emptied. It stays
frozen until it is unfrozen, whichever manager leads.

Examples:
  ostrakon rebalancing freeze
  ostrakon rebalance --dry-run      what unfreezing would do
  ostrakon rebalancing unfreeze")]
pub(crate) struct Rebalancing {
    #[command(subcommand)]
    what: RebalancingWhat,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Subcommand, Clone, Copy, Debug)]
enum RebalancingWhat {
    /// Move nothing for the sake of balance from now on
    Freeze,
    /// Move shards for the sake of balance again
    Unfreeze,
}

pub(crate) async fn drain(verb: &Drain) -> anyhow::Result<()> {
    let client = verb.reach.client()?;
    let path = format!("/v1/nodes/{}/drain", encoded(&verb.node));
    let answer = client.post(&path, None).await?;
    tell(&answer, &verb.reach)?;
    if verb.wait {
        wait_until_empty(&client, &verb.node).await?;
    }
    Ok(())
}

/// A manager that cannot be asked for a moment is asked again: it may be another's turn to lead.
async fn wait_until_empty(client: &Client, node: &str) -> anyhow::Result<()> {
    let path = format!("/v1/nodes/{}", encoded(node));
    let mut shown = None;
    loop {
        let left = match client.get(&path).await {
            Ok(answer) => Some(
                read::<api::Nodes>(answer)?
                    .nodes
                    .iter()
                    .map(|run| run.shards)
                    .sum::<usize>(),
            ),
            Err(error) if is_not_there(&error) => Some(0),
            Err(error) => {
                eprintln!("{error:#}");
                None
            }
        };
        if left == Some(0) {
            eprintln!("{node} has no shard left");
            return Ok(());
        }
        if left != shown
            && let Some(left) = left
        {
            eprintln!("{node} has {left} shards left");
            shown = Some(left);
        }
        tokio::time::sleep(LOOK).await;
    }
}

pub(crate) async fn rebalance(verb: &Rebalance) -> anyhow::Result<()> {
    let client = verb.reach.client()?;
    if !verb.dry_run {
        let answer = client.post("/v1/rebalance", None).await?;
        return tell(&answer, &verb.reach);
    }
    let answer = client.post("/v1/rebalance?dry_run=true", None).await?;
    if verb.reach.json {
        return print_json(&answer);
    }
    let round: api::PlannedRound = read(answer)?;
    if round.rebalancing == ostrakon_core::Rebalancing::Frozen {
        println!(
            "rebalancing is frozen; this is what a round would do after `ostrakon rebalancing unfreeze`:"
        );
    }
    if round.moves.is_empty() {
        println!("nothing would move");
        return Ok(());
    }
    let mut table = Table::of(&["SHARD", "FROM", "TO", "WHY"]);
    for planned in round.moves {
        table.row([
            format!("{}/{}", planned.group, planned.shard),
            or_dash(planned.from.as_deref()),
            or_dash(planned.to.as_deref()),
            planned.because,
        ]);
    }
    print!("{table}");
    Ok(())
}

pub(crate) async fn rebalancing(verb: &Rebalancing) -> anyhow::Result<()> {
    let path = match verb.what {
        RebalancingWhat::Freeze => "/v1/rebalancing/freeze",
        RebalancingWhat::Unfreeze => "/v1/rebalancing/unfreeze",
    };
    let answer = verb.reach.client()?.post(path, None).await?;
    tell(&answer, &verb.reach)
}

/// Says what has been taken up.
pub(super) fn tell(answer: &Value, reach: &Reach) -> anyhow::Result<()> {
    if reach.json {
        return print_json(answer);
    }
    let taken: api::TakenUp = read(answer.clone())?;
    println!("{}", taken.taken_up);
    Ok(())
}
