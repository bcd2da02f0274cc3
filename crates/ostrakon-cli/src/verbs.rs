//! What operators do with a running cluster: `probe`, `status`, `nodes`, `shards`, `explain`, `drain`, `rebalance`, `rebalancing`, `events`.
//!
//! Each is a request to the admin API of a manager, and its answer as a table for people or, with `--json`, as it came for tools.

// As those of the standard library, but a reader that has seen enough (`ostrakon shards | head`) is no reason to panic.
macro_rules! print {
    ($($text:tt)*) => {
        $crate::verbs::put(format_args!($($text)*))
    };
}
macro_rules! println {
    () => {
        print!("\n")
    };
    ($($text:tt)*) => {
        print!("{}\n", format_args!($($text)*))
    };
}

mod client;
mod happenings;
mod nodes;
mod probe;
mod reach;
mod shards;
mod status;
mod table;
mod want;

use std::{
    fmt,
    io::{self, ErrorKind, Write},
    process::{self, ExitCode},
};

pub(crate) use self::{
    client::Client,
    happenings::{Events, events},
    nodes::{Nodes, nodes},
    probe::{Probe, probe},
    shards::{Explain, Shards, explain, shards},
    status::{Status, status},
    want::{Drain, Rebalance, Rebalancing, drain, rebalance, rebalancing},
};

/// Does what a verb says.
pub(crate) fn run(verb: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<ExitCode> {
    block_on(verb)??;
    Ok(ExitCode::SUCCESS)
}

fn block_on<T>(verb: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(verb))
}

/// Prints; ends the program if nobody reads any more.
fn put(text: fmt::Arguments<'_>) {
    let Err(error) = io::stdout().write_fmt(text) else {
        return;
    };
    if error.kind() == ErrorKind::BrokenPipe {
        process::exit(0);
    }
    eprintln!("error: cannot print: {error}");
    process::exit(1);
}
