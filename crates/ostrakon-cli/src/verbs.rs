//! What operators do with a running cluster: `status`, `nodes`, `shards`, `explain`, `drain`, `rebalance`, `rebalancing`, `events`.
//!
//! Each is a request to the admin API of a manager, and its answer as a table for people or, with `--json`, as it came for tools.

mod client;
mod happenings;
mod nodes;
mod reach;
mod shards;
mod status;
mod table;
mod want;

use std::process::ExitCode;

pub(crate) use self::{
    client::Client,
    happenings::{Events, events},
    nodes::{Nodes, nodes},
    shards::{Explain, Shards, explain, shards},
    status::{Status, status},
    want::{Drain, Rebalance, Rebalancing, drain, rebalance, rebalancing},
};

/// Does what a verb says.
pub(crate) fn run(verb: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(verb)?;
    Ok(ExitCode::SUCCESS)
}
