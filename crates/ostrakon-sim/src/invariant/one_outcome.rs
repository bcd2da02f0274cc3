//! One outcome: every ask ends once, and truly: a reply only if it was handled, *not handled* only if it never is.

use std::collections::BTreeMap;

use super::Checked;

#[derive(Default)]
pub(crate) struct OneOutcome {
    /// Asks without an outcome, with the process that waits for it.
    open: BTreeMap<usize, u64>,
    refused: std::collections::BTreeSet<usize>,
}

/// How an ask ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Reply,
    NotHandled,
    Unknown,
}

impl OneOutcome {
    pub(crate) fn asked(&mut self, message: usize, process: u64) {
        self.open.insert(message, process);
    }

    pub(crate) fn ended(&mut self, message: usize, outcome: Outcome, was_handled: bool) -> Checked {
        if self.open.remove(&message).is_none() {
            return Err(format!("ask {message} ends again, as {outcome:?}"));
        }
        match (outcome, was_handled) {
            (Outcome::Reply, false) => Err(format!("ask {message} was replied to and not handled")),
            (Outcome::NotHandled, true) => {
                Err(format!("ask {message} was handled and is said not to be"))
            }
            (Outcome::NotHandled, false) => {
                self.refused.insert(message);
                Ok(())
            }
            (Outcome::Reply, true) | (Outcome::Unknown, _) => Ok(()),
        }
    }

    pub(crate) fn handled(&self, message: usize) -> Checked {
        match self.refused.contains(&message) {
            true => Err(format!(
                "message {message} is handled after its sender was told that it is not"
            )),
            false => Ok(()),
        }
    }

    /// Nobody waits any more for what a process asked that has ended.
    pub(crate) fn process_ends(&mut self, process: u64) {
        self.open.retain(|_, asker| *asker != process);
    }

    /// The asks that have not ended.
    pub(crate) fn open(&self) -> impl Iterator<Item = usize> {
        self.open.keys().copied()
    }
}
