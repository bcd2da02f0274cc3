//! `LogRequest`: what a manager wants of the log and of whoever keeps it, and what it is told.

use std::rc::Rc;

use ostrakon_core::{AppendOutcome, ConfirmOutcome, Counted, Entry, Incarnation, Index, Term};

/// What a manager wants of the log.
#[derive(Clone, Debug)]
pub(crate) enum LogRequest {
    Append {
        id: u64,
        after: Index,
        /// Up to where the asker knows the log.
        known: Index,
        entries: Vec<Rc<Entry>>,
        /// How far those must have counted their leases whom it ends, and no further.
        unmoved: Vec<(Incarnation, Counted)>,
        /// Who leads among peers, as the asker believes.
        leads: Option<u64>,
    },
    Confirm {
        id: u64,
        term: Option<Term>,
        leads: Option<u64>,
    },
    Read {
        from: Index,
        reader: Reader,
    },
    Beat {
        term: Term,
    },
    /// How far nodes have counted their leases.
    Leases,
}

/// Who wants to know what is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The coordinator, which waits for it.
    Coordinator,
    /// Whoever drives it, now and then.
    Driver,
}

/// What the log says.
#[derive(Clone, Debug)]
pub(crate) enum LogAnswer {
    Appended {
        id: u64,
        outcome: AppendOutcome,
        /// Everything behind what the asker knew.
        entries: Vec<(Index, Rc<Entry>)>,
    },
    Confirmed {
        id: u64,
        outcome: ConfirmOutcome,
    },
    Entries {
        entries: Vec<(Index, Rc<Entry>)>,
        beat: (Term, u64),
        reader: Reader,
    },
    Beaten,
    /// It was not appended: one whom it would have ended has counted its lease.
    Renewed {
        id: u64,
    },
    Leases(Vec<(Incarnation, Counted)>),
    /// It was surely not done.
    Unavailable,
}
