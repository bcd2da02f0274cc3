//! `Dice`: all chance there is, from one seed.
//!
//! The generator is splitmix64: every seed is a good one, and the same seed throws the same numbers on every machine.

/// Chance that can be repeated.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// Dice that throw what this seed says.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self {
            state: seed ^ 0x5851_F42D_4C95_7F2D,
        };
        dice.throw();
        dice
    }

    /// Any number.
    pub fn throw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        let wide = u128::from(self.throw()) * u128::from(limit);
        (wide >> 64) as u64
    }

    /// A number from `least` to `most`.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// True in so many of a thousand cases.
    pub fn chance(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }

    /// A place in a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_numbers() {
        let throws = |seed| {
            let mut dice = Dice::new(seed);
            std::iter::repeat_with(move || dice.throw()).take(20)
        };
        assert!(throws(7).eq(throws(7)));
        assert!(!throws(7).eq(throws(8)));
    }

    #[test]
    fn both_ends_of_a_range_are_thrown() {
        let mut dice = Dice::new(1);
        let mut seen = [false; 3];
        for _ in 0..200 {
            seen[(dice.between(5, 7) - 5) as usize] = true;
        }
        assert_eq!(seen, [true; 3]);
    }
}
