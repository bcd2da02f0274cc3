//! `PeerChoice`: which peers to speak to next, at random but decided by a seed value.
//!
//! The core has no randomness of its own. Each node is given another seed value, and the same value gives the same choices.

/// A sequence of choices (SplitMix64, public domain by Vigna).
#[derive(Clone, Debug)]
pub(super) struct PeerChoice(u64);

impl PeerChoice {
    pub(super) const fn new(seed_value: u64) -> Self {
        Self(seed_value)
    }

    /// Up to `count` different items for which `eligible` holds: for each, the first such after a random place.
    pub(super) fn pick<'a, T: PartialEq>(
        &mut self,
        from: &'a [T],
        count: usize,
        eligible: impl Fn(&T) -> bool,
    ) -> Vec<&'a T> {
        let mut picked: Vec<&T> = Vec::with_capacity(count.min(from.len()));
        for _ in 0..count {
            let start = self.below(from.len());
            let around = (0..from.len()).map(|step| &from[(start + step) % from.len()]);
            let mut fresh = around.filter(|item| eligible(item) && !picked.contains(item));
            match fresh.next() {
                Some(item) => picked.push(item),
                None => break,
            }
        }
        picked
    }

    /// A number below `bound`, or 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) % bound.max(1) as u64) as usize
    }
}

/// Spreads every bit of `value` over all of the result.
pub(super) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_value_picks_the_same_peers() {
        let peers: Vec<u32> = (0..100).collect();
        let picks = |seed| {
            PeerChoice::new(seed)
                .pick(&peers, 5, |_| true)
                .iter()
                .map(|n| **n)
                .collect::<Vec<_>>()
        };
        assert_eq!(picks(7), picks(7));
        assert_ne!(picks(7), picks(8));
    }

    #[test]
    fn it_picks_different_eligible_items_and_no_more_than_there_are() {
        let peers: Vec<u32> = (0..10).collect();
        let mut picked = PeerChoice::new(1).pick(&peers, 9, |n| n % 2 == 0);
        picked.sort();
        assert_eq!(picked, [&0, &2, &4, &6, &8]);
        assert!(PeerChoice::new(1).pick(&[0_u32; 0], 3, |_| true).is_empty());
    }

    #[test]
    fn everyone_is_picked_sooner_or_later() {
        let peers: Vec<u32> = (0..50).collect();
        let mut choice = PeerChoice::new(3);
        let mut count = [0; 50];
        for _ in 0..1000 {
            choice
                .pick(&peers, 3, |_| true)
                .into_iter()
                .for_each(|n| count[*n as usize] += 1);
        }
        assert!(count.iter().all(|n| (30..100).contains(n)), "{count:?}");
    }
}
