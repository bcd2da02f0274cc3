//! `Room`: how many more shards each node may be giving up.

use std::collections::BTreeMap;

use crate::{ControlState, Incarnation, Ownership};

/// How many more shards each node may be giving up.
pub(super) struct Room {
    most: usize,
    moving: BTreeMap<Incarnation, usize>,
}

impl Room {
    pub(super) fn of(state: &ControlState) -> Self {
        let mut moving = BTreeMap::new();
        let shards = state.groups().flat_map(|group| &group.shards);
        for ownership in shards {
            if let Ownership::Releasing { by, .. } = ownership {
                *moving.entry(*by).or_default() += 1;
            }
        }
        Self {
            most: usize::from(state.policy().most_moving),
            moving,
        }
    }

    pub(super) fn take(&mut self, from: Incarnation) -> bool {
        let moving = self.moving.entry(from).or_default();
        let has_room = *moving < self.most;
        *moving += usize::from(has_room);
        has_room
    }
}
