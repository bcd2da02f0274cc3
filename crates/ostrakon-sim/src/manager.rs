//! `Manager`: what drives a [`Coordinator`], in a manager or in a voter.

use std::collections::BTreeMap;

use ostrakon_core::{Beat, Coordinator, Incarnation, Succession, Term, Time, Version};

use crate::{agenda::Moment, log_request::LogRequest};

pub(crate) struct Manager {
    pub(crate) coordinator: Coordinator,
    /// When it is to be woken.
    pub(crate) wakes_at: Moment,
    /// What the log has not answered yet.
    pub(crate) open: BTreeMap<u64, LogRequest>,
    pub(crate) next_request: u64,
    /// Where each run of a node has last spoken from.
    pub(crate) spoke_from: BTreeMap<Incarnation, usize>,
    /// What was last sent to all nodes, and when.
    pub(crate) map_sent: (Version, Time),
    /// What it last read in the register of the leader, and when it changed.
    pub(crate) beat: (Term, u64),
    pub(crate) beat_since: Time,
    /// When to try to lead, by that register.
    succession: Succession,
    /// How long a peer may hear of no leader.
    pub(crate) patience: std::time::Duration,
}

impl Manager {
    pub(crate) fn new(coordinator: Coordinator, now: Time, patience: std::time::Duration) -> Self {
        Self {
            coordinator,
            wakes_at: 0,
            open: BTreeMap::new(),
            next_request: 0,
            spoke_from: BTreeMap::new(),
            map_sent: (Version::default(), Time::ZERO),
            beat: (Term::default(), 0),
            beat_since: now,
            succession: Succession::new(patience, now),
            patience,
        }
    }

    /// Whether the register has stood still for too long.
    pub(crate) fn should_lead(&mut self, now: Time) -> bool {
        let (term, count) = self.beat;
        let beat = Some(Beat { term, count });
        self.succession.saw(beat, self.beat_since);
        self.succession.is_due(now)
    }
}
