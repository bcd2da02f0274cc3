//! Processes: how they begin, stop for a while, go on, and end.

use super::World;
use crate::{
    agenda::{Moment, SECOND},
    event::{Event, Local},
    setup::Plane,
};

impl World {
    /// A process is no more, and another begins some time later.
    pub(super) fn ends(&mut self, site: usize) {
        let pause = match self.is_calm {
            true => SECOND,
            false => self.dice.between(SECOND / 10, 40 * SECOND),
        };
        self.ends_for(site, pause);
    }

    /// A process is no more, and the next begins after this time; whoever was connected to it will notice.
    pub(super) fn ends_for(&mut self, site: usize, pause: Moment) {
        let process = self.sites[site].process;
        self.trace
            .write(self.now, || format!("    process {process} at {site} ends"));
        let place = &mut self.sites[site];
        (place.is_alive, place.is_paused) = (false, false);
        place.backlog.clear();
        if let Some(manager) = self.setup.manager_at(site) {
            self.managers[manager] = None;
        }
        if site < self.setup.nodes {
            self.nodes[site] = None;
            self.oracle.process_ends(process);
            self.break_streams_to(process);
        }
        self.agenda
            .note(self.now + pause, Event::Restart { site, process });
    }

    pub(super) fn restart(&mut self, site: usize, process: u64) {
        let is_gone = self.is_calm && self.setup.gone == Some(site);
        if is_gone || self.sites[site].is_alive || self.sites[site].process != process {
            return;
        }
        self.processes += 1;
        let place = &mut self.sites[site];
        (place.process, place.is_alive) = (self.processes, true);
        place.last_pause = (0, 0);
        if let Some(manager) = self.setup.manager_at(site) {
            self.manager_begins(manager);
        }
        if site < self.setup.nodes {
            self.node_begins(site);
        }
    }

    /// Voters do not leave: somebody has to keep the log.
    pub(super) fn may_leave(&self, site: usize) -> bool {
        site < self.setup.nodes
            && (self.setup.plane == Plane::Managed || site >= self.setup.managers)
    }

    /// A process stops, and its clock does not.
    pub(super) fn pause(&mut self, site: usize) {
        if !self.sites[site].runs() {
            return;
        }
        let place = &mut self.sites[site];
        place.is_paused = true;
        place.last_pause = (self.now, self.now);
        let process = place.process;
        let lasts = match self.dice.chance(500) {
            true => self.dice.between(SECOND, 8 * SECOND),
            false => self.dice.between(8 * SECOND, 60 * SECOND),
        };
        self.agenda
            .note(self.now + lasts, Event::Resume { site, process });
    }

    /// All that has come meanwhile is found at once, in order.
    pub(super) fn resume(&mut self, site: usize, process: u64) {
        let place = &mut self.sites[site];
        if !place.is_paused || place.process != process {
            return;
        }
        place.is_paused = false;
        place.last_pause.1 = self.now;
        let backlog: Vec<Local> = std::mem::take(&mut place.backlog);
        for what in backlog {
            self.note(0, site, what);
        }
    }

    pub(super) fn crash(&mut self, site: usize) {
        if self.sites[site].is_alive {
            self.ends(site);
        }
    }

    pub(super) fn leave(&mut self, site: usize) {
        if self.may_leave(site) && self.sites[site].runs() {
            self.tell_node(site, ostrakon_core::RegionInput::Leave);
        }
    }
}
