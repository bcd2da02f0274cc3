//! Epochs, incarnations and terms never repeat and only grow, in the log and in the processes.

use std::collections::BTreeMap;

use ostrakon_core::{Change, Epoch, Incarnation, Term};

use super::Checked;

#[derive(Default)]
pub(crate) struct CountersGrow {
    incarnation: Incarnation,
    term: Term,
    /// By shard.
    epochs: BTreeMap<String, Epoch>,
    /// Who has taken up which ownership.
    opened: BTreeMap<(usize, Epoch), u64>,
}

impl CountersGrow {
    pub(crate) fn changed(&mut self, change: &Change) -> Checked {
        match change {
            Change::Registered { incarnation, .. } => {
                grows("an incarnation", &mut self.incarnation, *incarnation)
            }
            Change::TookOver { term, .. } => grows("a term", &mut self.term, *term),
            Change::Granted { shard, epoch, .. } => {
                let last = self.epochs.entry(shard.to_string()).or_default();
                grows("an epoch", last, *epoch)
            }
            Change::Leaving { .. }
            | Change::Ended { .. }
            | Change::MoveBegan { .. }
            | Change::Freed { .. }
            | Change::PolicySet
            | Change::GroupCreated { .. } => Ok(()),
        }
    }

    /// A process has taken up an ownership.
    pub(crate) fn opened(&mut self, process: u64, shard: usize, epoch: Epoch) -> Checked {
        match self.opened.insert((shard, epoch), process) {
            Some(before) => Err(format!(
                "process {process} takes up shard {shard} at {epoch}, which process {before} did before"
            )),
            None => Ok(()),
        }
    }
}

fn grows<T: Copy + Ord + std::fmt::Display>(what: &str, last: &mut T, next: T) -> Checked {
    if next <= *last {
        return Err(format!("{what} goes from {last} to {next}"));
    }
    *last = next;
    Ok(())
}
