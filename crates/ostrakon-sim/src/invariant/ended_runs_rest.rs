//! Ended runs rest: once the log says that a run is over, nothing of it acts, now or later.
//!
//! This is stronger than one owner: it does not need anybody else to have begun.

use std::collections::BTreeSet;

use ostrakon_core::Incarnation;

use super::{Checked, OneOwner};
use crate::agenda::{Moment, SECOND};

#[derive(Default)]
pub(crate) struct EndedRunsRest {
    ended: BTreeSet<Incarnation>,
}

impl EndedRunsRest {
    /// The log has just said that a run is over.
    pub(crate) fn ended(&mut self, now: Moment, run: Incarnation, owners: &OneOwner) -> Checked {
        self.ended.insert(run);
        match owners.acting(now, run) {
            Some((shard, until)) => Err(format!(
                "{run} is over in the log and acts for shard {shard} until {:.6}s",
                until as f64 / SECOND as f64
            )),
            None => Ok(()),
        }
    }

    pub(crate) fn acts(&self, run: Incarnation) -> Checked {
        match self.ended.contains(&run) {
            true => Err(format!("{run} acts although it is over")),
            false => Ok(()),
        }
    }
}
