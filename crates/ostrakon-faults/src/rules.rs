//! What the proxy currently does to its traffic: a passive value that the test's side changes and
//! every lane reads. It holds no bytes and no counts.

use std::time::Duration;

use crate::{Chaos, Direction, fate::Blow};

#[derive(Debug)]
pub(crate) struct Rules {
    /// By direction.
    pub(crate) stalled: [bool; 2],
    pub(crate) refusing: bool,
    pub(crate) delay: Duration,
    pub(crate) bytes_per_second: Option<u32>,
    /// By direction: how many coming chunks are to be corrupted.
    pub(crate) corrupt_next: [u32; 2],
    /// By direction: how many coming chunks are to be truncated.
    pub(crate) truncate_next: [u32; 2],
    pub(crate) chaos: Chaos,
    /// Grows with every cut: a link whose generation has passed is to end.
    pub(crate) generation: u64,
}

impl Rules {
    pub(crate) const fn passing() -> Self {
        Self {
            stalled: [false; 2],
            refusing: false,
            delay: Duration::ZERO,
            bytes_per_second: None,
            corrupt_next: [0; 2],
            truncate_next: [0; 2],
            chaos: Chaos::none(0),
            generation: 0,
        }
    }

    /// Ends every state set by hand. Chaos has its own switch, and an order for a coming chunk stands
    /// until it is met: it may be meant for the very chunk that is now let go.
    pub(crate) const fn pass(&mut self) {
        self.stalled = [false; 2];
        self.refusing = false;
        self.delay = Duration::ZERO;
        self.bytes_per_second = None;
    }

    pub(crate) const fn is_stalled(&self, direction: Direction) -> bool {
        self.stalled[direction as usize]
    }

    /// Uses up one of the blows ordered by hand.
    pub(crate) fn take_ordered(&mut self, direction: Direction) -> Option<Blow> {
        let way = direction as usize;
        let (left, blow) = if self.corrupt_next[way] > 0 {
            (&mut self.corrupt_next[way], Blow::Corrupt)
        } else {
            (&mut self.truncate_next[way], Blow::Truncate)
        };
        *left = left.checked_sub(1)?;
        Some(blow)
    }
}
