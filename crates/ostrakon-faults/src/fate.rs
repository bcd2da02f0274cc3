//! What chaos has in store for one chunk. Pure: probabilities and a random number generator in, a
//! decision out; carrying it out is the business of `lane`.
//!
//! Invariant: all decisions are drawn before the chunk is looked at; its length only places them.

use std::time::Duration;

use fastrand::Rng;

use crate::Chaos;

#[derive(Clone, Debug)]
pub(crate) struct Fate {
    pub(crate) delay: Option<Duration>,
    pub(crate) stall: Option<Duration>,
    pub(crate) split: Option<Split>,
    pub(crate) blow: Option<Blow>,
    /// Places what the decision leaves open: which bit, how long a prefix.
    place: Rng,
}

/// Into how many pieces a chunk falls, as far as it has that many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split(usize);

/// Damage; a chunk takes at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blow {
    Corrupt,
    Truncate,
    Cut,
}

impl Fate {
    pub(crate) fn draw(chaos: &Chaos, mut rng: Rng) -> Self {
        let mut happens = |probability: f64| rng.f64() < probability;
        let delayed = happens(chaos.delay);
        let stalled = happens(chaos.stall);
        let split = happens(chaos.split);
        let blows = [
            (Blow::Cut, happens(chaos.cut)),
            (Blow::Truncate, happens(chaos.truncate)),
            (Blow::Corrupt, happens(chaos.corrupt)),
        ];
        Self {
            delay: delayed.then(|| chaos.longest_delay.mul_f64(rng.f64())),
            stall: stalled.then(|| chaos.longest_stall.mul_f64(rng.f64())),
            split: split.then(|| Split(rng.usize(2..=MOST_PIECES))),
            blow: blows.iter().find(|(_, struck)| *struck).map(|(b, _)| *b),
            place: rng,
        }
    }

    /// Takes back everything that has not happened yet.
    pub(crate) const fn lift(&mut self) {
        self.split = None;
        self.blow = None;
    }

    pub(crate) fn flip_one_bit(&mut self, chunk: &mut [u8]) {
        let bit = self.place.usize(..chunk.len() * 8);
        chunk[bit / 8] ^= 1 << (bit % 8);
    }

    /// A beginning of the chunk, possibly empty, never all of it.
    pub(crate) fn prefix_of<'c>(&mut self, chunk: &'c [u8]) -> &'c [u8] {
        &chunk[..self.place.usize(..chunk.len())]
    }
}

impl Split {
    pub(crate) fn piece_of(self, chunk: &[u8]) -> usize {
        chunk.len().div_ceil(self.0)
    }
}

const MOST_PIECES: usize = 8;
