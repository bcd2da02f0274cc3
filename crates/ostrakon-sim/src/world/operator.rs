//! The operator: somebody who moves shards and changes the policy when least expected.

use ostrakon_core::{Command, CoordinatorInput, Moving, Ownership};

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
}
