//! `Renewals`: the lease of one run, as its holder sees it.
//!
//! It errs early: the lease counts from the moment before a renewal was sent, whenever the answer comes.

use std::{collections::VecDeque, time::Duration};

use crate::{Incarnation, Index, LeaseTiming, Time, ToCoordinator};

/// How soon to try again what was not answered.
pub(super) const RETRY: Duration = Duration::from_millis(500);
/// How often a node without a lease says that it is there.
const PRESENCE: Duration = Duration::from_secs(3);
/// Of so many renewals it is remembered when they were sent; an answer to an older one is worth nothing.
const REMEMBERED: usize = 64;

#[derive(Default)]
pub(super) struct Renewals {
    seq: u64,
    ok_seq: u64,
    sent: VecDeque<(u64, Time)>,
    /// When the last renewal was sent that has been answered.
    renewed: Option<Time>,
    deadline: Time,
}

impl Renewals {
    /// Before this moment the run may act.
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    pub(super) fn renew(
        &mut self,
        now: Time,
        incarnation: Incarnation,
        seen: Index,
    ) -> ToCoordinator {
        self.seq += 1;
        self.sent.push_back((self.seq, now));
        if self.sent.len() > REMEMBERED {
            self.sent.pop_front();
        }
        ToCoordinator::Renew {
            incarnation,
            seq: self.seq,
            ok_seq: self.ok_seq,
            seen,
        }
    }

    /// A renewal was answered. The lease counts from when it was sent; `from` is for those who want to see what happens otherwise.
    pub(super) fn answered(&mut self, seq: u64, timing: Option<LeaseTiming>, from: Option<Time>) {
        let Some((_, sent)) = self.sent.iter().find(|(number, _)| *number == seq) else {
            return;
        };
        self.ok_seq = seq.max(self.ok_seq);
        self.renewed = Some(self.renewed.map_or(*sent, |before| before.max(*sent)));
        if let Some(timing) = timing {
            let from = from.unwrap_or(*sent);
            self.deadline = self.deadline.max(from + timing.times().hold);
        }
    }

    /// How long until the next one: shorter while the last ones are not answered.
    pub(super) fn pause(&self, now: Time, timing: Option<LeaseTiming>) -> Duration {
        let every = timing.map_or(PRESENCE, |timing| timing.times().renew);
        let in_time = |renewed: Time| now.saturating_since(renewed) <= every + RETRY;
        if self.renewed.is_some_and(in_time) {
            every
        } else {
            RETRY.min(every)
        }
    }
}
