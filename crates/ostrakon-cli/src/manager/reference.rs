//! The configuration reference, `docs/configuration.md`, as the code makes it.
//!
//! Keys, flags, variables and their words come from clap, defaults from [`Config`], so that none of them is written twice. Nothing of this
//! is in the command itself: a test compares the page with what it should be, and writes it on request.

use std::{collections::BTreeMap, fmt::Write as _};

use clap::{Arg, Args, Command};

use super::{
    config::Config, keys::Keys, lease_keys::LeaseKeys, options::from_toml, printed::printed,
};
use crate::{
    serving::{AdminKeys, TlsKeys},
    verbs, witness,
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");

#[test]
fn the_reference_in_the_book_is_what_the_code_says() {
    let page = reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let there = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        there == page,
        "docs/configuration.md is not what the code says: write it anew with `BLESS=1 cargo test -p ostrakon-cli reference`"
    );
}

#[test]
fn every_key_of_the_reference_is_one_of_the_file() {
    for table in [None, Some("lease"), Some("tls"), Some("admin")] {
        for arg in arguments(table) {
            let key = key(&arg, table);
            let header = table.map_or_else(String::new, |name| format!("[{name}]\n"));
            // No key takes an array, so this one is refused; but not as one that nobody knows.
            let error = format!(
                "{:#}",
                from_toml(&format!("{header}{key} = []")).unwrap_err()
            );
            assert!(!error.contains("unknown field"), "{key}: {error}");
        }
    }
}

fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (table, heading) in TABLES {
        page += heading;
        page += &keys(table);
    }
    page += PROFILES;
    page += &profiles();
    page += WITNESS;
    page += &flags::<witness::Options>();
    page += OPERATORS;
    page += &flags::<verbs::Status>();
    page + NODES
}

/// One table of the file, or what stands before all tables.
fn keys(table: Option<&str>) -> String {
    // There are no times of a lease to be seen without one.
    let set = match table {
        Some("lease") => "failover = \"lease\"",
        _ => "",
    };
    let defaults = defaults(set, table);
    let mut text =
        "| key | default | flag | variable | meaning |\n|---|---|---|---|---|\n".to_owned();
    for arg in arguments(table) {
        let key = key(&arg, table);
        let default = defaults
            .get(&key)
            .map_or_else(|| "none".to_owned(), |value| format!("`{value}`"));
        let (flag, meaning) = (flag(&arg), meaning(&arg));
        let _ = writeln!(
            text,
            "| `{key}` | {default} | {flag} | {} | {meaning} |",
            variable(&arg)
        );
    }
    text + "\n"
}

/// What a command takes.
fn flags<A: Args>() -> String {
    let mut text = "| flag | default | variable | meaning |\n|---|---|---|---|\n".to_owned();
    for arg in A::augment_args(Command::new("")).get_arguments() {
        let default: Vec<_> = arg
            .get_default_values()
            .iter()
            .map(|value| format!("`{}`", value.display()))
            .collect();
        let default = match (default.is_empty(), arg.is_required_set()) {
            (false, _) => default.join(" "),
            (true, true) => "must be said".to_owned(),
            (true, false) => "none".to_owned(),
        };
        let _ = writeln!(
            text,
            "| {} | {default} | {} | {} |",
            flag(arg),
            variable(arg),
            meaning(arg)
        );
    }
    text + "\n"
}

fn profiles() -> String {
    let mut text = "| profile | `renew` | `hold` | `slack` | `wait` | `drift_permille` |\n|---|---|---|---|---|---|\n".to_owned();
    for profile in ["fast", "default", "single-manager"] {
        let set = format!("failover = \"lease\"\n[lease]\nprofile = \"{profile}\"");
        let times = defaults(&set, Some("lease"));
        let time = |key: &str| &times[key];
        let _ = writeln!(
            text,
            "| `{profile}` | {} | {} | {} | {} | {} |",
            time("renew"),
            time("hold"),
            time("slack"),
            time("wait"),
            time("drift_permille")
        );
    }
    text + "\n"
}

