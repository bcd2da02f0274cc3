//! `Event`: what can happen.

use std::{collections::BTreeMap, rc::Rc};

use ostrakon_core::{
    Address, ClusterId, Counted, Epoch, Incarnation, Liveness, ShardKey, ShardMap, ToCoordinator,
    ToRegion, TopologyMessage,
};

use crate::{
    fault::Fault,
    log_request::{LogAnswer, LogRequest},
};

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// To a process, if it still runs; to whichever runs there, if none is named.
    At {
        site: usize,
        process: Option<u64>,
        what: Local,
    },
    /// A request reaches the log.
    Log {
        manager: usize,
        number: u64,
        request: LogRequest,
    },
    /// A renewal of a node reaches the storage.
    Renewal {
        site: usize,
        process: u64,
        incarnation: Incarnation,
        counted: Counted,
    },
    /// The lease of a node may have run out.
    Lapse {
        site: usize,
        process: u64,
    },
    /// A fault begins, or several.
    Trouble,
    FaultEnds(Fault),
    Resume {
        site: usize,
        process: u64,
    },
    Restart {
        site: usize,
        process: u64,
    },
    /// An operator moves a shard.
    Move,
    /// An operator sets another policy.
    SetPolicy,
    /// An operator sees to it that two clusters become one.
    JoinClusters {
        ours: ClusterId,
        theirs: ClusterId,
    },
    /// All faults end.
    Calm,
    /// Is all well?
    Look,
}

/// Something that happens to a process.
#[derive(Clone, Debug)]
pub(crate) enum Local {
    ManagerWakes,
    ManagerTicks,
    ManagerHears {
        from: usize,
        message: Box<ToCoordinator>,
    },
    LogAnswers {
        number: u64,
        answer: LogAnswer,
    },
    LogIsLate {
        number: u64,
    },
    Health {
        incarnation: Incarnation,
        answer: Liveness,
    },
    NodeWakes,
    NodeHears(Box<ToRegion>),
    NodeGetsMap(Rc<Told>),
    GossiperWakes,
    GossiperHears(Rc<(Address, TopologyMessage)>),
    /// Nothing runs at this address.
    GossiperIsRefused(Box<Address>),
    /// A client has something to say.
    Client,
    /// A lane may go on.
    Pump {
        shard: usize,
    },
    AskEnds {
        shard: usize,
        message: usize,
    },
    Frame(Frame),
    Answer {
        shard: usize,
        stream: u64,
        message: usize,
        disposition: Disposition,
    },
    StreamBreaks {
        shard: usize,
        stream: u64,
    },
    HandlerEnds {
        shard: usize,
        epoch: Epoch,
        message: usize,
    },
    /// Nothing of a drained shard runs any more.
    Quiet(Box<(ShardKey, Epoch)>),
}

/// What a leader tells all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) map: ShardMap,
    /// By node: its present run.
    pub(crate) runs: BTreeMap<usize, Incarnation>,
}

/// A message on its way to an entity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) message: usize,
    pub(crate) from: usize,
    pub(crate) from_process: u64,
    pub(crate) shard: usize,
    pub(crate) entity: usize,
    pub(crate) epoch: Epoch,
    /// Which connection of the lane, and which frame on it.
    pub(crate) stream: u64,
    pub(crate) nth: u64,
}

/// What an owner says about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// It was handled.
    Done,
    /// It was not handled and will not be.
    Nack,
    /// It was begun and not finished.
    Lost,
}

impl Event {
    /// What tells it from others, as numbers.
    pub(crate) fn facts(&self) -> [u64; 3] {
        match self {
            Self::At {
                site,
                process,
                what,
            } => [what.code(), *site as u64, process.unwrap_or_default()],
            Self::Log {
                manager, number, ..
            } => [100, *manager as u64, *number],
            Self::Renewal { site, counted, .. } => [111, *site as u64, counted.seq],
            Self::Lapse { site, process } => [101, *site as u64, *process],
            Self::Trouble => [102, 0, 0],
            Self::FaultEnds(_) => [103, 0, 0],
            Self::Resume { site, process } => [104, *site as u64, *process],
            Self::Restart { site, process } => [105, *site as u64, *process],
            Self::Move => [106, 0, 0],
            Self::SetPolicy => [107, 0, 0],
            Self::JoinClusters { .. } => [110, 0, 0],
            Self::Calm => [108, 0, 0],
            Self::Look => [109, 0, 0],
        }
    }
}

impl Local {
    fn code(&self) -> u64 {
        match self {
            Self::ManagerWakes => 1,
            Self::ManagerTicks => 2,
            Self::ManagerHears { from, .. } => 3 + (*from as u64) * 1000,
            Self::LogAnswers { number, .. } => 4 + number * 1000,
            Self::LogIsLate { number } => 5 + number * 1000,
            Self::Health { incarnation, .. } => 6 + incarnation.get() * 1000,
            Self::NodeWakes => 7,
            Self::NodeHears(_) => 8,
            Self::NodeGetsMap(told) => 9 + told.map.version().get() * 1000,
            Self::Client => 10,
            Self::Pump { shard } => 11 + (*shard as u64) * 1000,
            Self::AskEnds { message, .. } => 12 + (*message as u64) * 1000,
            Self::Frame(frame) => 13 + (frame.message as u64) * 1000,
            Self::Answer { message, .. } => 14 + (*message as u64) * 1000,
            Self::StreamBreaks { stream, .. } => 15 + stream * 1000,
            Self::HandlerEnds { message, .. } => 16 + (*message as u64) * 1000,
            Self::Quiet(shard) => 17 + shard.1.get() * 1000,
            Self::GossiperWakes => 18,
            Self::GossiperHears(word) => 19 + word.1.run * 1000,
            Self::GossiperIsRefused(_) => 20,
        }
    }
}
