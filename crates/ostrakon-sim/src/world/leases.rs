//! Leases in the storage: nodes count there, leaders look how far, and whatever expires a run names the count that it was decided on.
//!
//! The storage answers whoever counts, whether any manager runs or not. It knows no time: how long a count has stood still is seen by
//! those who look at it.

use std::rc::Rc;

use ostrakon_core::{
    AppendOutcome, CoordinatorInput, Counted, Entry, Incarnation, ToCoordinator, ToRegion,
};

use super::World;
use crate::{
    event::{Event, Local},
    log_request::LogRequest,
    mutant::Mutant,
    setup::Plane,
};

impl World {
    /// What a node says to managers to keep its lease, it also writes into the storage.
    pub(super) fn renew_in_storage(&mut self, site: usize, message: &ToCoordinator) {
        let node = self.nodes[site].as_ref();
        let has_lease = node.is_some_and(|node| node.region.acts_until().is_some());
        let ToCoordinator::Renew {
            incarnation,
            seq,
            ok_seq,
            ..
        } = *message
        else {
            return;
        };
        let storage = self.setup.storage_site();
        // Who is not answered for long has no connection, and who has none cannot ask.
        let is_connected = !self.is_calm || self.network.joins(site, storage);
        if !self.setup.shares_storage || !has_lease || !is_connected {
            return;
        }
        let process = self.sites[site].process;
        let copies = self.network.copies(site, storage, &mut self.dice);
        for delay in copies.into_iter().flatten() {
            let at = self.now + delay + self.storage.delay(&mut self.dice);
            let counted = Counted { seq, ok_seq };
            self.agenda.note(
                at,
                Event::Renewal {
                    site,
                    process,
                    incarnation,
                    counted,
                },
            );
        }
    }

    pub(super) fn renewal_arrives(
        &mut self,
        site: usize,
        process: u64,
        incarnation: Incarnation,
        counted: Counted,
    ) {
        if self.storage.is_down {
            return;
        }
        let seq = counted.seq;
        let answer = match self.storage.renew(incarnation, counted) {
            true => ToRegion::RenewOk { incarnation, seq },
            false => ToRegion::Ended { incarnation },
        };
        if self.dice.chance(self.storage.loses) {
            return;
        }
        let what = Local::NodeHears(Box::new(answer));
        let storage = self.setup.storage_site();
        self.send_to(storage, (site, Some(process)), &what);
    }

    pub(super) fn look_at_leases(&mut self, manager: usize) {
        if self.setup.shares_storage {
            self.ask_log(manager, LogRequest::Leases);
        }
    }

    /// How far those have counted whom these entries would expire, as far as their coordinator knows.
    pub(super) fn unmoved(
        &self,
        manager: usize,
        entries: &[Rc<Entry>],
    ) -> Vec<(Incarnation, Counted)> {
        let Some(one) = &self.managers[manager] else {
            return Vec::new();
        };
        if self.setup.plane == Plane::Peer || self.is(Mutant::ExpireWithoutCount) {
            return Vec::new();
        }
        one.coordinator.unmoved(entries.iter().map(Rc::as_ref))
    }

    /// Nothing was appended, because one whom it would have expired has counted its lease.
    pub(super) fn renewed_meanwhile(&mut self, manager: usize, id: u64, refused: LogRequest) {
        if let LogRequest::Append {
            after,
            known,
            entries,
            leads,
            ..
        } = refused
            && self.is(Mutant::AbsolvedIsStillExpired)
        {
            let unmoved = self.unmoved(manager, &entries);
            let again = LogRequest::Append {
                id,
                after,
                known,
                entries,
                unmoved,
                leads,
            };
            self.ask_log(manager, again);
            return;
        }
        let outcome = AppendOutcome::Renewed;
        self.tell_manager(manager, CoordinatorInput::AppendEnded { id, outcome });
    }
}
