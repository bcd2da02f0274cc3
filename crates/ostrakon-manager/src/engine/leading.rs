//! What the engine does every second while its coordinator leads.

use ostrakon_control::Seat;
use ostrakon_core::{Incarnation, Term};

use super::{COMPACT_AFTER, Engine};
use crate::{event::Happening, leading::Leading, view::View};

impl Engine {
    /// Gives a sign of life to other managers, and looks for that of nodes, where there may be any.
    pub(super) fn count(&mut self, term: Term) {
        if !matches!(self.parts.leading, Leading::While(_)) {
            self.beats += 1;
            self.parts.keeper.beat(term, self.beats);
        }
        if self.parts.leading.shares_leases() && self.has_leases() {
            self.parts.keeper.look_at_leases();
        }
    }

    /// Says it when a node is silent that nobody can prove dead.
    pub(super) fn note_silence(&mut self) {
        let silent = self.coordinator.silent(self.clock.now());
        let mut view = self.view();
        let member = |view: &View, run: Incarnation| {
            let member = view.state().member(run)?;
            Some((member.registration.name.clone(), member.failover))
        };
        for incarnation in view.silent().clone() {
            if !silent.contains(&incarnation) && view.heard(incarnation) {
                let Some((node, _)) = member(&view, incarnation) else {
                    continue;
                };
                view.happened(None, Happening::HeardAgain { node, incarnation });
            }
        }
        for incarnation in silent {
            if !view.fell_silent(incarnation) {
                continue;
            }
            let Some((node, failover)) = member(&view, incarnation) else {
                continue;
            };
            let remedy = match failover.lease() {
                Some(_) => "its shards go to others when its lease has run out".to_owned(),
                None => format!(
                    "its shards stay with it until it is heard or known to be dead: if it is, run `ostrakon nodes confirm-dead {node}`; or let leases run out with failover = \"lease\""
                ),
            };
            tracing::warn!(%node, %incarnation, remedy, "a node is silent");
            view.happened(
                None,
                Happening::Silent {
                    node,
                    incarnation,
                    remedy,
                },
            );
        }
    }

    pub(super) fn has_leases(&self) -> bool {
        let mut members = self.coordinator.state().members();
        members.any(|(_, member)| member.failover.lease().is_some())
    }

    pub(super) fn compact(&mut self) {
        let applied = self.coordinator.state().applied();
        if applied.get() - self.compacted.get() >= COMPACT_AFTER {
            self.compacted = applied;
            let snapshot = self.coordinator.state().snapshot();
            self.parts.keeper.compact(snapshot);
        }
    }

    pub(super) fn gauge(&self) {
        let state = self.coordinator.state();
        metrics::gauge!("ostrakon_manager_leads")
            .set(f64::from(u8::from(self.coordinator.leads().is_some())));
        metrics::gauge!("ostrakon_manager_nodes").set(state.members().len() as f64);
        metrics::gauge!("ostrakon_manager_callers", "seat" => "node")
            .set(self.switchboard.count(Seat::Node) as f64);
        metrics::gauge!("ostrakon_manager_callers", "seat" => "client")
            .set(self.switchboard.count(Seat::Client) as f64);
        metrics::gauge!("ostrakon_manager_log_index").set(state.applied().get() as f64);
    }
}
