//! Managers: what coordinators hear, and what is done of what they want.

use std::{rc::Rc, time::Duration};

use ostrakon_core::{
    Command, Coordinator, CoordinatorAction, CoordinatorInput, DeathProof, Incarnation, Liveness,
    NodeName, ToCoordinator,
};

use super::World;
use crate::{
    agenda::{MILLI, SECOND},
    event::{Local, Told},
    log_request::{LogRequest, Reader},
    manager::Manager,
    mutant::Mutant,
    setup::{Plane, node_of, process_of},
};

/// How often a manager looks after itself.
const TICK: u64 = SECOND;

impl World {
    pub(super) fn manager_begins(&mut self, manager: usize) {
        let site = self.setup.manager_site(manager);
        let name = NodeName::new(format!("manager-{manager}")).expect("a node name");
        let coordinator = Coordinator::with_rules(name, self.sites[site].process, self.rules);
        let patience = Duration::from_millis(self.dice.between(2500, 5000));
        let started = Manager::new(coordinator, self.local(site), patience);
        self.managers[manager] = Some(started);
        if self.setup.plane == Plane::Peer {
            self.voters.voters[manager].contact = self.local(site);
            self.voters.voters[manager].leads = None;
        }
        let pause = self.dice.below(TICK);
        self.note(pause, site, Local::ManagerTicks);
    }

    pub(super) fn manager_wakes(&mut self, site: usize) {
        let Some(manager) = self.setup.manager_at(site) else {
            return;
        };
        let due = self.managers[manager]
            .as_ref()
            .is_some_and(|one| one.wakes_at <= self.now);
        if due {
            self.tell_manager(manager, CoordinatorInput::Wake);
        }
    }

    pub(super) fn manager_hears(&mut self, site: usize, from: usize, message: ToCoordinator) {
        let Some(manager) = self.setup.manager_at(site) else {
            return;
        };
        let Some(one) = &mut self.managers[manager] else {
            return;
        };
        match &message {
            ToCoordinator::Renew {
                incarnation,
                seq,
                ok_seq,
                ..
            } => {
                one.spoke_from.insert(*incarnation, from);
                if one.coordinator.leads().is_some() {
                    let who = (manager, *incarnation);
                    self.oracle.own_pause.heard(self.now, who, *seq, *ok_seq);
                }
            }
            ToCoordinator::Gone { incarnation } => {
                one.spoke_from.insert(*incarnation, from);
            }
            ToCoordinator::Register { .. }
            | ToCoordinator::Released { .. }
            | ToCoordinator::Leave { .. }
            | ToCoordinator::Unreachable { .. }
            | ToCoordinator::Wanted { .. } => {}
        }
        self.tell_manager(manager, CoordinatorInput::Heard(message));
    }

    pub(super) fn manager_learns(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        answer: Liveness,
    ) {
        if let Some(manager) = self.setup.manager_at(site) {
            self.tell_manager(
                manager,
                CoordinatorInput::Health {
                    incarnation,
                    answer,
                },
            );
        }
    }

    /// Steps a coordinator and does what it wants.
    pub(super) fn tell_manager(&mut self, manager: usize, input: CoordinatorInput) {
        let site = self.setup.manager_site(manager);
        let now = self.local(site);
        let Some(one) = &mut self.managers[manager] else {
            return;
        };
        let actions = one.coordinator.step(now, input);
        for action in actions {
            self.manager_acts(manager, site, action);
        }
        self.plan_wake(manager, site);
    }

    fn plan_wake(&mut self, manager: usize, site: usize) {
        let Some(one) = &self.managers[manager] else {
            return;
        };
        let Some(time) = one.coordinator.next_wakeup() else {
            return;
        };
        let at = self.wake_at(site, time);
        let is_planned = one.wakes_at > self.now && one.wakes_at <= at;
        if !is_planned {
            if let Some(one) = &mut self.managers[manager] {
                one.wakes_at = at;
            }
            self.note(at - self.now, site, Local::ManagerWakes);
        }
    }

