//! The operator: somebody who moves shards and changes the policy when least expected, and joins clusters that were formed apart.

use ostrakon_core::{ClusterId, Command, CoordinatorInput, Moving, Ownership};

use super::World;
use crate::{agenda::SECOND, event::Event};

impl World {
    /// An operator wants some shard to be elsewhere.
    pub(super) fn operator_moves(&mut self) {
        if self.is_calm {
            return;
        }
        let pause = self.dice.between(5, 40) * SECOND;
        self.agenda.note(self.now + pause, Event::Move);
        let shard = self.setup.keys[self.dice.index(self.setup.keys.len())].clone();
        let Some(&manager) = self.leading().first() else {
            return;
        };
        let site = self.setup.manager_site(manager);
        let members = self.oracle.state.members();
        let members: Vec<_> = members.map(|(incarnation, _)| incarnation).collect();
        let owned = self.oracle.state.ownership(&shard);
        if let Some(Ownership::Owned { epoch, .. }) = owned
            && self.sites[site].runs()
            && !members.is_empty()
        {
            let to = Some(members[self.dice.index(members.len())]);
            let moving = Command::BeginMove(vec![Moving { shard, epoch, to }]);
            self.tell_manager(manager, CoordinatorInput::Propose(moving));
        }
    }

    pub(super) fn operator_sets_policy(&mut self) {
        let Some(policy) = self.setup.later_policy.clone() else {
            return;
        };
        if self.oracle.state.policy() == &policy {
            return;
        }
        let leading = self.leading();
        if let Some(&manager) = leading.first()
            && self.sites[self.setup.manager_site(manager)].runs()
        {
            self.tell_manager(
                manager,
                CoordinatorInput::Propose(Command::SetPolicy(policy)),
            );
        }
        let again = self.now + 5 * SECOND;
        self.agenda.note(again, Event::SetPolicy);
    }

    /// Two clusters were formed apart and have met: the nodes of the smaller are started again, with a seed in the other.
    pub(super) fn operator_joins_clusters(&mut self, one: ClusterId, other: ClusterId) {
        let members = |cluster: ClusterId| {
            let is_in = |node: &usize| {
                let topology = self.topology(*node);
                topology.and_then(|topology| topology.cluster()) == Some(cluster)
            };
            let found: Vec<usize> = (0..self.setup.nodes).filter(is_in).collect();
            (found.len(), cluster, found)
        };
        let (one, other) = (members(one), members(other));
        let ((_, _, smaller), (_, _, larger)) = (one.clone().min(other.clone()), one.max(other));
        let Some((to, gossip)) = larger.first().zip(self.setup.gossip.as_ref()) else {
            return;
        };
        let seed = gossip.address(*to, self.sites[*to].process);
        for site in smaller {
            self.other_seeds[site] = Some(seed.clone());
            self.ends(site);
        }
    }
}
