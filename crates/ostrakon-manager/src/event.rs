//! `ClusterEvent`: something that has happened in the cluster, for people and tools.

use std::time::SystemTime;

use ostrakon_core::{
    Change, ControlState, DeathProof, Epoch, Failover, GroupName, Incarnation, Index, NodeName,
    Rebalancing, ShardKey, Term,
};
use serde::Serialize;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClusterEvent {
    /// Counts the events of this manager: each has its own, without gaps.
    pub number: u64,
    /// The entry of the log that made it so; `None` for what is not in the log.
    pub index: Option<Index>,
    /// When this manager learned of it, in milliseconds since 1970.
    pub at_ms: u64,
    /// What has happened.
    #[serde(flatten)]
    pub what: Happening,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A manager leads from now on.
    Leads {
        /// Which manager.
        manager: NodeName,
        /// In which term.
        term: Term,
    },
    /// A node has joined.
    Joined {
        /// Which node.
        node: NodeName,
        /// Which run of it.
        incarnation: Incarnation,
        /// Which version of its program.
        version: String,
        /// Where it is.
        address: String,
    },
    /// A node wants to go: its shards are moved away.
    Leaving {
        /// Which node.
        node: NodeName,
        /// Which run of it.
        incarnation: Incarnation,
    },
    /// A node is gone.
    Ended {
        /// Which node.
        node: NodeName,
        /// Which run of it.
        incarnation: Incarnation,
        /// How it is known.
        reason: String,
    },
    /// A node is silent, and nobody can prove that it is dead: its shards wait.
    Silent {
        /// Which node.
        node: NodeName,
        /// Which run of it.
        incarnation: Incarnation,
        /// What to do about it.
        remedy: String,
    },
    /// A silent node has been heard again.
    HeardAgain {
        /// Which node.
        node: NodeName,
        /// Which run of it.
        incarnation: Incarnation,
    },
    /// A node knows more of the log than there is of it: nothing is granted.
    Ahead {
        /// Which node.
        node: NodeName,
        /// The last entry that it knows.
        knows: Index,
        /// Where the log ends.
        ends: Index,
        /// What to do about it.
        remedy: String,
    },
    /// A shard is to be given up by its owner.
    MoveBegan {
        /// Which shard.
        shard: ShardKey,
        /// By whom.
        from: NodeName,
        /// To whom, if that is decided.
        to: Option<NodeName>,
        /// Why.
        reason: String,
    },
    /// A shard has been given up, or its owner has ended.
    Freed {
        /// Which shard.
        shard: ShardKey,
        /// Which ownership of it.
        epoch: Epoch,
    },
    /// A shard has an owner.
    Granted {
        /// Which shard.
        shard: ShardKey,
        /// Whose it is.
        to: NodeName,
        /// Which ownership of it.
        epoch: Epoch,
    },
    /// The rules have changed.
    PolicySet {
        /// What must be known before a silent node's shards are given to others: `proof` or `lease`.
        failover: &'static str,
        /// Whether shards are moved for the sake of balance.
        rebalancing: Rebalancing,
    },
    /// There is a new group of shards.
    GroupCreated {
        /// Which group.
        group: GroupName,
    },
}

impl Happening {
    /// The shard that it is about.
    pub fn shard(&self) -> Option<&ShardKey> {
        match self {
            Self::MoveBegan { shard, .. }
            | Self::Freed { shard, .. }
            | Self::Granted { shard, .. } => Some(shard),
            Self::Leads { .. }
            | Self::Joined { .. }
            | Self::Leaving { .. }
            | Self::Ended { .. }
            | Self::Silent { .. }
            | Self::HeardAgain { .. }
            | Self::Ahead { .. }
            | Self::PolicySet { .. }
            | Self::GroupCreated { .. } => None,
        }
    }

    /// What a change of the log means to people; names are looked up in the state before and after.
    pub(crate) fn of(change: Change, before: &Names<'_>, after: &ControlState) -> Self {
        let name = |incarnation: Incarnation| {
            let member = after.member(incarnation);
            let member = member.map(|member| member.registration.name.clone());
            member.or_else(|| before.of(incarnation))
        };
        let named = |incarnation| name(incarnation).unwrap_or_else(|| unknown(incarnation));
        match change {
            Change::TookOver { grantor, term, .. } => Self::Leads {
                manager: grantor,
                term,
            },
            Change::Registered { incarnation, .. } => {
                let registration = after.member(incarnation).map(|member| &member.registration);
                Self::Joined {
                    node: named(incarnation),
                    incarnation,
                    version: registration.map_or_else(String::new, |r| r.version.to_string()),
                    address: registration.map_or_else(String::new, |r| r.address.to_string()),
                }
            }
            Change::Leaving { incarnation } => Self::Leaving {
                node: named(incarnation),
                incarnation,
            },
            Change::Ended {
                incarnation,
                name,
                proof,
            } => Self::Ended {
                node: name,
                incarnation,
                reason: reason(proof),
            },
            Change::MoveBegan { shard, by, to, .. } => Self::MoveBegan {
                shard,
                from: named(by),
                to: to.and_then(name),
                reason: why_it_moves(by, to, after),
            },
            Change::Freed { shard, epoch, .. } => Self::Freed { shard, epoch },
            Change::Granted { shard, to, epoch } => Self::Granted {
                shard,
                to: named(to),
                epoch,
            },
            Change::PolicySet => Self::PolicySet {
                failover: match after.policy().failover {
                    Failover::Proof => "proof",
                    Failover::Lease(_) => "lease",
                },
                rebalancing: after.policy().rebalancing,
            },
            Change::GroupCreated { group } => Self::GroupCreated { group },
        }
    }
}

/// The names of runs that an entry may end.
pub(crate) struct Names<'s>(pub(crate) &'s [(Incarnation, NodeName)]);

impl Names<'_> {
    fn of(&self, incarnation: Incarnation) -> Option<NodeName> {
        let found = self.0.iter().find(|(run, _)| *run == incarnation);
        found.map(|(_, name)| name.clone())
    }
}

fn unknown(incarnation: Incarnation) -> NodeName {
    NodeName::new(format!("run-{}", incarnation.get())).expect("letters and digits")
}

fn reason(proof: Option<DeathProof>) -> String {
    match proof {
        None => "its lease ran out".to_owned(),
        Some(DeathProof::Left) => "it left".to_owned(),
        Some(DeathProof::ProcessGone) => "its process is gone".to_owned(),
        Some(DeathProof::Platform(word)) => format!("the platform says so: {word}"),
        Some(DeathProof::Operator(word)) => format!("an operator says so: {word}"),
    }
}

fn why_it_moves(by: Incarnation, to: Option<Incarnation>, state: &ControlState) -> String {
    let from = state.member(by);
    if from.is_some_and(|member| member.state == ostrakon_core::MemberState::Leaving) {
        return "its owner leaves".to_owned();
    }
    let version = |run| {
        state
            .member(run)
            .map(|member| member.registration.version.numbers())
    };
    match to {
        Some(to) if version(to) > version(by) => "to a newer version".to_owned(),
        Some(_) | None => "balance".to_owned(),
    }
}

pub(crate) fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_1970.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
}
