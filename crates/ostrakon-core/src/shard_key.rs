//! `ShardKey`: one shard among those of all groups.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{GroupName, ShardId};

/// A shard and the group it belongs to. Prints as `default/7`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ShardKey {
    /// The group.
    pub group: GroupName,
    /// The shard within it.
    pub shard: ShardId,
}

impl fmt::Display for ShardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group, self.shard)
    }
}
