//! Records grow: what a process knows of a node never goes back to an earlier generation, nor to a better status of the same.
//!
//! A node that was removed and forgotten may be seen again, for it may have been cut off all the while; that the dead are not, in the
//! end, is required when all else is well.

use std::{collections::BTreeMap, time::Duration};

use ostrakon_core::{Generation, Time, TopologyStatus};

use super::Checked;

pub(crate) struct RecordsGrow {
    /// So long a removed node is remembered.
    forget_after: Duration,
    /// By the process that knows, and the node it knows of; with the time when it first knew, on its clock.
    known: BTreeMap<(u64, usize), (Known, Time)>,
}

type Known = (Generation, TopologyStatus);

impl RecordsGrow {
    pub(crate) fn new(forget_after: Duration) -> Self {
        Self {
            forget_after,
            known: BTreeMap::new(),
        }
    }

    /// A process of some node, whose clock shows `now`, knows this of a node, or nothing.
    pub(crate) fn sees(
        &mut self,
        now: Time,
        (process, at): (u64, usize),
        node: usize,
        seen: Option<Known>,
    ) -> Checked {
        let key = (process, node);
        let Some(seen) = seen else {
            self.known.remove(&key);
            return Ok(());
        };
        let Some((known, since)) = self.known.get(&key).copied() else {
            self.known.insert(key, (seen, now));
            return Ok(());
        };
        if seen != known {
            self.known.insert(key, (seen, now));
        }
        let is_forgotten =
            known.1 == TopologyStatus::Removed && now.saturating_since(since) >= self.forget_after;
        match seen < known && !is_forgotten {
            true => Err(format!(
                "node-{at} sees node-{node} as {} at {} after {} at {}",
                seen.1, seen.0, known.1, known.0
            )),
            false => Ok(()),
        }
    }

    pub(crate) fn process_ends(&mut self, process: u64) {
        self.known.retain(|(knows, _), _| *knows != process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sees(records: &mut RecordsGrow, second: u64, revision: u64, is: TopologyStatus) -> Checked {
        let now = Time::ZERO + Duration::from_secs(second);
        let generation = Generation { run: 1, revision };
        records.sees(now, (7, 0), 1, Some((generation, is)))
    }

    #[test]
    fn the_dead_come_back_only_by_a_word_of_their_own() {
        let mut records = RecordsGrow::new(Duration::from_secs(60));
        sees(&mut records, 1, 3, TopologyStatus::Up).unwrap();
        sees(&mut records, 2, 3, TopologyStatus::Down).unwrap();
        sees(&mut records, 3, 4, TopologyStatus::Up).unwrap();
        sees(&mut records, 4, 4, TopologyStatus::Down).unwrap();
        assert!(sees(&mut records, 5, 4, TopologyStatus::Up).is_err());
    }

    #[test]
    fn who_was_forgotten_may_be_seen_again() {
        for (later, is_wrong) in [(69, true), (70, false)] {
            let mut records = RecordsGrow::new(Duration::from_secs(60));
            sees(&mut records, 10, 3, TopologyStatus::Removed).unwrap();
            let again = sees(&mut records, later, 3, TopologyStatus::Up);
            assert_eq!(again.is_err(), is_wrong);
        }
    }
}
