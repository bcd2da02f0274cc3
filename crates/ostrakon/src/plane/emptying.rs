//! `Emptying`: the shards that are being emptied, and what becomes of each afterwards.
//!
//! It hosts nothing and starts nothing; it only keeps order. Invariant: a shard is opened only after everybody who was emptying it has
//! done so, for whoever is still at it would end what has just begun.

use std::collections::BTreeMap;

use ostrakon_core::{Epoch, ShardKey};

/// The shards that are being emptied.
#[derive(Default)]
pub(super) struct Emptying(BTreeMap<ShardKey, Shard>);

struct Shard {
    epoch: Epoch,
    /// How many are at it: one that drains may be joined by one that fences.
    tasks: u32,
    next: Next,
}

/// What happens in a shard once it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    /// It is opened under this epoch.
    Open(Epoch),
    /// It would have been opened under this epoch, and is to be given up already.
    Skip(Epoch),
}

/// How a shard is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Entities finish and stop.
    Drain,
    /// They end at once: somebody else may be the owner.
    Fence,
}

impl Emptying {
    /// A shard is to be opened. Returns whether it can be now; else it is what [`ended`](Self::ended) says later.
    pub(super) fn opens(&mut self, shard: &ShardKey, epoch: Epoch) -> bool {
        match self.0.get_mut(shard) {
            Some(emptying) => {
                emptying.next = Next::Open(epoch);
                false
            }
            None => true,
        }
    }

    /// A shard is to be emptied. Returns whether somebody has to begin with it: what was never opened is empty.
    pub(super) fn empties(&mut self, shard: &ShardKey, epoch: Epoch, manner: Manner) -> bool {
        match self.0.get_mut(shard) {
            Some(emptying) if emptying.epoch != epoch => {
                emptying.next = match manner {
                    Manner::Drain => Next::Skip(epoch),
                    Manner::Fence => Next::Nothing,
                };
                return false;
            }
            Some(emptying) => emptying.tasks += 1,
            None => {
                let emptying = Shard {
                    epoch,
                    tasks: 1,
                    next: Next::Nothing,
                };
                self.0.insert(shard.clone(), emptying);
            }
        }
        true
    }

    /// Somebody who was emptying a shard has done so. Returns what comes next if that was the last one.
    pub(super) fn ended(&mut self, shard: &ShardKey) -> Option<Next> {
        let emptying = self.0.get_mut(shard)?;
        emptying.tasks -= 1;
        if emptying.tasks > 0 {
            return None;
        }
        self.0.remove(shard).map(|emptying| emptying.next)
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_core::{GroupName, ShardId};

    use super::*;

    const FIRST: Epoch = Epoch::new(1);
    const SECOND: Epoch = Epoch::new(2);

    fn shard() -> ShardKey {
        ShardKey {
            group: GroupName::default(),
            shard: ShardId::new(7).unwrap(),
        }
    }

    #[test]
    fn a_shard_that_nobody_empties_opens_at_once() {
        assert!(Emptying::default().opens(&shard(), FIRST));
    }

    #[test]
    fn a_shard_opens_after_it_was_emptied() {
        let mut emptying = Emptying::default();
        assert!(emptying.empties(&shard(), FIRST, Manner::Drain));
        assert!(!emptying.opens(&shard(), SECOND));
        assert_eq!(emptying.ended(&shard()), Some(Next::Open(SECOND)));
        assert!(emptying.opens(&shard(), SECOND));
    }

    #[test]
    fn one_that_is_drained_and_fenced_opens_after_both_have_ended() {
        let mut emptying = Emptying::default();
        assert!(emptying.empties(&shard(), FIRST, Manner::Drain));
        assert!(emptying.empties(&shard(), FIRST, Manner::Fence));
        assert!(!emptying.opens(&shard(), SECOND));
        assert_eq!(emptying.ended(&shard()), None, "one is still at it");
        assert!(!emptying.opens(&shard(), SECOND));
        assert_eq!(emptying.ended(&shard()), Some(Next::Open(SECOND)));
    }

    #[test]
    fn what_was_never_opened_is_given_up_without_being_emptied() {
        let mut emptying = Emptying::default();
        emptying.empties(&shard(), FIRST, Manner::Drain);
        emptying.opens(&shard(), SECOND);
        assert!(!emptying.empties(&shard(), SECOND, Manner::Drain));
        assert_eq!(emptying.ended(&shard()), Some(Next::Skip(SECOND)));

        emptying.empties(&shard(), FIRST, Manner::Drain);
        emptying.opens(&shard(), SECOND);
        assert!(!emptying.empties(&shard(), SECOND, Manner::Fence));
        assert_eq!(emptying.ended(&shard()), Some(Next::Nothing));
    }
}
