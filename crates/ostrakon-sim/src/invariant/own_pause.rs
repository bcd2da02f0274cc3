//! A coordinator that did not run does not blame others for it.
//!
//! A node that was heard shortly before its coordinator stopped is not expired before a full wait after it runs again. Breaking this
//! makes nobody act twice, but every pause of a coordinator would cost all nodes their state.

use std::{collections::BTreeMap, time::Duration};

use ostrakon_core::Incarnation;

use super::Checked;
use crate::agenda::Moment;

#[derive(Default)]
pub(crate) struct OwnPause {
    /// When each manager last heard each run in good order.
    heard: BTreeMap<(usize, Incarnation), Heard>,
}

#[derive(Default)]
struct Heard {
    at: Moment,
    /// The newest renewal of all.
    seq: u64,
}

impl OwnPause {
    /// A manager that leads has heard a renewal of a run, which knows of the answer to another. It says nothing in favour of the run
    /// if it was overtaken or if answers are missed: a run may be given up for missing them.
    pub(crate) fn heard(&mut self, now: Moment, who: (usize, Incarnation), seq: u64, ok_seq: u64) {
        let last = self.heard.entry(who).or_default();
        if seq > last.seq {
            last.seq = seq;
            if ok_seq + 1 >= seq {
                last.at = now;
            }
        }
    }

    /// A manager wants to expire a run. It was paused from and to these moments, and its policy is to wait so long.
    pub(crate) fn expires(
        &self,
        now: Moment,
        (manager, run): (usize, Incarnation),
        (from, to): (Moment, Moment),
        wait: Duration,
    ) -> Checked {
        // The shortest that a wait can be on a fast clock.
        let wait = wait.as_nanos() as u64 * 10 / 11;
        let heard = self.heard.get(&(manager, run)).map(|heard| heard.at);
        let was_fine = heard.is_some_and(|heard| heard <= from && heard + wait > from);
        if was_fine && to > from && now < to + wait {
            return Err(format!(
                "{run} is expired because its coordinator did not run"
            ));
        }
        Ok(())
    }
}
