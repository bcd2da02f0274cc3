//! `Storage`: where managers keep the log, with its moods.
//!
//! It is down, slow, or loses its answers, so that nobody knows whether it did what it was asked. Besides the log it keeps a
//! register in which the leader counts, by which others see that there is a leader.

use ostrakon_core::Term;

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
}
