//! The keys that are a choice between a few words.

use clap::ValueEnum;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placing {
    /// As soon as there is a node for them
    AtOnce,
    /// When somebody first asks for them
    AtFirstAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    /// That it is dead
    Proof,
    /// That it is dead, or that its lease has run out
    Lease,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Profile {
    /// Several managers, in one data centre
    Fast,
    /// Several managers
    Default,
    /// One manager, which may be away for a while
    SingleManager,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Witness {
    /// The kernel for nodes on the same host, else a ping
    Auto,
    /// The kernel, for nodes on the same host
    Process,
    /// A connection that is accepted or not; never proof
    Ping,
    /// The Kubernetes API, for nodes in pods
    Kubernetes,
}
