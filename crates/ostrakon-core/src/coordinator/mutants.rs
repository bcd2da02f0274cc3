//! What a coordinator does wrong when a rule is left out on purpose. Not part of any real one.

use super::{Coordinator, CoordinatorAction};
use crate::{Command, Entry, Handover, Index, Order, OwnedShard, Ownership, Rule, ToRegion};

impl Coordinator {
    /// Tells new owners of their shards before the log knows of it.
    pub(super) fn announce(
        &self,
        after: Index,
        entries: &[Entry],
        actions: &mut Vec<CoordinatorAction>,
    ) {
        if self.rules.keep(Rule::CommitBeforeActing) {
            return;
        }
        let mut at = after;
        for entry in entries {
            at = at.next();
            let Command::Grant(grants) = &entry.command else {
                continue;
            };
            let owners = grants.iter().map(|grant| grant.to).collect();
            for mut holdings in self.holdings(&owners) {
                let to = holdings.incarnation;
                holdings.at = at;
                let granted = grants.iter().filter(|grant| grant.to == to);
                holdings.shards.extend(granted.map(|grant| OwnedShard {
                    shard: grant.shard.clone(),
                    epoch: at.into(),
                    order: Order::Serve,
                }));
                self.send(to, ToRegion::Holdings(holdings), actions);
            }
        }
    }

    /// Takes shards for released that their owners have not released.
    pub(super) fn lose_patience(&mut self) {
        if self.rules.keep(Rule::NoGrantByTimeout) {
            return;
        }
        let shards = self.state.groups().flat_map(|group| group.iter());
        let overdue = shards.filter_map(|(shard, ownership)| match ownership {
            Ownership::Releasing { epoch, .. } => Some(Handover { shard, epoch }),
            Ownership::Owned { .. } | Ownership::Unowned { .. } => None,
        });
        let overdue: Vec<_> = overdue.collect();
        if !overdue.is_empty() {
            self.propose(Command::Released(overdue));
        }
    }
}
