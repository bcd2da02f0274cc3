//! `Probes`: whose health is asked for, and how often.
//!
//! Somebody who doubts that a node is alive may say so a moment before its end or a moment after: whoever was asked in between has not
//! seen it yet. So a doubt that comes soon after a question is not forgotten but asked about later, after a pause that grows while the doubts
//! go on. Invariant: no doubt stays without a later question, and no node is asked about more often than the pauses allow.

use std::{collections::BTreeMap, time::Duration};

use crate::{Incarnation, Time};

/// How long the first pause between two questions about a node is, and how long they become.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default)]
pub(super) struct Probes(BTreeMap<Incarnation, Probe>);

#[derive(Clone, Copy, Debug)]
struct Probe {
    asked: Time,
    pause: Duration,
    /// Somebody has doubted since.
    doubted: bool,
}

impl Probe {
    fn again_at(&self) -> Time {
        self.asked + self.pause
    }

    fn ask(&mut self, now: Time) {
        // After a calm the pauses begin anew.
        let calm = now.saturating_since(self.asked) > LONGEST_PAUSE * 2;
        self.pause = match calm {
            true => FIRST_PAUSE,
            false => (self.pause * 2).min(LONGEST_PAUSE),
        };
        self.asked = now;
        self.doubted = false;
    }
}

impl Probes {
    /// Somebody doubts that a node is alive. Returns whether to ask about it now.
    pub(super) fn doubt(&mut self, node: Incarnation, now: Time) -> bool {
        let Some(probe) = self.0.get_mut(&node) else {
            let probe = Probe {
                asked: now,
                pause: FIRST_PAUSE,
                doubted: false,
            };
            self.0.insert(node, probe);
            return true;
        };
        let due = now >= probe.again_at();
        match due {
            true => probe.ask(now),
            false => probe.doubted = true,
        }
        due
    }

    /// About whom to ask now, because of what was doubted before.
    pub(super) fn due(&mut self, now: Time) -> Vec<Incarnation> {
        let doubted = self.0.iter_mut();
        let due = doubted.filter(|(_, probe)| probe.doubted && now >= probe.again_at());
        let asked = due.map(|(node, probe)| {
            probe.ask(now);
            *node
        });
        asked.collect()
    }

    /// When to ask next.
    pub(super) fn next(&self) -> Option<Time> {
        let doubted = self.0.values().filter(|probe| probe.doubted);
        doubted.map(Probe::again_at).min()
    }

    pub(super) fn forget(&mut self, node: Incarnation) {
        self.0.remove(&node);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Incarnation = Incarnation::new(1);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_first_doubt_is_asked_about_at_once() {
        let mut probes = Probes::default();
        assert!(probes.doubt(NODE, at(0)));
        assert_eq!(probes.next(), None);
    }

    #[test]
    fn a_doubt_that_comes_soon_after_is_asked_about_later() {
        let mut probes = Probes::default();
        probes.doubt(NODE, at(0));
        assert!(!probes.doubt(NODE, at(3)));
        assert_eq!(probes.next(), Some(at(100)));
        assert_eq!(probes.due(at(99)), []);
        assert_eq!(probes.due(at(100)), [NODE]);
        assert_eq!(probes.next(), None, "it is asked about once");
    }

    #[test]
    fn while_the_doubts_go_on_the_pauses_grow_and_after_a_calm_they_begin_anew() {
        let mut probes = Probes::default();
        let mut asked = 0;
        for millis in 0..20_000 {
            asked += u32::from(probes.doubt(NODE, at(millis)));
            asked += probes.due(at(millis)).len() as u32;
        }
        assert!((10..20).contains(&asked), "{asked}");
        assert!(probes.doubt(NODE, at(30_000)));
        assert!(!probes.doubt(NODE, at(30_001)));
        assert_eq!(probes.next(), Some(at(30_100)));
    }
}
