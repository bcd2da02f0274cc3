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
    /// When each manager last heard each run.
    heard: BTreeMap<(usize, Incarnation), Moment>,
}

impl OwnPause {
    pub(crate) fn heard(&mut self, now: Moment, manager: usize, run: Incarnation) {
        self.heard.insert((manager, run), now);
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
        let heard = self.heard.get(&(manager, run)).copied();
        let was_fine = heard.is_some_and(|heard| heard <= from && heard + wait > from);
        if was_fine && to > from && now < to + wait {
            return Err(format!(
                "{run} is expired because its coordinator did not run"
            ));
        }
        Ok(())
    }
}
