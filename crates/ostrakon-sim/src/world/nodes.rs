//! Nodes: what regions hear, and what is done of what they want.

use ostrakon_core::{Handover, Region, RegionAction, RegionInput, ToCoordinator, ToRegion};

use super::World;
use crate::{
    agenda::SECOND,
    event::{Local, Told},
    node::Node,
};

impl World {
    pub(super) fn node_begins(&mut self, site: usize) {
        let process = self.sites[site].process;
        let registration = self.setup.registration(site, process, self.now);
        let slack = self.slack();
        let region = Region::with_rules(registration, slack, self.rules);
        self.nodes[site] = Some(Node::new(region, self.now, self.setup.keys.len()));
        let pause = self.dice.below(SECOND);
        self.note(pause, site, Local::NodeWakes);
        self.note(SECOND + pause, site, Local::Client);
        self.gossip_begins(site);
    }

    /// What runs at the end of a lease runs on for so long, under every policy there will be.
    pub(super) fn slack(&self) -> std::time::Duration {
        let policies = [Some(&self.setup.policy), self.setup.later_policy.as_ref()];
        let leases = policies
            .into_iter()
            .flatten()
            .filter_map(|policy| policy.failover.lease());
        let slacks = leases.map(|timing| timing.times().slack);
        slacks
            .min()
            .unwrap_or(std::time::Duration::from_millis(500))
    }

    pub(super) fn node_wakes(&mut self, site: usize) {
        let due = self.nodes[site]
            .as_ref()
            .is_some_and(|node| node.wakes_at <= self.now);
        if due {
            self.tell_node(site, RegionInput::Wake);
        }
    }

    pub(super) fn node_gets_map(&mut self, site: usize, told: &Told) {
        if let Some(node) = &mut self.nodes[site] {
            node.runs.clone_from(&told.runs);
        }
        self.tell_node(site, RegionInput::Map(told.map.clone()));
        for shard in 0..self.setup.keys.len() {
            let waits = self.nodes[site]
                .as_ref()
                .is_some_and(|node| !node.lanes[shard].window.is_empty());
            if waits {
                self.pump(site, shard);
            }
        }
    }

    pub(super) fn node_hears(&mut self, site: usize, message: ToRegion) {
        if let ToRegion::RenewOk { incarnation, seq } = message {
            let process = self.sites[site].process;
            self.oracle.deadline.answered(process, incarnation, seq);
        }
        self.tell_node(site, RegionInput::Heard(message));
    }

    /// Steps a region and does what it wants.
    pub(super) fn tell_node(&mut self, site: usize, input: RegionInput) {
        let (now, process) = (self.local(site), self.sites[site].process);
        let Some(node) = &mut self.nodes[site] else {
            return;
        };
        let offered = if let RegionInput::Heard(ToRegion::Registered { failover, .. }) = &input {
            Some(*failover)
        } else {
            None
        };
        let matters = matches!(input, RegionInput::Heard(_) | RegionInput::Quiet { .. });
        let before = node.region.incarnation();
        let actions = node.region.step(now, input);
        let run = node.region.incarnation().filter(|run| before != Some(*run));
        if let Some((run, failover)) = run.zip(offered) {
            self.oracle.became_member(process, run, failover);
        }
        for action in actions {
            self.node_acts(site, action);
        }
        if matters {
            self.watch_node(site);
        }
        self.plan_node_wake(site);
    }

    fn plan_node_wake(&mut self, site: usize) {
        let Some(node) = &self.nodes[site] else {
            return;
        };
        let Some(time) = node.region.next_wakeup() else {
            return;
        };
        let at = self.wake_at(site, time);
        let is_planned = node.wakes_at > self.now && node.wakes_at <= at;
        if !is_planned {
            if let Some(node) = &mut self.nodes[site] {
                node.wakes_at = at;
            }
            self.note(at - self.now, site, Local::NodeWakes);
        }
    }

    fn node_acts(&mut self, site: usize, action: RegionAction) {
        self.trace
            .write(self.now, || format!("    node-{site} {action:?}"));
        let process = self.sites[site].process;
        match action {
            RegionAction::Send(message) => self.node_says(site, message),
            RegionAction::Open { shard, epoch } => {
                let shard = self.setup.number(&shard);
                self.oracle.opened(self.now, process, shard, epoch);
                self.open(site, shard, epoch);
            }
            RegionAction::Drain { shard, epoch } => {
                let number = self.setup.number(&shard);
                self.drain(site, number, epoch);
            }
            RegionAction::Fence { shard, epoch } => {
                let shard = self.setup.number(&shard);
                self.fence(site, shard, epoch);
            }
            RegionAction::Refused { .. } => {}
            RegionAction::Left => self.departs(site),
        }
    }

    /// Whatever a node says, it says to all that could be the coordinator.
    fn node_says(&mut self, site: usize, message: ToCoordinator) {
        let (now, process) = (self.local(site), self.sites[site].process);
        match &message {
            ToCoordinator::Renew { seq, .. } => self.oracle.deadline.renews(process, *seq, now),
            ToCoordinator::Released { shards, .. } => {
                for Handover { shard, epoch } in shards {
                    let shard = self.setup.number(shard);
                    let node = self.nodes[site].as_ref();
                    let hosted = node.and_then(|node| node.hosted[shard].as_ref());
                    let hosted = hosted.filter(|hosted| hosted.epoch == *epoch);
                    let left = hosted.map_or((0, 0), |hosted| (hosted.running(), hosted.queued()));
                    self.oracle
                        .gave_up(self.now, process, (shard, *epoch), left);
                }
            }
            ToCoordinator::Register { .. }
            | ToCoordinator::Leave { .. }
            | ToCoordinator::Gone { .. }
            | ToCoordinator::Unreachable { .. }
            | ToCoordinator::Wanted { .. } => {}
        }
        self.renew_in_storage(site, &message);
        for manager in 0..self.setup.managers {
            let to = self.setup.manager_site(manager);
            let message = Box::new(message.clone());
            self.send(
                site,
                to,
                &Local::ManagerHears {
                    from: site,
                    message,
                },
            );
        }
    }
}