    fn manager_acts(&mut self, manager: usize, site: usize, action: CoordinatorAction) {
        self.trace
            .write(self.now, || format!("    manager-{manager} {action:?}"));
        match action {
            CoordinatorAction::Append { id, after, entries } => {
                self.check_expiries(manager, site, entries.iter().map(|entry| &entry.command));
                let leads = self.leads_peers(manager);
                let entries: Vec<_> = entries.into_iter().map(Rc::new).collect();
                let unmoved = self.unmoved(manager, &entries);
                self.ask_log(
                    manager,
                    LogRequest::Append {
                        id,
                        after,
                        known: after,
                        entries,
                        unmoved,
                        leads,
                    },
                );
            }
            CoordinatorAction::Read => self.read_log(manager, Reader::Coordinator),
            CoordinatorAction::Confirm { id } => {
                let leads = self.leads_peers(manager);
                let one = self.managers[manager].as_ref();
                let term = one.and_then(|one| one.coordinator.leads());
                self.ask_log(manager, LogRequest::Confirm { id, term, leads });
            }
            CoordinatorAction::Send { to, message } => {
                let what = Local::NodeHears(Box::new(message));
                self.send(site, node_of(&to.name), &what);
            }
            CoordinatorAction::SendToRun {
                incarnation,
                message,
            } => {
                let one = self.managers[manager].as_ref();
                let to = one.and_then(|one| one.spoke_from.get(&incarnation).copied());
                if let Some(to) = to {
                    self.send(site, to, &Local::NodeHears(Box::new(message)));
                }
            }
            CoordinatorAction::Probe { incarnation } => self.probe(manager, site, incarnation),
        }
    }

    fn check_expiries<'c>(
        &mut self,
        manager: usize,
        site: usize,
        commands: impl Iterator<Item = &'c Command>,
    ) {
        for command in commands {
            let Command::Expire { incarnation } = command else {
                continue;
            };
            let member = self.oracle.state.member(*incarnation);
            let Some(timing) = member.and_then(|member| member.failover.lease()) else {
                continue;
            };
            let pause = self.sites[site].last_pause;
            let wait = timing.times().wait;
            // It notices pauses by the present policy, which need not be that of the node.
            let lease = self.oracle.state.policy().failover.lease();
            let renew = lease.unwrap_or(timing).times().renew;
            let renew = renew.max(timing.times().renew).max(Duration::from_secs(2));
            let is_long = pause.1 - pause.0 > 2 * renew.as_nanos() as u64;
            if is_long {
                let who = (manager, *incarnation);
                let checked = self.oracle.own_pause.expires(self.now, who, pause, wait);
                self.oracle
                    .judge(self.now, "own pause is not theirs", checked);
            }
        }
    }

    /// Asks whether a run of a node is over. Only the end of its process is proof.
    fn probe(&mut self, manager: usize, site: usize, incarnation: Incarnation) {
        let one = self.managers[manager].as_ref();
        let member = one.and_then(|one| one.coordinator.state().member(incarnation));
        let Some(registration) = member.map(|member| &member.registration) else {
            return;
        };
        let node = node_of(&registration.name);
        let process = process_of(registration.nonce);
        let place = &self.sites[node];
        let is_over = place.process != process || !place.is_alive;
        let is_silent = !place.runs() || !self.network.joins(site, node);
        let is_known = self.is_calm || self.dice.chance(self.setup.health);
        let answer = match () {
            () if self.is(Mutant::SilenceIsDeath) && is_silent => {
                Liveness::Dead(DeathProof::ProcessGone)
            }
            () if is_over && is_known && self.setup.health > 0 => {
                Liveness::Dead(DeathProof::ProcessGone)
            }
            () if !is_over && is_known => Liveness::Alive,
            () => Liveness::Unknown,
        };
        let delay = self.dice.between(10 * MILLI, 3 * SECOND);
        self.note(
            delay,
            site,
            Local::Health {
                incarnation,
                answer,
            },
        );
    }

    /// What a manager does now and then, whether it leads or not.
    pub(super) fn manager_ticks(&mut self, site: usize) {
        let Some(manager) = self.setup.manager_at(site) else {
            return;
        };
        match self.setup.plane {
            Plane::Managed => self.succeed(manager, site),
            Plane::Peer => self.elect(manager, site),
        }
        self.send_map(manager, site);
        let pause = self.dice.between(TICK * 8 / 10, TICK);
        self.note(pause, site, Local::ManagerTicks);
    }

    /// Whoever leads tells all nodes who owns what.
    fn send_map(&mut self, manager: usize, site: usize) {
        let now = self.local(site);
        let Some(one) = &mut self.managers[manager] else {
            return;
        };
        let version = one.coordinator.state().applied().into();
        let (sent, at) = one.map_sent;
        let is_old = now.saturating_since(at) > Duration::from_secs(5);
        if one.coordinator.leads().is_none() || (sent == version && !is_old) {
            return;
        }
        one.map_sent = (version, now);
        let state = one.coordinator.state();
        let members = state.members();
        let runs = members.map(|(run, member)| (node_of(&member.registration.name), run));
        let told = Rc::new(Told {
            map: state.map(),
            runs: runs.collect(),
        });
        for node in 0..self.setup.nodes {
            self.send(site, node, &Local::NodeGetsMap(Rc::clone(&told)));
        }
    }
}
