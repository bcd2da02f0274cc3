//! `nodes`: who is there, and who is dead.

use std::io::{BufRead, Write};

use anyhow::bail;
use clap::{Args, Subcommand};
use ostrakon_admin as api;
use serde_json::json;

use super::{
    client::{Client, encoded, print_json, read},
    reach::Reach,
    table::Table,
    want::tell,
};

/// The arguments of `ostrakon nodes`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ostrakon nodes
  ostrakon nodes confirm-dead node-3 --word 'its host was switched off'")]
pub(crate) struct Nodes {
    #[command(subcommand)]
    what: Option<NodesWhat>,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Subcommand, Debug)]
enum NodesWhat {
    /// Say that a silent node is dead, so that its shards go to others
    ConfirmDead(ConfirmDead),
}

#[derive(Args, Debug)]
#[command(after_help = "\
If the node is not dead, two copies of its entities will act. Make sure of it first: look at its
host, or switch it off.

Example:
  ostrakon nodes confirm-dead node-3 --word 'its host was switched off'")]
struct ConfirmDead {
    /// Which node
    #[arg(value_name = "NAME")]
    node: String,
    /// How you know; it is written into the log
    #[arg(long, value_name = "TEXT")]
    word: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn nodes(verb: &Nodes) -> anyhow::Result<()> {
    let client = verb.reach.client()?;
    if let Some(NodesWhat::ConfirmDead(confirm)) = &verb.what {
        return confirm_dead(&client, confirm, &verb.reach).await;
    }
    let answer = client.get("/v1/nodes").await?;
    if verb.reach.json {
        return print_json(&answer);
    }
    let all: api::Nodes = read(answer)?;
    let mut table = Table::of(&[
        "NODE",
        "RUN",
        "STATE",
        "SHARDS",
        "GIVING UP",
        "VERSION",
        "ADDRESS",
        "ROLES",
    ]);
    for node in all.nodes {
        let state = match (node.state, node.silent) {
            (_, Some(true)) => "SILENT",
            (ostrakon_core::MemberState::Active, _) => "active",
            (ostrakon_core::MemberState::Leaving, _) => "leaving",
        };
        table.row([
            node.name,
            format!("i{}", node.incarnation),
            state.to_owned(),
            node.shards.to_string(),
            node.giving_up.to_string(),
            node.version,
            node.address,
            node.roles.join(","),
        ]);
    }
    print!("{table}");
    Ok(())
}

async fn confirm_dead(client: &Client, confirm: &ConfirmDead, reach: &Reach) -> anyhow::Result<()> {
    let ConfirmDead { node, word, yes } = confirm;
    if !yes {
        eprintln!("If {node} still runs, two copies of its entities will act at once.");
        eprint!("Write {node} once more to say that it is dead: ");
        std::io::stderr().flush()?;
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        if line.trim() != node {
            bail!("not confirmed: nothing has changed");
        }
    }
    let path = format!("/v1/nodes/{}/confirm-dead", encoded(node));
    let answer = client.post(&path, Some(json!({ "word": word }))).await?;
    tell(&answer, reach)
}
