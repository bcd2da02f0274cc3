//! `GroupState`: a group and the owners of its shards.

use serde::{Deserialize, Serialize};

use super::{Change, GroupSpec, Ownership};
use crate::{Incarnation, ShardId, ShardKey};

/// A group and the owners of its shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupState {
    /// How it was created.
    pub spec: GroupSpec,
    /// By [`ShardId::index`].
    pub shards: Vec<Ownership>,
}

impl GroupState {
    /// Every shard with its owner.
    pub fn iter(&self) -> impl Iterator<Item = (ShardKey, Ownership)> {
        let keys = (0..).map(|index| ShardKey {
            group: self.spec.name.clone(),
            shard: ShardId::from_index(index),
        });
        keys.zip(self.shards.iter().copied())
    }

    pub(super) fn lose(&mut self, incarnation: Incarnation, changes: &mut Vec<Change>) {
        let name = &self.spec.name;
        for (index, ownership) in (0..).zip(&mut self.shards) {
            match *ownership {
                Ownership::Owned { by, epoch } | Ownership::Releasing { by, epoch, .. }
                    if by == incarnation =>
                {
                    *ownership = Ownership::Unowned { last: epoch };
                    let shard = ShardKey {
                        group: name.clone(),
                        shard: ShardId::from_index(index),
                    };
                    changes.push(Change::Freed { shard, by, epoch });
                }
                Ownership::Releasing { by, epoch, to } if to == Some(incarnation) => {
                    *ownership = Ownership::Releasing {
                        by,
                        epoch,
                        to: None,
                    };
                }
                Ownership::Unowned { .. }
                | Ownership::Owned { .. }
                | Ownership::Releasing { .. } => {}
            }
        }
    }
}
