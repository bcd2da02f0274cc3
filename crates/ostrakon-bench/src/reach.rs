//! Which entity a call goes to, and how it gets there.
//!
//! The loops in `workload` do not know whether they ask through prepared handles
//! or by id; choosing at random costs them a few instructions.

use std::future::Future;

use anyhow::Result;

use crate::contenders::{Contender, Crowd, id_of};

/// A way to reach the entities under load.
pub(crate) trait Reach: Send + Sync + 'static {
    /// How many calls share one look at the clock.
    const SAMPLE: u64 = 16;

    fn size(&self) -> usize;
    fn ask(&self, index: usize, number: u64) -> impl Future<Output = Result<u64>> + Send;
}

/// Through handles prepared beforehand.
pub(crate) struct ByHandle<C: Contender>(Vec<C::Handle>);

impl<C: Contender> ByHandle<C> {
    pub(crate) fn new(contender: &C, count: u64) -> Result<Self> {
        let handles = (0..count).map(|number| contender.handle(&id_of(number)));
        Ok(Self(handles.collect::<Result<_>>()?))
    }
}

impl<C: Contender> Reach for ByHandle<C> {
    fn size(&self) -> usize {
        self.0.len()
    }

    async fn ask(&self, index: usize, number: u64) -> Result<u64> {
        C::ask(&self.0[index], number).await
    }
}

/// Through the id, looked up in every call.
pub(crate) struct ById<C> {
    contender: C,
    ids: Vec<String>,
}

impl<C: Crowd> ById<C> {
    pub(crate) fn new(contender: C, count: u64) -> Self {
        let ids = (0..count).map(id_of).collect();
        Self { contender, ids }
    }
}

impl<C: Crowd> Reach for ById<C> {
    fn size(&self) -> usize {
        self.ids.len()
    }

    async fn ask(&self, index: usize, number: u64) -> Result<u64> {
        self.contender.ask_by_id(&self.ids[index], number).await
    }
}

/// Pseudo-random numbers that cost next to nothing (xorshift).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * bound as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_reach_every_entity_and_no_other() {
        let mut dice = Dice::new(1);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[dice.below(10)] = true;
        }
        assert_eq!(seen, [true; 10]);
    }
}
