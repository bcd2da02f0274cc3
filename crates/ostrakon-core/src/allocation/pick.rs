//! The random pick, without randomness.
//!
//! Every shard draws a lot that depends on the seed, on its number and on the node that has it, and the lowest lots are
//! picked. The node is part of it so that a shard that was unlucky once is not the one that moves every time.

use crate::{Incarnation, ShardId};

/// Picks `count` of `shards`, which `node` has: the same ones whenever the arguments are the same.
pub(super) fn pick(
    seed: u64,
    node: Incarnation,
    mut shards: Vec<ShardId>,
    count: usize,
) -> Vec<ShardId> {
    let of_node = mixed(seed ^ mixed(node.get()));
    let lot = |shard: &ShardId| (mixed(of_node ^ u64::from(shard.get())), *shard);
    if count < shards.len() {
        shards.select_nth_unstable_by_key(count, lot);
        shards.truncate(count);
    }
    shards.sort_unstable_by_key(lot);
    shards
}

/// Spreads every bit of `value` over all bits of the result (the finisher of SplitMix64).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShardCount;

    fn picked(seed: u64, node: u64) -> Vec<u32> {
        let shards = ShardCount::new(100).unwrap().iter().collect();
        let picked = pick(seed, Incarnation::new(node), shards, 5);
        picked.into_iter().map(ShardId::get).collect()
    }

    #[test]
    fn seed_and_node_decide() {
        assert_eq!(picked(1, 7), picked(1, 7));
        assert_ne!(picked(1, 7), picked(2, 7));
        assert_ne!(picked(1, 7), picked(1, 8));
    }

    #[test]
    fn every_shard_gets_its_turn() {
        let mut times = [0; 101];
        for seed in 0..2000 {
            for shard in picked(seed, 7) {
                times[shard as usize] += 1;
            }
        }
        let (least, most) = (times[1..].iter().min(), times[1..].iter().max());
        assert!(
            times[1..].iter().all(|times| (50..200).contains(times)),
            "each of 100 shards is expected 100 times: {least:?} to {most:?}"
        );
    }
}
