//! No theft: the log takes a shard from its owner only after the owner gave it up or its run has ended.
//!
//! Whether it really gave it up is known from the process itself, not from what a coordinator has heard.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_core::{Change, Epoch};

use super::Checked;

#[derive(Default)]
pub(crate) struct NoTheft {
    owned: BTreeMap<usize, Epoch>,
    given_up: BTreeSet<(usize, Epoch)>,
}

impl NoTheft {
    /// A process says that it has given up a shard.
    pub(crate) fn gave_up(&mut self, shard: usize, epoch: Epoch) {
        self.given_up.insert((shard, epoch));
    }

    pub(crate) fn has_given_up(&self, shard: usize, epoch: Epoch) -> bool {
        self.given_up.contains(&(shard, epoch))
    }

    /// The log has freed or granted a shard; `by_end`: because its owner's run is over.
    pub(crate) fn changed(&mut self, shard: usize, change: &Change, by_end: ByEnd) -> Checked {
        match change {
            Change::Freed { epoch, .. } => {
                self.owned.remove(&shard);
                if by_end == ByEnd::No && !self.has_given_up(shard, *epoch) {
                    return Err(format!("shard {shard} is taken from its owner at {epoch}"));
                }
            }
            Change::Granted { epoch, .. } => {
                if let Some(owned) = self.owned.insert(shard, *epoch) {
                    return Err(format!(
                        "shard {shard} is granted at {epoch} and owned at {owned}"
                    ));
                }
            }
            Change::TookOver { .. }
            | Change::Registered { .. }
            | Change::Leaving { .. }
            | Change::Ended { .. }
            | Change::MoveBegan { .. }
            | Change::PolicySet
            | Change::GroupCreated { .. } => {}
        }
        Ok(())
    }
}

/// Whether a shard was freed because its owner's run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByEnd {
    Yes,
    No,
}
