//! Commit before act: a process takes up only what the log has granted to its own run.

use std::collections::BTreeMap;

use ostrakon_core::{Change, Epoch, Incarnation};

use super::Checked;
use crate::setup::process_of;

#[derive(Default)]
pub(crate) struct CommitBeforeAct {
    granted: BTreeMap<(usize, Epoch), Incarnation>,
    /// Which process a run is.
    processes: BTreeMap<Incarnation, u64>,
}

impl CommitBeforeAct {
    pub(crate) fn changed(&mut self, shard: Option<usize>, change: &Change) {
        match (change, shard) {
            (Change::Registered { incarnation, nonce }, _) => {
                self.processes.insert(*incarnation, process_of(*nonce));
            }
            (Change::Granted { to, epoch, .. }, Some(shard)) => {
                self.granted.insert((shard, *epoch), *to);
            }
            _ => {}
        }
    }

    pub(crate) fn opened(&self, process: u64, shard: usize, epoch: Epoch) -> Checked {
        let Some(run) = self.granted.get(&(shard, epoch)) else {
            return Err(format!(
                "process {process} takes up shard {shard} at {epoch}, which is not in the log"
            ));
        };
        match self.processes.get(run) {
            Some(owner) if *owner == process => Ok(()),
            owner => Err(format!(
                "process {process} takes up shard {shard} at {epoch}, which is {run}'s (process {owner:?})"
            )),
        }
    }
}
