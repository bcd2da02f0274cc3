//! The source of fates for one direction of one connection.
//!
//! Invariant: each chunk takes exactly one number from the dice, so that neither the length of a chunk
//! nor what happened to it changes the fate of the next.

use fastrand::Rng;

use crate::{Chaos, Direction, fate::Fate};

#[derive(Debug)]
pub(crate) struct Dice {
    lane: u64,
    chaos: Chaos,
    rng: Rng,
}

impl Dice {
    pub(crate) fn new(connection: u64, direction: Direction) -> Self {
        let lane = connection * 2 + direction as u64;
        let chaos = Chaos::none(0);
        Self {
            lane,
            rng: lane_rng(chaos.seed, lane),
            chaos,
        }
    }

    /// The fate of the next chunk. A chaos other than last time's starts with fresh dice.
    pub(crate) fn roll(&mut self, chaos: Chaos) -> Fate {
        if chaos != self.chaos {
            self.rng = lane_rng(chaos.seed, self.lane);
            self.chaos = chaos;
        }
        Fate::draw(&chaos, self.rng.fork())
    }
}

/// Neighbouring seeds and neighbouring lanes must not share their numbers: a test that counts seeds
/// up would otherwise play the same game again, one lane further.
fn lane_rng(seed: u64, lane: u64) -> Rng {
    let mut rng = Rng::with_seed(seed);
    Rng::with_seed(rng.u64(..) ^ lane.wrapping_mul(ODD))
}

/// Spreads lane numbers over all 64 bits without two of them meeting.
const ODD: u64 = 0xd1b5_4a32_d192_ed03;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fate::Blow;

    fn blows(seed: u64, connection: u64, direction: Direction) -> Vec<Option<Blow>> {
        let chaos = Chaos {
            cut: 0.3,
            truncate: 0.3,
            corrupt: 0.3,
            ..Chaos::none(seed)
        };
        let mut dice = Dice::new(connection, direction);
        (0..64).map(|_| dice.roll(chaos).blow).collect()
    }

    #[test]
    fn seed_connection_and_direction_decide_everything() {
        let once = blows(7, 1, Direction::ToTarget);
        assert_eq!(once, blows(7, 1, Direction::ToTarget));
        assert_ne!(once, blows(8, 1, Direction::ToTarget));
        assert_ne!(once, blows(7, 2, Direction::ToTarget));
        assert_ne!(once, blows(7, 1, Direction::ToClient));
    }

    #[test]
    fn length_of_a_chunk_does_not_change_the_fate_of_the_next() {
        let chaos = Chaos::corrupting(7);
        let mut long = Dice::new(0, Direction::ToTarget);
        let mut short = Dice::new(0, Direction::ToTarget);
        long.roll(chaos).flip_one_bit(&mut [0; 1000]);
        short.roll(chaos);
        for _ in 0..64 {
            let (one, other) = (long.roll(chaos), short.roll(chaos));
            assert_eq!(
                (one.delay, one.split, one.blow),
                (other.delay, other.split, other.blow)
            );
        }
    }

    #[test]
    fn certain_trouble_always_happens_and_impossible_trouble_never() {
        let chaos = Chaos {
            stall: 1.0,
            truncate: 1.0,
            ..Chaos::none(7)
        };
        let mut dice = Dice::new(0, Direction::ToClient);
        for _ in 0..64 {
            let fate = dice.roll(chaos);
            assert!(fate.stall.is_some_and(|stall| stall <= chaos.longest_stall));
            assert_eq!((fate.delay, fate.split), (None, None));
            assert_eq!(fate.blow, Some(Blow::Truncate));
        }
    }
}
