//! What is measured, on which runtime, for how long.
//!
//! These are names and sizes only: the loops are in `workload`, the order of
//! runs in `harness`, what the numbers should be in `target`.

use std::time::Duration;

use clap::ValueEnum;

use crate::contenders::Name;

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// One producer to one entity.
    #[value(name = "tell")]
    Tell,
    /// The same over an unbounded tokio channel, for reference.
    #[value(name = "tell_unbounded")]
    TellUnbounded,
    /// One caller, one entity.
    #[value(name = "ask_1")]
    Ask1,
    /// 64 callers, one entity.
    #[value(name = "ask_64")]
    Ask64,
    /// 64 callers, each call to a random one of 1,000 prepared handles.
    #[value(name = "ask_64_1000")]
    Ask64Over1000,
    /// The same, with the handle looked up by its string id in every call.
    #[value(name = "ask_64_1000_by_id")]
    Ask64Over1000ById,
    /// What a flooded entity does to its neighbours.
    #[value(name = "hot")]
    Hot,
    /// Idle entities: their size and the rate of their creation.
    #[value(name = "memory")]
    Memory,
}

impl Measure {
    /// The measures of `groups`, or all when none is named.
    pub(crate) fn selected(groups: &[Group]) -> Vec<Self> {
        Self::value_variants()
            .iter()
            .copied()
            .filter(|measure| groups.is_empty() || groups.contains(&measure.group()))
            .collect()
    }

    fn group(self) -> Group {
        match self {
            Self::Tell
            | Self::TellUnbounded
            | Self::Ask1
            | Self::Ask64
            | Self::Ask64Over1000
            | Self::Ask64Over1000ById => Group::Local,
            Self::Hot => Group::Hot,
            Self::Memory => Group::Memory,
        }
    }

    /// Who takes part, in the order of their turns.
    pub(crate) fn contenders(self) -> &'static [Name] {
        const ALL: &[Name] = &[
            Name::Limit,
            Name::Ours,
            Name::Kameo,
            Name::Ractor,
            Name::Actix,
        ];
        match self {
            Self::TellUnbounded => &[Name::Limit],
            Self::Hot => &[Name::Limit, Name::Ours],
            Self::Tell
            | Self::Ask1
            | Self::Ask64
            | Self::Ask64Over1000
            | Self::Ask64Over1000ById
            | Self::Memory => ALL,
        }
    }

    /// As on the command line and in the tables.
    pub(crate) fn label(self) -> String {
        label(&self)
    }
}

/// What `--only` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// tell and ask
    Local,
    /// idle entities
    Memory,
    /// one flooded entity and its neighbours
    Hot,
}

/// Which tokio runtime the contender runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Runtime {
    /// Multi-thread, two workers.
    Mt,
    /// Current thread.
    Ct,
}

impl Runtime {
    pub(crate) const ALL: [Self; 2] = [Self::Mt, Self::Ct];

    pub(crate) fn label(self) -> String {
        label(&self)
    }
}

/// How thorough a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Numbers worth quoting.
    Full,
    /// Proof that everything runs.
    Quick,
}

impl Pace {
    pub(crate) fn rounds(self) -> usize {
        match self {
            Self::Full => 5,
            Self::Quick => 2,
        }
    }

    /// How long one measured loop lasts.
    pub(crate) fn length(self) -> Duration {
        match self {
            Self::Full => Duration::from_secs(1),
            Self::Quick => Duration::from_millis(300),
        }
    }

    /// How many idle entities `name` has to hold. Peers hold fewer, because at
    /// several kilobytes each a million would only measure the page fault.
    pub(crate) fn crowd(self, name: Name) -> u64 {
        match (name, self) {
            (Name::Ours | Name::Limit, _) => 1_000_000,
            (Name::Kameo | Name::Ractor | Name::Actix, Self::Full) => 100_000,
            (Name::Kameo | Name::Ractor | Name::Actix, Self::Quick) => 20_000,
        }
    }
}

/// The command-line name of a value that clap knows.
pub(crate) fn label(value: &impl ValueEnum) -> String {
    value
        .to_possible_value()
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}
