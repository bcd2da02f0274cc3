//! The callers that wait for an answer, by the number of their request.
//!
//! Numbers are used again, so the table is as long as the most calls that were
//! ever in flight at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Body;

/// Who waits for which answer.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Seats>);

#[derive(Default)]
struct Seats {
    callers: Vec<Option<oneshot::Sender<Body>>>,
    free: Vec<usize>,
}

impl Waiting {
    /// Wait; returns the number to send with the request.
    pub(super) fn enter(&self) -> (u64, oneshot::Receiver<Body>) {
        let (reply, answer) = oneshot::channel();
        let mut seats = self.seats();
        let seat = seats.free.pop().unwrap_or_else(|| {
            seats.callers.push(None);
            seats.callers.len() - 1
        });
        seats.callers[seat] = Some(reply);
        (seat as u64, answer)
    }

    /// Whoever waits for this answer, and does not any more.
    pub(super) fn leave(&self, seq: u64) -> Option<oneshot::Sender<Body>> {
        let seat = usize::try_from(seq).ok()?;
        let mut seats = self.seats();
        let caller = seats.callers.get_mut(seat)?.take()?;
        seats.free.push(seat);
        Some(caller)
    }

    /// Send everybody away: there will be no more answers.
    pub(super) fn close(&self) {
        *self.seats() = Seats::default();
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
