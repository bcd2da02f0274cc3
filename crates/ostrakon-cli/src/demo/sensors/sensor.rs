//! `Sensor`: the entity that takes readings and keeps what they come to.
//!
//! Every reading is written into the [ledger](super::ledger) before it is answered, so that what was acknowledged outlives the process.
//! It judges nothing: that is for the [gateway](super::gateway).

use std::sync::Arc;

use ostrakon::{
    Context, EntityId, Failure, GroupName, Hosting, ShardCount, ShardGroup, ShardHash, entity,
};
use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, Life};

/// How many shards the sensors are cut into.
pub(crate) const SHARDS: u32 = 256;

/// How sensors are cut into shards.
pub(crate) fn group() -> ShardGroup {
    ShardGroup {
        name: GroupName::new("sensors").expect("a short name of letters"),
        count: ShardCount::new(SHARDS).expect("256 is not zero"),
        hash: ShardHash::default(),
    }
}

/// A sensor stays in memory, as it reports all the time.
pub(crate) fn hosting() -> Hosting {
    Hosting::default().group(group().name).keep_alive()
}

/// The id of the sensor with this number.
pub(crate) fn id(number: u32) -> String {
    format!("{PREFIX}{number}")
}

const PREFIX: &str = "sensor-";

pub(crate) struct Sensor {
    ledger: Arc<Ledger>,
    id: EntityId,
    /// `None` before the start.
    life: Option<Life>,
    aggregate: Aggregate,
}

/// What the readings of a sensor come to, in hundredths of a degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Aggregate {
    pub(crate) count: u64,
    pub(crate) sum: i64,
    pub(crate) min: i32,
    pub(crate) max: i32,
}

impl Default for Aggregate {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            min: i32::MAX,
            max: i32::MIN,
        }
    }
}

impl Aggregate {
    pub(crate) fn add(&mut self, reading: i32) {
        self.count += 1;
        self.sum += i64::from(reading);
        self.min = self.min.min(reading);
        self.max = self.max.max(reading);
    }
}

/// The ledger could not be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("not written: {0}")]
pub(crate) struct Unwritten(String);

#[entity(kind = "sensor")]
impl Sensor {
    pub(crate) fn new(ledger: &Arc<Ledger>, id: &EntityId) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            id: id.clone(),
            life: None,
            aggregate: Aggregate::default(),
        }
    }

    #[start]
    async fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let id = self.id.to_string();
        let number = id.strip_prefix(PREFIX).unwrap_or(&id).parse()?;
        let shard = group().shard_of(&self.id)?;
        let (life, aggregate) = self
            .ledger
            .begin(number, shard.index(), ctx.epoch().get())?;
        (self.life, self.aggregate) = (Some(life), aggregate);
        Ok(())
    }

    pub(crate) async fn report(&mut self, reading: i32) -> Result<(), Unwritten> {
        if let Some(life) = &self.life {
            let written = self.ledger.record(life, reading);
            written.map_err(|error| Unwritten(error.to_string()))?;
        }
        self.aggregate.add(reading);
        Ok(())
    }

    pub(crate) async fn aggregate(&self) -> Aggregate {
        self.aggregate
    }
}
