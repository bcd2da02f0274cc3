//! `PlannedMove`: a shard that is to get another owner, and why.

use crate::{ControlState, Granting, Incarnation, MoveReason, Moving, ShardKey};

/// A shard that is to get another owner, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMove {
    /// Which shard.
    pub shard: ShardKey,
    /// Who has it now and must let go first.
    pub from: Option<Incarnation>,
    /// Who shall have it; `None` if that is decided later.
    pub to: Option<Incarnation>,
    /// Why.
    pub reason: MoveReason,
}

impl PlannedMove {
    /// What to write into the log if nobody has to let go.
    pub(super) fn granting(&self) -> Option<Granting> {
        let to = self.to.filter(|_| self.from.is_none())?;
        let shard = self.shard.clone();
        Some(Granting { shard, to })
    }

    /// What to write into the log if somebody has to let go.
    pub(super) fn moving(&self, state: &ControlState) -> Option<Moving> {
        self.from?;
        let (_, epoch) = state.ownership(&self.shard)?.owner()?;
        Some(Moving {
            shard: self.shard.clone(),
            epoch,
            to: self.to,
        })
    }
}
