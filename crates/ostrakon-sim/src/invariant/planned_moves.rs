//! Planned moves lose nothing: when a shard is given up, every message it had taken in was handled or refused, and nothing runs.
//!
//! A sender that is told of a new owner must therefore know what became of all it had sent, unless a connection broke.

use std::collections::BTreeMap;

use ostrakon_core::Epoch;

use super::Checked;

#[derive(Default)]
pub(crate) struct PlannedMoves {
    given_up: BTreeMap<(usize, Epoch), u64>,
}

impl PlannedMoves {
    /// A process says that it has given up a shard, with so much left of it.
    pub(crate) fn gave_up(
        &mut self,
        process: u64,
        (shard, epoch): (usize, Epoch),
        running: usize,
        queued: usize,
    ) -> Checked {
        self.given_up.insert((shard, epoch), process);
        match running + queued {
            0 => Ok(()),
            _ => Err(format!(
                "process {process} gives up shard {shard} at {epoch} while {running} handlers run and {queued} messages wait"
            )),
        }
    }

    /// A sender gives a message up for lost because there is another owner, though no connection broke.
    pub(crate) fn lost(&self, message: usize, shard: usize, epoch: Epoch) -> Checked {
        match self.given_up.contains_key(&(shard, epoch)) {
            true => Err(format!(
                "message {message} was lost when shard {shard} was given up at {epoch} in good order"
            )),
            false => Ok(()),
        }
    }
}
