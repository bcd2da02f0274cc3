//! `Ownership`: who has a shard.
//!
//! ```text
//!               Grant                    BeginMove
//!   Unowned ─────────────▶ Owned(e) ─────────────────▶ Releasing(e)
//!      ▲                      │ Released(e)                │ Released(e)
//!      └──────────────────────┴────────────────────────────┘ or the end of the owner's incarnation
//! ```

use serde::{Deserialize, Serialize};

use crate::{Epoch, Incarnation};

/// Who has a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// Nobody.
    Unowned {
        /// The last ownership; zero if there was none.
        last: Epoch,
    },
    /// One run of a node.
    Owned {
        /// Which run.
        by: Incarnation,
        /// Which ownership.
        epoch: Epoch,
    },
    /// One run of a node, until it has given the shard up.
    Releasing {
        /// Which run.
        by: Incarnation,
        /// Which ownership.
        epoch: Epoch,
        /// Who shall have it next.
        to: Option<Incarnation>,
    },
}

impl Ownership {
    /// The owner and its epoch.
    pub fn owner(&self) -> Option<(Incarnation, Epoch)> {
        match *self {
            Self::Unowned { .. } => None,
            Self::Owned { by, epoch } | Self::Releasing { by, epoch, .. } => Some((by, epoch)),
        }
    }

    /// The latest ownership there has been.
    pub fn epoch(&self) -> Epoch {
        match *self {
            Self::Unowned { last } => last,
            Self::Owned { epoch, .. } | Self::Releasing { epoch, .. } => epoch,
        }
    }
}