fn arguments(table: Option<&str>) -> Vec<Arg> {
    let of = |command: Command| command.get_arguments().cloned().collect::<Vec<_>>();
    let lease = of(LeaseKeys::augment_args(Command::new("")));
    let tls = of(TlsKeys::augment_args(Command::new("")));
    let admin = of(AdminKeys::augment_args(Command::new("")));
    match table {
        Some("lease") => lease,
        Some("tls") => tls,
        Some(_) => admin,
        None => {
            let in_tables: Vec<_> = [lease, tls, admin]
                .concat()
                .iter()
                .map(|arg| arg.get_id().clone())
                .collect();
            let all = of(Keys::augment_args(Command::new("")));
            all.into_iter()
                .filter(|arg| !in_tables.contains(arg.get_id()))
                .collect()
        }
    }
}

/// A flag is its key with the table before it.
fn key(arg: &Arg, table: Option<&str>) -> String {
    let long = arg.get_long().expect("every key is a flag");
    let prefix = table.map_or_else(String::new, |name| format!("{name}-"));
    long.strip_prefix(&prefix).unwrap_or(long).replace('-', "_")
}

/// What a configuration has in a table, as it would be printed.
fn defaults(set: &str, table: Option<&str>) -> BTreeMap<String, String> {
    let config =
        Config::new(from_toml(set).expect("keys that exist")).expect("a configuration that fits");
    let all: toml::Table = printed(&config).parse().expect("what is printed is TOML");
    let values = match table {
        Some(name) => all
            .get(name)
            .and_then(toml::Value::as_table)
            .cloned()
            .unwrap_or_default(),
        None => all,
    };
    let word = |value: toml::Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    values
        .into_iter()
        .map(|(key, value)| (key, word(value)))
        .collect()
}

fn flag(arg: &Arg) -> String {
    let long = arg.get_long().expect("every one has a flag");
    let name = arg
        .get_value_names()
        .filter(|_| arg.get_action().takes_values());
    let value = name.map_or_else(String::new, |names| format!(" {}", names.join(" ")));
    format!("`--{long}{value}`")
}

fn variable(arg: &Arg) -> String {
    let name = arg.get_env().map(|name| format!("`{}`", name.display()));
    name.unwrap_or_default()
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    for value in arg.get_possible_values() {
        if let Some(help) = value.get_help() {
            let _ = write!(text, "<br>`{}`: {help}", value.get_name());
        }
    }
    text
}

const TABLES: [(Option<&str>, &str); 4] = [
    (None, ""),
    (
        Some("lease"),
        "### `[lease]`\n\nOnly with `failover = \"lease\"`. What is not set is as in the profile, and without a profile it is `default`; times that would let two nodes act at once are refused.\n\n",
    ),
    (
        Some("tls"),
        "### `[tls]`\n\nWithout it only nodes on the same host can connect.\n\n",
    ),
    (Some("admin"), "### `[admin]`\n\n"),
];

const INTRODUCTION: &str = "\
# Configuration

Written by `BLESS=1 cargo test -p ostrakon-cli reference` from the code; do not edit.

## A manager

`ostrakon manager --config manager.toml`. Each key can also be a flag or an environment variable: a flag outdoes a variable, and a variable outdoes the
file. Times are written as `500ms`, `20s` or `2m`. Unknown keys and variables are refused. `ostrakon manager --print-config` prints all that holds, as a
file to begin with; what to choose is in [managed.md](managed.md).

";

const PROFILES: &str = "\
### The profiles of a lease

What the times mean, and which of them fit together, is in [ownership.md](ownership.md).

";

const WITNESS: &str = "\
## A witness

`ostrakon witness`, the vote without entities of [peer.md](peer.md#two-nodes-and-the-witness). Its certificate is that of a node. Without `--admin-listen` it has no
dashboard and no admin API.

";

const OPERATORS: &str = "\
## Operators

What `probe`, `status`, `nodes`, `shards`, `explain`, `drain`, `rebalance`, `rebalancing` and `events` have in common. What each takes besides is in
`ostrakon help VERB`.

";

const NODES: &str = "\
## A node

A node has no file: it is described in code, and `cargo doc --open -p ostrakon` has every setting with its default.

| | |
|---|---|
| `NodeBuilder` | what it hosts and reaches, its groups and singletons |
| `Hosting` | of one kind: mailbox, idle time, active limit, stop deadline, pauses between restarts |
| `Managed` | with managers: where they are, and all that is in [managed.md](managed.md#five-minutes) |
| `Peers` | without: its address, its seeds, its data directory, its lease |
| `Limits` | what links to other nodes may use; the defaults are in [wire.md](wire.md#limits) |
| `Security` | certificates |
";
