//! `Storage`: where managers keep the log, with its moods, and where nodes count their leases if they share it.
//!
//! It is down, slow, or loses its answers, so that nobody knows whether it did what it was asked. Besides the log it keeps a
//! register in which the leader counts, by which others see that there is a leader, and a count for each run: it begins and ends with
//! the entries that begin and end the run.

use std::collections::BTreeMap;

use ostrakon_core::{Command, Counted, Incarnation, Index, Term};

use crate::{
    agenda::{MILLI, Moment, SECOND},
    dice::Dice,
};

#[derive(Default)]
pub(crate) struct Storage {
    pub(crate) is_down: bool,
    pub(crate) is_slow: bool,
    /// In thousandths: answers that are lost after the work was done.
    pub(crate) loses: u64,
    /// Counted by the leader of this term.
    pub(crate) beat: (Term, u64),
    leases: BTreeMap<Incarnation, Counted>,
}

impl Storage {
    pub(crate) fn calm(&mut self) {
        (self.is_down, self.is_slow, self.loses) = (false, false, 0);
    }

    /// How long a request or an answer takes.
    pub(crate) fn delay(&self, dice: &mut Dice) -> Moment {
        match self.is_slow {
            true => dice.between(200 * MILLI, 3 * SECOND),
            false => dice.between(MILLI, 40 * MILLI),
        }
    }

    /// An entry is in the log. Whether it is void there does not matter here: a storage does not know.
    pub(crate) fn committed(&mut self, index: Index, command: &Command) {
        match command {
            Command::Register(_) => {
                let nothing = Counted { seq: 0, ok_seq: 0 };
                self.leases.insert(index.into(), nothing);
            }
            Command::Expire { incarnation } | Command::ConfirmDead { incarnation, .. } => {
                self.leases.remove(incarnation);
            }
            Command::Takeover { .. }
            | Command::Leave { .. }
            | Command::BeginMove(_)
            | Command::Released(_)
            | Command::Grant(_)
            | Command::SetPolicy(_)
            | Command::CreateGroup(_) => {}
        }
    }

    /// A run counts its lease up. `false`: there is no such lease.
    pub(crate) fn renew(&mut self, run: Incarnation, counted: Counted) -> bool {
        let Some(lease) = self.leases.get_mut(&run) else {
            return false;
        };
        if lease.seq < counted.seq {
            *lease = counted;
        }
        true
    }

    pub(crate) fn leases(&self) -> Vec<(Incarnation, Counted)> {
        let leases = self.leases.iter();
        leases.map(|(run, counted)| (*run, *counted)).collect()
    }

    /// Whether these leases are there, and exactly so.
    pub(crate) fn are_unmoved(&self, seen: &[(Incarnation, Counted)]) -> bool {
        seen.iter()
            .all(|(run, counted)| self.leases.get(run) == Some(counted))
    }
}
