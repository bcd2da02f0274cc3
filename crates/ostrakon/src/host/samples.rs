//! `Samples`: what is known of a kind from the few messages that are timed.
//!
//! It is filled by [turns](super::turn), one message in 32, and read by the [janitor](super::janitor) once a second.

use std::time::Duration;

use ostrakon_core::EntityId;

use super::{hot_spots::HotSpots, latencies::Latencies};

/// What is kept from one second to the next: half of it is forgotten in five.
const KEEP: f32 = 0.87;

#[derive(Default)]
pub(crate) struct Samples {
    pub(crate) spots: HotSpots,
    pub(crate) latencies: Latencies,
}

impl Samples {
    /// An entity, its key and how long it took.
    pub(crate) fn note(&mut self, key: u64, id: &EntityId, took: Duration) {
        self.spots.note(key, id);
        self.latencies.note(took);
    }

    /// A second is over.
    pub(crate) fn fade(&mut self) {
        self.spots.fade(KEEP);
        self.latencies.fade(KEEP);
    }
}
