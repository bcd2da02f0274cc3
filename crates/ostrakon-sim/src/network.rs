//! `Network`: which messages arrive, and when.
//!
//! Links are directed: one may be cut in one direction only. Messages of the control plane are lost, doubled, delayed and thereby
//! overtaken; connections between nodes keep their order and break instead.

use crate::{
    agenda::{MILLI, Moment, SECOND},
    dice::Dice,
    setup::Setup,
};

pub(crate) struct Network {
    sites: usize,
    /// How many faults cut each link at present.
    cuts: Vec<u32>,
    loss: u64,
    doubling: u64,
    tail: u64,
    /// More loss while a fault lasts.
    pub(crate) more_loss: u64,
}

impl Network {
    pub(crate) fn new(setup: &Setup) -> Self {
        let sites = setup.sites() + 1;
        Self {
            sites,
            cuts: vec![0; sites * sites],
            loss: setup.loss,
            doubling: setup.doubling,
            tail: setup.tail,
            more_loss: 0,
        }
    }

    /// From here on nothing is cut, lost or late.
    pub(crate) fn calm(&mut self) {
        self.cuts.fill(0);
        (self.loss, self.doubling, self.tail, self.more_loss) = (0, 0, 0, 0);
    }

    pub(crate) fn cut(&mut self, from: usize, to: usize) {
        if from != to {
            self.cuts[from * self.sites + to] += 1;
        }
    }

    pub(crate) fn heal(&mut self, from: usize, to: usize) {
        if from != to {
            let cuts = &mut self.cuts[from * self.sites + to];
            *cuts = cuts.saturating_sub(1);
        }
    }

    pub(crate) fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cuts[from * self.sites + to] > 0
    }

    /// Whether both can hear each other.
    pub(crate) fn joins(&self, one: usize, other: usize) -> bool {
        !self.is_cut(one, other) && !self.is_cut(other, one)
    }

    /// How long a message of the control plane takes; none, one or two copies arrive.
    pub(crate) fn copies(&self, from: usize, to: usize, dice: &mut Dice) -> [Option<Moment>; 2] {
        if from == to {
            return [Some(MILLI), None];
        }
        if self.is_cut(from, to) || dice.chance(self.loss + self.more_loss) {
            return [None, None];
        }
        let first = self.delay(dice);
        let second = dice.chance(self.doubling).then(|| self.delay(dice));
        [Some(first), second]
    }

    fn delay(&self, dice: &mut Dice) -> Moment {
        if dice.chance(self.tail) {
            return dice.between(SECOND, 25 * SECOND);
        }
        match dice.below(10) {
            0 | 1 if self.tail > 0 => dice.between(50 * MILLI, 1500 * MILLI),
            _ => dice.between(MILLI, 50 * MILLI),
        }
    }

    /// How long a connection between nodes takes.
    pub(crate) fn stream_delay(&self, dice: &mut Dice) -> Moment {
        match dice.below(20) {
            0 if self.tail > 0 => dice.between(50 * MILLI, 800 * MILLI),
            _ => dice.between(MILLI / 10, 20 * MILLI),
        }
    }
}
