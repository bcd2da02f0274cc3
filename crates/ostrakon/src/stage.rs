//! `Stage`: how far an ask has come, and who may still decide its outcome.
//!
//! ```text
//!   waiting ──▶ running ──▶ kept ──▶ settled
//!      └───────────┴─────────┴─────▶ abandoned   (the asker is gone)
//! ```
//!
//! It is changed by compare-and-swap only. Invariant: an ask leaves the open stages (the first three) exactly once, and whoever
//! moved it decides.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

pub(crate) struct Stage {
    now: AtomicU8,
    /// Live copies of the reply.
    copies: AtomicU32,
}

/// The message waits for its turn.
const WAITING: u8 = 0;
/// A handler has it, or it is on its way to another node.
const RUNNING: u8 = 1;
/// The handler ended well and somebody kept the reply: the answer may come later.
const KEPT: u8 = 2;
/// Answered or failed.
const SETTLED: u8 = 3;
/// The asker is gone.
const ABANDONED: u8 = 4;

/// What an ask was when somebody tried to close it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// It was open, and its message had not had its turn.
    Waiting,
    /// It was open, and its message may have been handled.
    Running,
    /// Somebody else was faster.
    Settled,
    Abandoned,
}

impl Stage {
    pub(crate) fn new(copies: u32) -> Self {
        Self {
            now: AtomicU8::new(WAITING),
            copies: AtomicU32::new(copies),
        }
    }

    /// An ask whose message has been handled: only whoever holds the reply speaks for it.
    pub(crate) fn kept() -> Self {
        Self {
            now: AtomicU8::new(KEPT),
            copies: AtomicU32::new(0),
        }
    }

    /// Moves from one stage to another. `false`: it was in a different one.
    fn advance(&self, from: u8, to: u8) -> bool {
        let swapped = self
            .now
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        swapped.is_ok()
    }

    fn close(&self, to: u8) -> Closed {
        let closed = self
            .now
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |stage| {
                (stage < SETTLED).then_some(to)
            });
        match closed {
            Ok(WAITING) => Closed::Waiting,
            Ok(_) => Closed::Running,
            Err(SETTLED) => Closed::Settled,
            Err(_) => Closed::Abandoned,
        }
    }

    fn now(&self) -> u8 {
        self.now.load(Ordering::Acquire)
    }

    /// There is an outcome, unless there was one before.
    pub(crate) fn settle(&self) -> Closed {
        self.close(SETTLED)
    }

    /// The asker is gone.
    pub(crate) fn abandon(&self) -> Closed {
        self.close(ABANDONED)
    }

    /// From now on nobody can say that the message was surely not handled.
    pub(crate) fn set_out(&self) {
        self.advance(WAITING, RUNNING);
    }

    /// The message's turn has come. `false`: nobody wants it any more.
    pub(crate) fn begin(&self) -> bool {
        self.advance(WAITING, RUNNING) || self.now() != ABANDONED
    }

    /// The handler ended well. `true`: nobody has answered, and nobody can any more.
    #[must_use]
    pub(crate) fn handled(&self) -> bool {
        // The last copy may be dropped right after we look: then it sees that the reply is kept, and speaks itself.
        self.now() == RUNNING
            && self.advance(RUNNING, KEPT)
            && self.copies.load(Ordering::Acquire) == 0
    }

    /// Whether the runtime, which lets go of the message, must speak for it.
    pub(crate) fn is_unhandled(&self) -> bool {
        self.now() < KEPT
    }

    pub(crate) fn is_open(&self) -> bool {
        self.now() < SETTLED
    }

    pub(crate) fn copied(&self) {
        self.copies.fetch_add(1, Ordering::Relaxed);
    }

    /// A copy of the reply is gone. `true`: it was the last, and nobody else will answer.
    ///
    /// Before its turn is over the runtime speaks for the message: it knows better why there is no answer.
    #[must_use]
    pub(crate) fn dropped(&self) -> bool {
        self.copies.fetch_sub(1, Ordering::AcqRel) == 1 && self.now() == KEPT
    }
}
