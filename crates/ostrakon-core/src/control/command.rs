//! `Command`: what can be written into the control log.
//!
//! A command is a wish: whether it comes true is decided when it is applied, by the state it meets then. Its serialized form is what
//! lies in storage, so names and fields are never changed, only added.

use serde::{Deserialize, Serialize};

use super::{Policy, Registration};
use crate::{Epoch, GroupName, Incarnation, NodeName, RoleName, ShardCount, ShardKey, Term};

/// A command, and the leadership under which it was proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Whoever proposed it believed to lead in this term. A later takeover makes it void.
    pub term: Term,
    /// What is to be done.
    pub command: Command,
}

/// A change to members, shards or rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// From here on this coordinator leads; the index of the entry is its term.
    Takeover {
        /// Who leads.
        grantor: NodeName,
        /// Which run of it: tells its own takeover from one of its predecessor's.
        run: u64,
    },
    /// A node begins; the index of the entry is its incarnation.
    Register(Registration),
    /// A node wants to go: it gets nothing more, and what it has is moved away.
    Leave {
        /// Which run of the node.
        incarnation: Incarnation,
    },
    /// A silent node has surely stopped acting, because its lease has run out.
    Expire {
        /// Which run of the node.
        incarnation: Incarnation,
    },
    /// A node is known to be gone.
    ConfirmDead {
        /// Which run of the node.
        incarnation: Incarnation,
        /// How it is known.
        proof: DeathProof,
    },
    /// Owners shall give these shards up.
    BeginMove(Vec<Moving>),
    /// Owners have given these shards up.
    Released(Vec<Handover>),
    /// These shards get owners; the index of the entry is their epoch.
    Grant(Vec<Granting>),
    /// The rules change.
    SetPolicy(Policy),
    /// There is a new group of shards.
    CreateGroup(GroupSpec),
}

/// A shard that its owner shall give up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moving {
    /// Which shard.
    pub shard: ShardKey,
    /// Which ownership of it.
    pub epoch: Epoch,
    /// Who shall have it next; `None` if that is decided later.
    pub to: Option<Incarnation>,
}

/// A shard that its owner has given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// Which shard.
    pub shard: ShardKey,
    /// Which ownership of it.
    pub epoch: Epoch,
}

/// A shard that gets an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granting {
    /// Which shard.
    pub shard: ShardKey,
    /// Who shall own it.
    pub to: Incarnation,
}

/// A shard group as it was created: it never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSpec {
    /// Its name.
    pub name: GroupName,
    /// How many shards it has.
    pub count: ShardCount,
    /// The name of its hash.
    pub hash: String,
    /// Only nodes with this role hold its shards.
    pub role: Option<RoleName>,
}

/// How it is known that a run of a node is over. A ping that fails, a closed connection or a missing entry somewhere is none of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeathProof {
    /// It said goodbye itself, after it had given everything up.
    Left,
    /// The operating system of its host says that the process is gone.
    ProcessGone,
    /// Whoever runs it says that it is gone: an orchestrator, a cloud.
    Platform(String),
    /// An operator has checked it.
    Operator(String),
}

impl std::fmt::Display for GroupSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            name: _,
            count,
            hash,
            role,
        } = self;
        write!(f, "{count} shards by {hash}")?;
        match role {
            Some(role) => write!(f, " on {role} nodes"),
            None => Ok(()),
        }
    }
}
