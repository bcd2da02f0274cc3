//! `status`: the cluster at a glance, and what is wrong with it.

use clap::Args;
use ostrakon_admin as api;

use super::{
    client::{print_json, read},
    happenings::ago,
    reach::Reach,
    table::{Table, or_dash},
};

/// The arguments of `ostrakon status`.
#[derive(Args, Debug)]
#[command(after_help = "\
Silent nodes that nobody can prove dead are shown with what to do about them.

Examples:
  ostrakon status
  ostrakon status --json | jq .silent")]
pub(crate) struct Status {
    #[command(flatten)]
    reach: Reach,
}

pub(crate) async fn status(verb: &Status) -> anyhow::Result<()> {
    let answer = verb.reach.client()?.get("/v1/status").await?;
    if verb.reach.json {
        return print_json(&answer);
    }
    let status: api::Status = read(answer)?;
    println!("cluster {}: {}", status.cluster, who_decides(&status));
    let frozen = match status.rebalancing {
        ostrakon_core::Rebalancing::On => "on",
        ostrakon_core::Rebalancing::Frozen => "FROZEN (`ostrakon rebalancing unfreeze` resumes it)",
    };
    let nodes = status.nodes;
    println!(
        "nodes {nodes}, failover by {}, rebalancing {frozen}, log at #{}",
        status.failover, status.log_index
    );
    println!();
    let mut table = Table::of(&[
        "GROUP", "SHARDS", "OWNED", "MOVING", "UNOWNED", "HASH", "ROLE",
    ]);
    for group in &status.groups {
        let counts =
            [group.shards, group.owned, group.moving, group.unowned].map(|count| count.to_string());
        let names = [group.hash.clone(), or_dash(group.role.as_deref())];
        table.row([group.name.clone()].into_iter().chain(counts).chain(names));
    }
    print!("{table}");
    if let Some(warning) = status
        .peers
        .as_ref()
        .and_then(|peers| peers.warning.as_ref())
    {
        println!("\n!!! {warning}");
    }
    for silent in status.silent.iter().flatten() {
        let since = ago(silent.since_ms);
        println!(
            "\n!!! node {} (run i{}) is SILENT since {since} and keeps {} shards",
            silent.node, silent.incarnation, silent.shards
        );
        println!("    {}", silent.remedy);
    }
    for ahead in &status.ahead {
        println!(
            "\n!!! node {} is AHEAD of the log: it knows entry {}, and the log ended at {}",
            ahead.node, ahead.knows, ahead.ends
        );
        println!("    {}", ahead.remedy);
    }
    Ok(())
}

/// Who leads, and on the peer plane who votes.
fn who_decides(status: &api::Status) -> String {
    if let Some(peers) = &status.peers {
        let leader = peers.leader.as_deref().unwrap_or("nobody");
        let mut text = format!("{leader} leads; voters: {}", peers.voters.join(", "));
        for (what, names) in [
            ("learners", &peers.learners),
            ("witnesses", &peers.witnesses),
        ] {
            if !names.is_empty() {
                text += &format!("; {what}: {}", names.join(", "));
            }
        }
        return format!("{text}; {} answers", status.manager);
    }
    match &status.leader {
        Some(leader) if leader.is_this => {
            format!("manager {} leads (term {})", leader.manager, leader.term)
        }
        Some(leader) => format!(
            "manager {} leads (term {}), and {} stands by",
            leader.manager, leader.term, status.manager
        ),
        None => format!("nobody leads yet, manager {} answers", status.manager),
    }
}
