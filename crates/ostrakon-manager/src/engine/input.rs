//! `Input`: what an engine is told.

use ostrakon_control::{FromManager, FromNode, Mouth, Seat};
use ostrakon_core::{
    AppendOutcome, ConfirmOutcome, Entry, Incarnation, Index, Liveness, NodeName, PlannedMove,
};
use ostrakon_storage::{Head, Read, Renewal};
use tokio::sync::oneshot;

use crate::desk::{Wish, WishError};

/// What has happened.
pub(crate) enum Input {
    Arrived {
        line: u64,
        name: NodeName,
        seat: Seat,
        mouth: Mouth<FromManager>,
    },
    Heard {
        line: u64,
        words: FromNode,
    },
    /// A caller has gone.
    Hung {
        line: u64,
    },
    /// Where those are who may decide.
    Deciders(Vec<String>),
    /// It has been elected, or is no longer.
    Election,
    /// Something may be new in the log.
    LogMoved,
    Read(Read),
    ReadEnded {
        ok: bool,
    },
    AppendEnded {
        id: u64,
        after: Index,
        entries: Vec<Entry>,
        outcome: AppendOutcome,
    },
    Confirmed {
        id: u64,
        outcome: ConfirmOutcome,
    },
    /// How far nodes have counted their leases.
    Leases(Vec<(Incarnation, Renewal)>),
    /// The end of the log, if it could be read.
    Looked(Option<Head>),
    /// The same, for those who were heard before it was asked for.
    LogEnds(Option<Index>),
    Health {
        incarnation: Incarnation,
        answer: Liveness,
    },
    Wish {
        wish: Wish,
        answer: oneshot::Sender<Result<(), WishError>>,
    },
    Plan {
        answer: oneshot::Sender<Result<Vec<PlannedMove>, WishError>>,
    },
    /// Somebody wants to know whether this goes on.
    Knock {
        answer: oneshot::Sender<()>,
    },
}
