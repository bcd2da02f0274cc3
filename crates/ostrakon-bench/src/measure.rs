//! What is measured, and for how long.
//!
//! These are names and sizes only: who takes part is in `entrants`, the conditions
//! in `case`, the loops in `workload` and `remote`, the order of runs in `harness`,
//! what the numbers should be in `line`.

use std::io;
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
    /// One caller, another process; bodies of 32 bytes unless said otherwise.
    #[value(name = "remote_ask_1")]
    RemoteAsk1,
    /// 64 callers.
    #[value(name = "remote_ask_64")]
    RemoteAsk64,
    /// 256 callers.
    #[value(name = "remote_ask_256")]
    RemoteAsk256,
    /// 1,024 callers.
    #[value(name = "remote_ask_1024")]
    RemoteAsk1024,
    /// 256 callers, bodies of 4 KiB.
    #[value(name = "remote_ask_256_4k")]
    RemoteAsk256Of4K,
    /// One producer that does not wait, one entity.
    #[value(name = "remote_tell")]
    RemoteTell,
    /// The same with bodies of 4 KiB.
    #[value(name = "remote_tell_4k")]
    RemoteTell4K,
    /// One answer of many items.
    #[value(name = "remote_stream")]
    RemoteStream,
    /// The same with items of 4 KiB.
    #[value(name = "remote_stream_4k")]
    RemoteStream4K,
    /// 256 callers with encryption beside the same without.
    #[value(name = "remote_tls")]
    RemoteTls,
    /// The same with bodies of 4 KiB.
    #[value(name = "remote_tls_4k")]
    RemoteTls4K,
    /// One caller while another sends messages of 2 MiB; and the heartbeats meanwhile.
    #[value(name = "remote_burst")]
    RemoteBurst,
    /// Who gets which shard, for groups and clusters of all sizes.
    #[value(name = "plan")]
    Plan,
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

    pub(crate) fn group(self) -> Group {
        match self {
            Self::Tell
            | Self::TellUnbounded
            | Self::Ask1
            | Self::Ask64
            | Self::Ask64Over1000
            | Self::Ask64Over1000ById => Group::Local,
            Self::Hot => Group::Hot,
            Self::Memory => Group::Memory,
            Self::RemoteAsk1
            | Self::RemoteAsk64
            | Self::RemoteAsk256
            | Self::RemoteAsk1024
            | Self::RemoteAsk256Of4K
            | Self::RemoteTell
            | Self::RemoteTell4K
            | Self::RemoteStream
            | Self::RemoteStream4K
            | Self::RemoteTls
            | Self::RemoteTls4K
            | Self::RemoteBurst => Group::Remote,
            Self::Plan => Group::Planner,
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
    /// ask, tell and streams between two processes
    Remote,
    /// who gets which shard
    Planner,
}

impl Group {
    /// Whom its rows show beside ours and the limits.
    pub(crate) fn peers(self) -> &'static [Name] {
        match self {
            Self::Local | Self::Memory | Self::Hot => &[Name::Kameo, Name::Ractor, Name::Actix],
            Self::Remote => &[Name::Tonic, Name::Ractor, Name::Kameo, Name::Coerce],
            Self::Planner => &[],
        }
    }
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
    pub(crate) fn label(self) -> String {
        label(&self)
    }

    pub(crate) fn start(self) -> io::Result<tokio::runtime::Runtime> {
        let mut builder = match self {
            Self::Mt => tokio::runtime::Builder::new_multi_thread(),
            Self::Ct => tokio::runtime::Builder::new_current_thread(),
        };
        // Ignored by the current-thread runtime.
        builder.worker_threads(2);
        builder.enable_all().build()
    }
}

/// What lies between two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Link {
    /// TCP.
    Plain,
    /// The same, with heartbeats so often that a short run sees several.
    Watched,
    /// TLS.
    Tls,
}

impl Link {
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
            (Name::Ours | Name::Limit | Name::Framed, _) => 1_000_000,
            (Name::Kameo | Name::Ractor | Name::Actix | Name::Tonic | Name::Coerce, Self::Full) => {
                100_000
            }
            (
                Name::Kameo | Name::Ractor | Name::Actix | Name::Tonic | Name::Coerce,
                Self::Quick,
            ) => 20_000,
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
