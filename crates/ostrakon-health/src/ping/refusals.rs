//! `Refusals`: how often in a row each run of a node was refused.
//!
//! It is bounded: when there are too many, it forgets them all. That is safe, since it only makes the next death take longer to be seen.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// More runs than this are not counted at once.
pub(super) const LIMIT: usize = 65_536;

/// Counts, by the nonce of a run.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<BTreeMap<u64, u32>>);

impl Refusals {
    /// One more; returns how many there are now.
    pub(super) fn count(&self, nonce: u64) -> u32 {
        let mut counts = self.counts();
        if counts.len() >= LIMIT && !counts.contains_key(&nonce) {
            counts.clear();
        }
        let count = counts.entry(nonce).or_default();
        *count = count.saturating_add(1);
        *count
    }

    /// The row is broken.
    pub(super) fn forget(&self, nonce: u64) {
        self.counts().remove(&nonce);
    }

    /// A count is right after each step, so a panic elsewhere leaves nothing half done.
    fn counts(&self) -> MutexGuard<'_, BTreeMap<u64, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_rather_than_grow() {
        let refusals = Refusals::default();
        for nonce in 0..LIMIT as u64 {
            refusals.count(nonce);
        }
        assert_eq!(refusals.count(7), 2, "who is known is still counted");
        assert_eq!(refusals.count(u64::MAX), 1);
        assert_eq!(refusals.counts().len(), 1);
    }
}
