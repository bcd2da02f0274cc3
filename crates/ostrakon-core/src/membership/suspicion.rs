//! How a topology comes to believe that a member is down.
//!
//! One observer only accuses. Two make it down, or all that are there if those are fewer: a single deaf or overloaded node
//! can put nobody down. The accused is told, and answers with a higher generation, which clears it. And however many accuse,
//! *down* remains a suspicion: it may stop a sender from choosing a peer or start a probe; it never ends or grants an
//! ownership, which only the control log does.

use std::collections::BTreeMap;

use super::{Body, Topology, TopologyMember, TopologyStatus};
use crate::NodeName;

impl Topology {
    /// One heartbeat: judges those it watches, accuses the silent, and asks all of them for a sign of life.
    pub(super) fn beat(&mut self) {
        self.refresh_ring();
        let targets = self.targets();
        self.watches.retarget(self.now, &targets);
        for name in self.watches.silent(self.now) {
            self.accuse(&name);
        }
        let accused: Vec<_> = targets
            .keys()
            .filter_map(|name| self.view.get(name))
            .filter(|member| member.is_accused_by(&self.me.name))
            .cloned()
            .collect();
        for record in accused {
            self.convict(record);
        }
        let (number, watched) = self.watches.ping();
        for name in watched {
            self.tell(&name, Body::Ping(number));
        }
    }

    /// The next few on the ring. Those that this node has accused are watched as well, but do not count: were all its
    /// neighbours gone at once, it must look beyond them.
    fn targets(&self) -> BTreeMap<NodeName, u64> {
        let mut targets = BTreeMap::new();
        let mut unaccused = 0;
        for name in self.watches.after(&self.me.name) {
            if unaccused == self.config.watched {
                break;
            }
            if let Some(member) = self.view.get(name) {
                unaccused += usize::from(!member.is_accused_by(&self.me.name));
                targets.insert(name.clone(), member.generation.run);
            }
        }
        targets
    }

    fn accuse(&mut self, name: &NodeName) {
        let Some(mut record) = self.view.get(name).cloned() else {
            return;
        };
        if !record.is_live() || record.is_accused_by(&self.me.name) {
            return;
        }
        record.accuse(&self.me.name);
        self.write(&record);
        // The other observers, who can confirm it, and the accused, who can refute it, hear of it at once.
        let observers = self
            .watches
            .before(name)
            .filter(|other| **other != self.me.name)
            .take(self.config.watched);
        let to: Vec<_> = observers.chain([name]).cloned().collect();
        if let Some(record) = self.view.get(name).cloned() {
            self.spread(&record, &to);
        }
    }

    /// Puts a member down once enough have accused it. Only an accuser does so, lest everyone bump a clock for it.
    pub(super) fn convict(&mut self, mut record: TopologyMember) {
        let accuser = record.is_accused_by(&self.me.name);
        if accuser
            && record.is_live()
            && record.accusers.len() >= self.accusers_needed(&record.name)
        {
            record.status = TopologyStatus::Down;
            self.write(&record);
        }
    }

    /// Two, or as many as there are others that are not themselves suspected.
    fn accusers_needed(&self, accused: &NodeName) -> usize {
        let others = self
            .view
            .iter()
            .filter(|member| member.is_live() && member.name != *accused);
        others
            .filter(|member| member.accusers.is_empty())
            .take(2)
            .count()
            .max(1)
    }
}
