//! What a topology does wrong when a rule is left out on purpose. Not part of any real one.

use super::{Topology, TopologyMember};
use crate::Rule;

impl Topology {
    /// Merges somebody else's word into the view, and says whether that taught anything.
    pub(super) fn take_over(&mut self, record: &TopologyMember) -> bool {
        if self.rules.keep(Rule::WorseStatusWins) {
            self.view.merge(record)
        } else {
            self.alive_beats_dead(record)
        }
    }

    /// Merges as ever, except that of two statuses in one generation the better one is kept.
    fn alive_beats_dead(&mut self, record: &TopologyMember) -> bool {
        let known = self.view.get(&record.name).cloned();
        let Some(known) = known.filter(|known| known.generation == record.generation) else {
            return self.view.merge(record);
        };
        let mut merged = known.clone();
        merged.merge(record);
        merged.status = known.status.min(record.status);
        if merged == known {
            return false;
        }
        self.view.forget(&known.name);
        self.view.merge(&merged)
    }
}
