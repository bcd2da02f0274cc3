//! What a test says to its processes, and they to it: one line each.

use std::{collections::BTreeMap, time::Duration};

use ostrakon::{EntityId, MemberStatus, Outcome, ShardCount, ShardGroup};
use serde::{Deserialize, Serialize};

/// The variable that makes the test binary a node; it holds a [`Role`].
pub(crate) const ROLE: &str = "OSTRAKON_TEST_PROCESS";
/// Begins the lines that are meant for the parent: the test harness writes others.
pub(crate) const MARK: &str = "@ ";

/// What a process is told when it starts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Role {
    pub(crate) name: String,
    /// After how much silence another node counts as gone.
    pub(crate) silence: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    Introduce {
        peer: String,
        address: String,
    },
    /// Takes over a map in which these nodes own the shards in turn.
    Adopt {
        owners: Vec<String>,
    },
    /// Puts something on a desk, by an ask.
    Ask {
        desk: String,
        entry: u64,
        within: Duration,
    },
    /// Asks again and again for so long; reported are how often, and the milliseconds of the slowest.
    KeepAsking {
        desk: String,
        time: Duration,
    },
    /// Puts things on a desk, by tells.
    Tell {
        desk: String,
        entries: Vec<u64>,
    },
    Entries {
        desk: String,
    },
    /// Asks a desk that waits for the gate.
    Wait {
        desk: String,
        within: Duration,
    },
    /// Reported when so many desks of this process wait.
    GateReached {
        count: u64,
    },
    OpenGate,
    Stream {
        desk: String,
        to: u64,
    },
    /// Puts something on the desk that every node has joined to the topic.
    TellTopic {
        entry: u64,
    },
    /// Asks each of those desks how many there are, with one more.
    AskTopic,
    /// Reported when the node knows a node to be in this state.
    See {
        peer: String,
        status: Status,
    },
    Leave,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The node runs and listens here.
    Ready(String),
    Done,
    Number(u64),
    Numbers(Vec<u64>),
    PerNode(BTreeMap<String, u64>),
    Failed(Ending, String),
}

/// [`Outcome`], as it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ending {
    Executed,
    NotExecuted,
    FailedInHandler,
    Unknown,
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Executed => Self::Executed,
            Outcome::NotExecuted => Self::NotExecuted,
            Outcome::FailedInHandler => Self::FailedInHandler,
            Outcome::Unknown => Self::Unknown,
        }
    }
}

/// [`MemberStatus`], as it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Status {
    Up,
    Leaving,
    Down,
}

impl From<Status> for MemberStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Up => Self::Up,
            Status::Leaving => Self::Leaving,
            Status::Down => Self::Down,
        }
    }
}

pub(crate) fn group() -> ShardGroup {
    ShardGroup {
        count: ShardCount::new(12).unwrap(),
        ..ShardGroup::default()
    }
}

/// Desks of one of these nodes, where they own the shards in turn.
pub(crate) fn desks_on(owner: &str, owners: &[&str]) -> impl Iterator<Item = String> {
    let place = owners.iter().position(|name| *name == owner).unwrap();
    let count = owners.len();
    (0..).map(|n| format!("desk-{n}")).filter(move |desk| {
        let shard = group().shard_of(&EntityId::new(desk).unwrap()).unwrap();
        shard.index() % count == place
    })
}
