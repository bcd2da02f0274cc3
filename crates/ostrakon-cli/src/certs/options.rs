//! `Options`: which certificate to make, for whom, where and for how long.
//!
//! Names and times are checked while they are read, so that nothing is touched if one of them makes no sense.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use ostrakon_tls::{Identity, Role};

/// The arguments of `ostrakon certs`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Subcommand, Debug)]
pub(crate) enum What {
    /// Make the authority of a cluster: once, before everything else
    Ca(Ca),
    /// Issue or renew the certificate of a node
    Node(Leaf),
    /// Issue or renew the certificate of a manager
    Manager(Leaf),
    /// Issue or renew the certificate of a client, which talks to entities and hosts none
    Client(Leaf),
    /// Issue or renew the certificate of an operator or a tool
    Admin(Leaf),
}

#[derive(Args, Debug)]
pub(crate) struct Ca {
    /// What the cluster is called; certificates of other clusters are refused
    #[arg(long, value_name = "NAME", value_parser = cluster)]
    pub(crate) cluster: String,
    /// The folder to write ca.pem and ca.key to
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DIR)]
    pub(crate) dir: PathBuf,
    /// How long it is valid; nothing it issues lasts longer
    #[arg(long, value_name = "N", default_value = "3650", value_parser = clap::value_parser!(u32).range(1..=MAX_DAYS))]
    pub(crate) days: u32,
    /// Replace the authority that is there: everything it issued must be issued again
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Leaf {
    /// What it is called, such as node-1; a node joins the cluster under this name
    #[arg(value_parser = name)]
    pub(crate) name: String,
    /// The folder with ca.pem and ca.key, to write NAME.pem and NAME.key to
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DIR)]
    pub(crate) dir: PathBuf,
    /// How long it is valid
    #[arg(long, value_name = "N", default_value = "365", value_parser = clap::value_parser!(u32).range(1..=MAX_DAYS))]
    pub(crate) days: u32,
}

impl Ca {
    pub(crate) fn lasts(&self) -> Duration {
        days(self.days)
    }
}

impl Leaf {
    pub(crate) fn lasts(&self) -> Duration {
        days(self.days)
    }
}

fn days(number: u32) -> Duration {
    Duration::from_secs(u64::from(number) * 86_400)
}

fn cluster(text: &str) -> Result<String, String> {
    match Identity::new(text, Role::Node, "anybody") {
        Ok(_) => Ok(text.to_owned()),
        Err(invalid) => Err(invalid.to_string()),
    }
}

fn name(text: &str) -> Result<String, String> {
    // Not on every file system do capitals make another file.
    if text.eq_ignore_ascii_case("ca") {
        return Err("that is the name of the authority's own files: choose another".to_owned());
    }
    match Identity::new("any", Role::Node, text) {
        Ok(_) => Ok(text.to_owned()),
        Err(invalid) => Err(invalid.to_string()),
    }
}

pub(crate) const DEFAULT_DIR: &str = "certs";

const MAX_DAYS: i64 = 36_500;

const EXAMPLES: &str = "\
One authority signs every certificate of a cluster. Nodes, clients and operators each have a
certificate, which says who they are; they talk to nobody whose certificate another authority
signed. Keep ca.key where only you can read it: no node needs it.

Renewing is issuing again: the same command replaces NAME.pem and NAME.key.

Exit code: 0 if the files were written, 1 if they could not be, 2 for arguments that make no sense.

Examples, from nothing to a cluster of two nodes, one client and one operator:
  ostrakon certs ca --cluster prod
  ostrakon certs node node-1
  ostrakon certs node node-2
  ostrakon certs client shop --days 90
  ostrakon certs admin alice
Give node-1 the files ca.pem, node-1.pem and node-1.key from the folder certs, and so on.";
