//! Faults: what goes wrong, for how long, and how it ends.

use super::World;
use crate::{agenda::SECOND, event::Event, fault::Fault, setup::Plane};

impl World {
    /// Some things go wrong now, and others later.
    pub(super) fn trouble(&mut self) {
        if self.is_calm {
            return;
        }
        for _ in 0..self.dice.between(1, 3) {
            self.something_goes_wrong();
        }
        let pause = self.dice.between(3, 40) * SECOND;
        self.agenda.note(self.now + pause, Event::Trouble);
    }

    fn something_goes_wrong(&mut self) {
        let site = self.dice.index(self.sites.len());
        match self.dice.below(13) {
            0 => self.isolate(site),
            1 => self.cut_one_way(),
            2 => self.cut_in_two(),
            3 | 4 => self.deafen(),
            5 | 6 => self.pause(site),
            7 | 8 => self.crash(site),
            9 => self.leave(site),
            10 => {
                let loss = self.dice.between(50, 500);
                self.network.more_loss += loss;
                self.fault_ends_later(Fault::Loss(loss));
            }
            _ => self.trouble_the_log(),
        }
    }

    fn fault_ends_later(&mut self, fault: Fault) {
        let lasts = match self.dice.below(3) {
            0 => self.dice.between(SECOND, 5 * SECOND),
            1 => self.dice.between(5 * SECOND, 20 * SECOND),
            _ => self.dice.between(10 * SECOND, 60 * SECOND),
        };
        self.trace.write(self.now, || {
            format!("    fault for {}ms: {fault:?}", lasts / 1_000_000)
        });
        self.agenda.note(self.now + lasts, Event::FaultEnds(fault));
    }

    fn cut(&mut self, links: Vec<(usize, usize)>) {
        for (from, to) in &links {
            self.network.cut(*from, *to);
        }
        self.fault_ends_later(Fault::Cut(links));
    }

    /// A site reaches nobody, and nobody reaches it.
    fn isolate(&mut self, site: usize) {
        let all = 0..=self.sites.len();
        let links = all.flat_map(|other| [(site, other), (other, site)]);
        self.cut(links.collect());
    }

    fn cut_one_way(&mut self) {
        let ends = self.sites.len() + 1;
        let count = self.dice.between(1, 6);
        let links = (0..count).map(|_| (self.dice.index(ends), self.dice.index(ends)));
        let links = links.collect();
        self.cut(links);
    }

    /// Two halves that do not hear each other. The storage is with one of them.
    fn cut_in_two(&mut self) {
        let ends = self.sites.len() + 1;
        let halves: Vec<bool> = (0..ends).map(|_| self.dice.chance(500)).collect();
        let pairs = (0..ends).flat_map(|from| (0..ends).map(move |to| (from, to)));
        let links = pairs.filter(|(from, to)| halves[*from] != halves[*to]);
        self.cut(links.collect());
    }

    /// A node does not hear but is heard, or is not heard but hears: by managers, and by the storage if it is shared.
    fn deafen(&mut self) {
        let node = self.dice.index(self.setup.nodes);
        let deaf = self.dice.chance(500);
        let managers = (0..self.setup.managers).map(|manager| self.setup.manager_site(manager));
        let mut ends: Vec<usize> = managers.collect();
        if self.setup.shares_storage {
            // With the managers, or instead of them, or not at all.
            match self.dice.below(3) {
                0 => {}
                1 => ends = vec![self.setup.storage_site()],
                _ => ends.push(self.setup.storage_site()),
            }
        }
        let links = ends.into_iter().map(|end| match deaf {
            true => (end, node),
            false => (node, end),
        });
        self.cut(links.collect());
    }

    fn trouble_the_log(&mut self) {
        let manager = self.dice.index(self.setup.managers);
        let site = match self.setup.shares_storage && self.dice.chance(500) {
            true => self.dice.index(self.setup.nodes),
            false => self.setup.manager_site(manager),
        };
        let storage = self.setup.storage_site();
        match (self.setup.plane, self.dice.below(5)) {
            (Plane::Peer, 0..=2) => self.isolate(site),
            (Plane::Peer, _) => self.pause(site),
            (Plane::Managed, 0) => {
                self.storage.is_down = true;
                self.fault_ends_later(Fault::StorageDown);
            }
            (Plane::Managed, 1) => {
                self.storage.is_slow = true;
                self.fault_ends_later(Fault::StorageSlow);
            }
            (Plane::Managed, 2) => {
                let loses = self.dice.between(100, 700);
                self.storage.loses += loses;
                self.fault_ends_later(Fault::StorageLoses(loses));
            }
            (Plane::Managed, 3) => self.cut(vec![(storage, site)]),
            (Plane::Managed, _) => self.cut(vec![(site, storage), (storage, site)]),
        }
    }

    pub(super) fn fault_ends(&mut self, fault: &Fault) {
        if self.is_calm {
            return;
        }
        match fault {
            Fault::Cut(links) => {
                for (from, to) in links {
                    self.network.heal(*from, *to);
                }
            }
            Fault::Loss(loss) => self.network.more_loss -= loss,
            Fault::StorageDown => self.storage.is_down = false,
            Fault::StorageSlow => self.storage.is_slow = false,
            Fault::StorageLoses(loses) => self.storage.loses -= loses,
        }
    }
}
