//! What the driver does with shards: opens them, and empties them before they are given up or opened again.

use std::sync::Arc;

use ostrakon_core::{Epoch, RegionInput, ShardKey};

use super::{Driver, Event};
use crate::{
    link::Hub,
    plane::emptying::{Manner, Next},
};

impl Driver {
    pub(super) fn open(&mut self, hub: &Arc<Hub>, shard: &ShardKey, epoch: Epoch) {
        self.changed = true;
        if self.emptying.opens(shard, epoch) {
            hub.open_shard(&shard.group, shard.shard, epoch);
        }
    }

    /// Empties a shard, and says so when it is done.
    pub(super) fn empty(&mut self, hub: &Arc<Hub>, shard: ShardKey, epoch: Epoch, manner: Manner) {
        self.changed = true;
        if !self.emptying.empties(&shard, epoch, manner) {
            return;
        }
        let (events, hub) = (self.events.clone(), Arc::clone(hub));
        let runtime = hub.runtime.clone();
        runtime.spawn(async move {
            match manner {
                Manner::Drain => hub.close_shard(&shard.group, shard.shard).await,
                Manner::Fence => hub.fence_shard(&shard.group, shard.shard).await,
            }
            // The node may be gone.
            let _ = events.send(Event::Ended { shard, epoch }).await;
        });
    }

    pub(super) fn ended(&mut self, hub: &Arc<Hub>, shard: &ShardKey, epoch: Epoch) {
        let Some(next) = self.emptying.ended(shard) else {
            return;
        };
        let quiet = |epoch| RegionInput::Quiet {
            shard: shard.clone(),
            epoch,
        };
        self.step(hub, quiet(epoch));
        match next {
            Next::Nothing => {}
            Next::Skip(epoch) => self.step(hub, quiet(epoch)),
            Next::Open(epoch) => self.open(hub, shard, epoch),
        }
    }
}
