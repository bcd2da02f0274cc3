//! Watching: for which shards a node believes to act, and until when.

use ostrakon_core::ShardKey;

use super::World;
use crate::{agenda::Moment, event::Event};

impl World {
    /// Sees for which shards a node believes to act, and until when.
    pub(super) fn watch_node(&mut self, site: usize) {
        let (local, process) = (self.local(site), self.sites[site].process);
        let clock = self.sites[site].clock;
        let Some(node) = &self.nodes[site] else {
            return;
        };
        let until = node.region.acts_until();
        let until_moment = until.map_or(Moment::MAX, |until| clock.moment_of(until));
        let run = node.region.incarnation();
        let acts = |key: &ShardKey| {
            let epoch = node.region.acts(key, local)?;
            Some((run?, epoch, until_moment))
        };
        let acting: Vec<_> = self.setup.keys.iter().map(acts).collect();
        if acting.iter().any(Option::is_some) {
            let checked = self.oracle.deadline.believes(process, until);
            self.oracle
                .judge(self.now, "nobody acts after its deadline", checked);
        }
        for (shard, acts) in acting.into_iter().enumerate() {
            self.oracle.acts(self.now, shard, process, acts);
        }
        let in_time = until.is_none_or(|until| local < until);
        self.plan_lapse(site, until_moment);
        let node = self.nodes[site].as_mut();
        let was_in_time = node.is_some_and(|node| std::mem::replace(&mut node.in_time, in_time));
        if in_time && !was_in_time {
            self.host_resumes(site);
        }
    }

    pub(super) fn plan_lapse(&mut self, site: usize, until: Moment) {
        let Some(node) = &mut self.nodes[site] else {
            return;
        };
        if node.lapses_at <= self.now && until > self.now && until < Moment::MAX {
            node.lapses_at = until;
            let process = self.sites[site].process;
            self.agenda.note(until, Event::Lapse { site, process });
        }
    }

    /// The lease of a node may have run out. Whatever does not notice runs on, but not longer than the slack.
    pub(super) fn lapse(&mut self, site: usize, process: u64) {
        let place = &self.sites[site];
        if !place.is_alive || place.process != process {
            return;
        }
        let (local, clock, runs) = (self.local(site), place.clock, place.runs());
        let Some(node) = &mut self.nodes[site] else {
            return;
        };
        let Some(until) = node.region.acts_until() else {
            return;
        };
        if local < until {
            node.lapses_at = 0;
            self.plan_lapse(site, clock.moment_of(until));
            return;
        }
        node.in_time = false;
        if !runs {
            return;
        }
        let latest = self.now + self.slack().as_nanos() as u64;
        let Some(node) = &self.nodes[site] else {
            return;
        };
        for (shard, hosted) in node.hosted.iter().enumerate() {
            if let Some(ends) = hosted.as_ref().and_then(|hosted| hosted.blocks_until()) {
                self.oracle.runs_on(shard, process, ends.min(latest));
            }
        }
    }
}
