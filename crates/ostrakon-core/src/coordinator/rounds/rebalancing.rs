//! `Rebalancing`: whether shards are moved for the sake of balance.

use serde::{Deserialize, Serialize};

/// Whether shards are moved for the sake of balance.
///
/// Shards without an owner get one in any case, and nodes that leave are emptied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rebalancing {
    /// They are.
    #[default]
    On,
    /// They are not, until an operator says otherwise.
    Frozen,
}

impl Rebalancing {
    /// Whether they are. It is not stored then, so that logs are the same as before it could be frozen.
    pub(crate) fn is_on(&self) -> bool {
        *self == Self::On
    }
}
