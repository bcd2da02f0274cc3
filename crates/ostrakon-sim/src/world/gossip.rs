//! Gossip: what topologies hear, and what is done of what they want.
//!
//! It is advice. Whoever is found silent is reported to the coordinator, which asks whether that is so; nothing else comes of it.

use std::{collections::BTreeSet, rc::Rc};

use ostrakon_core::{
    Address, ConnectFailure, RegionInput, Topology, TopologyAction, TopologyInput, TopologyMember,
    TopologyMessage, TopologyStatus,
};

use super::World;
use crate::{
    agenda::{MILLI, SECOND},
    event::{Event, Local},
    gossiper::Gossiper,
    invariant::knows_itself,
    setup::at_address,
};

impl World {
    pub(super) fn gossip_begins(&mut self, site: usize) {
        let Some(gossip) = &self.setup.gossip else {
            return;
        };
        let process = self.sites[site].process;
        let mut config = gossip.config(site, process, &mut self.dice);
        config.seeds.extend(self.other_seeds[site].take());
        let address = config.address.clone();
        let topology = Topology::with_rules(self.local(site), config, self.rules)
            .expect("a config that can work");
        if let Some(node) = &mut self.nodes[site] {
            node.gossiper = Some(Gossiper::new(topology, address));
        }
        self.tell_gossiper(site, TopologyInput::Tick);
    }

    fn gossiper(&self, site: usize) -> Option<&Gossiper> {
        self.nodes[site].as_ref()?.gossiper.as_ref()
    }

    fn gossiper_mut(&mut self, site: usize) -> Option<&mut Gossiper> {
        self.nodes[site].as_mut()?.gossiper.as_mut()
    }

    pub(super) fn topology(&self, site: usize) -> Option<&Topology> {
        self.gossiper(site).map(|gossiper| &gossiper.topology)
    }

    pub(super) fn gossiper_wakes(&mut self, site: usize) {
        let due = self
            .gossiper(site)
            .is_some_and(|gossiper| gossiper.wakes_at <= self.now);
        if due {
            self.tell_gossiper(site, TopologyInput::Tick);
        }
    }

    pub(super) fn gossiper_hears(&mut self, site: usize, word: Rc<(Address, TopologyMessage)>) {
        let (from, message) = Rc::unwrap_or_clone(word);
        self.tell_gossiper(site, TopologyInput::Message { from, message });
    }

    pub(super) fn gossiper_is_refused(&mut self, site: usize, address: Address) {
        let failure = ConnectFailure::Refused;
        self.tell_gossiper(site, TopologyInput::Unreachable { address, failure });
    }

    /// A node has nothing left to do, and says goodbye before its process ends.
    pub(super) fn departs(&mut self, site: usize) {
        let Some(gossiper) = self.gossiper_mut(site) else {
            self.ends(site);
            return;
        };
        gossiper.is_leaving = true;
        self.tell_gossiper(site, TopologyInput::Leave);
    }

    /// Steps a topology and does what it wants.
    fn tell_gossiper(&mut self, site: usize, input: TopologyInput) {
        let now = self.local(site);
        let Some(gossiper) = self.gossiper_mut(site) else {
            return;
        };
        let actions = gossiper.topology.step(now, input);
        for action in actions {
            self.gossiper_acts(site, action);
        }
        self.plan_gossiper_wake(site);
    }

    fn plan_gossiper_wake(&mut self, site: usize) {
        let Some(gossiper) = self.gossiper(site) else {
            return;
        };
        let Some(time) = gossiper.topology.next_wakeup() else {
            return;
        };
        let at = self.wake_at(site, time);
        let is_planned = gossiper.wakes_at > self.now && gossiper.wakes_at <= at;
        if !is_planned {
            if let Some(gossiper) = self.gossiper_mut(site) {
                gossiper.wakes_at = at;
            }
            self.note(at - self.now, site, Local::GossiperWakes);
        }
    }

    fn gossiper_acts(&mut self, site: usize, action: TopologyAction) {
        self.trace
            .write(self.now, || format!("    gossip of node-{site}: {action}"));
        match action {
            TopologyAction::Send { to, message } => self.gossiper_says(site, to, message),
            TopologyAction::Changed { .. } => self.members_changed(site),
            TopologyAction::Formed { .. } => self.oracle.tally.clusters += 1,
            TopologyAction::Left => self.ends(site),
            TopologyAction::Replaced { by } => {
                let what = format!("node-{site} ends because there were another at {by}");
                self.oracle
                    .judge(self.now, "a node knows that it lives", Err(what));
            }
            TopologyAction::TwoClusters { ours, theirs, .. } => {
                let pause = self.dice.between(SECOND, 10 * SECOND);
                let joins = Event::JoinClusters { ours, theirs };
                self.agenda.note(self.now + pause, joins);
            }
            // Nothing is to be done about a word that came late or from another cluster.
            TopologyAction::Joined { .. } | TopologyAction::Rejected { .. } | _ => {}
        }
    }

    fn gossiper_says(&mut self, site: usize, address: Address, message: TopologyMessage) {
        let (to, process) = at_address(&address);
        let place = &self.sites[to];
        let is_there = process.is_none_or(|process| process == place.process);
        if place.is_alive && is_there {
            let Some(from) = self.gossiper(site).map(|gossiper| gossiper.address.clone()) else {
                return;
            };
            let word = Local::GossiperHears(Rc::new((from, message)));
            self.send_to(site, (to, process), &word);
        } else if self.network.joins(site, to) && self.dice.chance(500) {
            let delay = self.dice.between(MILLI, 50 * MILLI);
            self.note(delay, site, Local::GossiperIsRefused(Box::new(address)));
        }
    }

    fn members_changed(&mut self, site: usize) {
        let (now, local, process) = (self.now, self.local(site), self.sites[site].process);
        let mut down = BTreeSet::new();
        for node in 0..self.setup.nodes {
            let record = self.record(site, node).cloned();
            if node == site {
                let gossiper = self.gossiper(site);
                let leaves = gossiper.is_some_and(|gossiper| gossiper.is_leaving);
                let checked = knows_itself(record.as_ref().filter(|_| !leaves));
                self.oracle
                    .judge(now, "a node knows that it lives", checked);
            }
            let is_down = |record: &TopologyMember| record.status == TopologyStatus::Down;
            if record.as_ref().is_some_and(is_down) {
                down.insert(node);
            }
            let seen = record.map(|record| (record.generation, record.status));
            let checked = self
                .oracle
                .records_grow
                .sees(local, (process, site), node, seen);
            self.oracle.judge(now, "records grow", checked);
        }
        let Some(gossiper) = self.gossiper_mut(site) else {
            return;
        };
        let before = std::mem::replace(&mut gossiper.down, down.clone());
        for node in down.difference(&before) {
            self.oracle.tally.suspicions += 1;
            self.report_unreachable(site, *node);
        }
    }

    /// What one node knows of another.
    pub(super) fn record(&self, site: usize, of: usize) -> Option<&TopologyMember> {
        let gossip = self.setup.gossip.as_ref()?;
        self.topology(site)?.member(&gossip.names[of])
    }

    /// Gossip knows a name; which run that is was said with the map.
    fn report_unreachable(&mut self, site: usize, silent: usize) {
        let node = self.nodes[site].as_ref();
        let run = node.and_then(|node| node.runs.get(&silent).copied());
        if let Some(incarnation) = run {
            self.tell_node(site, RegionInput::Unreachable { incarnation });
        }
    }
}
