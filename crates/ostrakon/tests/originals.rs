//! What the two systems that Ostrakon succeeds assert of themselves on one node, asserted of Ostrakon.
//!
//! Shardcake and Casty each have a suite of their own. What those assert of entities and actors on one node has a test here,
//! written anew for this API; the comment above a test says which assertion it stands for. Not here is what needs a
//! second node, a store or a shared data structure.
//! Each scenario with entities runs twice: with messages passed as they are, and with messages that cross the codec.

#![allow(
    clippy::unwrap_used,
    reason = "scenarios and their entities are parts of tests"
)]

use std::time::Duration;

use ostrakon::NodeBuilder;

/// The last word on a scenario's node before it starts.
type Setup = fn(NodeBuilder) -> NodeBuilder;

/// What never comes ends a scenario after five minutes, which are soon over because time is paused.
async fn in_time(scenario: impl Future<Output = ()>) {
    let scenario = tokio::time::timeout(Duration::from_secs(300), scenario);
    scenario.await.expect("an event that never came");
}

/// Makes two tests of each scenario. Time is paused in both: it moves on only when everything else waits.
macro_rules! twice {
    ($($scenario:ident),* $(,)?) => {$(
        mod $scenario {
            #[tokio::test(start_paused = true)]
            async fn plain() {
                crate::in_time(super::$scenario(|builder| builder)).await;
            }

            #[tokio::test(start_paused = true)]
            async fn through_the_codec() {
                let forced = ostrakon::NodeBuilder::force_serialization;
                crate::in_time(super::$scenario(forced)).await;
            }
        }
    )*};
}

#[path = "originals/actors.rs"]
mod actors;
#[path = "originals/broadcast.rs"]
mod broadcast;
#[path = "originals/codecs.rs"]
mod codecs;
#[path = "originals/counter.rs"]
mod counter;
#[path = "originals/guild.rs"]
mod guild;
#[path = "originals/lifetimes.rs"]
mod lifetimes;
#[path = "originals/mailbox.rs"]
mod mailbox;
#[path = "originals/places.rs"]
mod places;
#[path = "originals/receptionist.rs"]
mod receptionist;
#[path = "originals/scheduler.rs"]
mod scheduler;
#[path = "originals/sending.rs"]
mod sending;
#[path = "originals/singleton.rs"]
mod singleton;
#[path = "originals/streaming.rs"]
mod streaming;
#[path = "originals/topology.rs"]
mod topology;
