//! One owner: no two ownerships of a shard are acted on at the same real instant.
//!
//! A process acts on a shard while its region says so on its own clock, and while a handler runs on behind the end of the lease.

use ostrakon_core::{Epoch, Incarnation};

use super::Checked;
use crate::agenda::{Moment, SECOND};

pub(crate) struct OneOwner {
    /// By shard.
    claims: Vec<Vec<Claim>>,
}

/// Somebody acts for a shard.
#[derive(Clone, Copy, Debug)]
struct Claim {
    who: Who,
    until: Moment,
    /// A handler runs on.
    tail: Moment,
}

/// Which ownership, and in which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) process: u64,
    pub(crate) incarnation: Incarnation,
    pub(crate) epoch: Epoch,
}

impl Claim {
    fn end(&self) -> Moment {
        self.until.max(self.tail)
    }
}

impl OneOwner {
    pub(crate) fn new(shards: usize) -> Self {
        Self {
            claims: vec![Vec::new(); shards],
        }
    }

    /// `who` acts from now on, until then at the latest.
    pub(crate) fn acts(&mut self, now: Moment, shard: usize, who: Who, until: Moment) -> Checked {
        let claims = &mut self.claims[shard];
        claims.retain(|claim| claim.end() > now);
        if let Some(other) = claims.iter().find(|claim| claim.who != who) {
            return Err(format!(
                "{who:?} acts for shard {shard} while {:?} does until {:.6}s",
                other.who,
                other.end() as f64 / SECOND as f64
            ));
        }
        match claims.first_mut() {
            Some(claim) => claim.until = until,
            None => claims.push(Claim {
                who,
                until,
                tail: 0,
            }),
        }
        Ok(())
    }

    /// A process does not act for a shard any more, under any epoch but this.
    pub(crate) fn rests(&mut self, now: Moment, shard: usize, process: u64, but: Option<Epoch>) {
        for claim in &mut self.claims[shard] {
            if claim.who.process == process && Some(claim.who.epoch) != but {
                claim.until = claim.until.min(now);
            }
        }
    }

    /// A handler of a process runs on although the lease is over.
    pub(crate) fn runs_on(&mut self, shard: usize, process: u64, until: Moment) {
        for claim in &mut self.claims[shard] {
            if claim.who.process == process {
                claim.tail = claim.tail.max(until);
            }
        }
    }

    /// A process has ended.
    pub(crate) fn ends(&mut self, process: u64) {
        for claims in &mut self.claims {
            claims.retain(|claim| claim.who.process != process);
        }
    }

    /// The shard for which a run acts after this moment, and until when.
    pub(crate) fn acting(&self, now: Moment, run: Incarnation) -> Option<(usize, Moment)> {
        let shards = self.claims.iter().enumerate();
        let mut all =
            shards.flat_map(|(shard, claims)| claims.iter().map(move |claim| (shard, claim)));
        let found = all.find(|(_, claim)| claim.who.incarnation == run && claim.end() > now);
        found.map(|(shard, claim)| (shard, claim.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(process: u64, epoch: u64) -> Who {
        Who {
            process,
            incarnation: Incarnation::new(process),
            epoch: Epoch::new(epoch),
        }
    }

    #[test]
    fn a_second_owner_is_seen_until_the_first_has_ended() {
        let mut owners = OneOwner::new(1);
        owners.acts(10, 0, who(1, 5), 100).unwrap();
        assert!(owners.acts(99, 0, who(2, 6), 200).is_err());
        assert!(owners.acts(100, 0, who(2, 6), 200).is_ok());
    }

    #[test]
    fn a_handler_that_runs_on_acts() {
        let mut owners = OneOwner::new(1);
        owners.acts(10, 0, who(1, 5), 100).unwrap();
        owners.runs_on(0, 1, 150);
        assert!(owners.acts(149, 0, who(2, 6), 200).is_err());
        assert!(owners.acts(150, 0, who(2, 6), 200).is_ok());
    }
}
