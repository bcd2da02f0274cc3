//! When entities end, and what is left of them afterwards.

use std::time::Duration;

use ostrakon::{AskError, Hosting, Outcome};
use tokio::time::{Instant, sleep};

use crate::{
    Setup,
    counter::{Counter, counters},
};

twice! {
    an_idle_entity_ends_and_starts_afresh,
    an_entity_can_end_itself,
    a_message_in_time_extends_a_life,
    a_failure_is_told_and_the_entity_starts_afresh,
    a_failure_stays_with_its_entity,
}

fn idle_after(seconds: u64) -> Hosting {
    Hosting::default().idle_after(Duration::from_secs(seconds))
}

// Shardcake, sharding suite: idle time 1 s; the counter reads 1, and three seconds later 0.
async fn an_idle_entity_ends_and_starts_afresh(setup: Setup) {
    let node = counters(setup, idle_after(1)).await;
    let counter = node.entity::<Counter>("c3");
    counter.tell().add(1).await.unwrap();
    assert_eq!(counter.get().await, Ok(1));
    sleep(Duration::from_secs(3)).await;
    assert_eq!(node.active("counter"), Ok(0));
    assert_eq!(counter.get().await, Ok(0));
    node.leave().await.unwrap();
}

// Shardcake, sharding suite: an entity that terminates itself still answers that message, and reads 0 afterwards.
async fn an_entity_can_end_itself(setup: Setup) {
    let node = counters(setup, Hosting::default().keep_alive()).await;
    let counter = node.entity::<Counter>("c4");
    counter.tell().add(1).await.unwrap();
    assert_eq!(counter.get().await, Ok(1));
    assert_eq!(counter.retire().await, Ok(()));
    assert_eq!(counter.get().await, Ok(0));
    node.leave().await.unwrap();
}

// Shardcake, sharding suite: idle time 3 s; a message after two seconds prolongs the life, four quiet seconds end it.
async fn a_message_in_time_extends_a_life(setup: Setup) {
    let node = counters(setup, idle_after(3)).await;
    let counter = node.entity::<Counter>("c5");
    counter.tell().add(1).await.unwrap();
    assert_eq!(counter.get().await, Ok(1));
    sleep(Duration::from_secs(2)).await;
    counter.tell().add(1).await.unwrap();
    assert_eq!(counter.get().await, Ok(2));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(node.active("counter"), Ok(1), "three seconds from the last");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(counter.get().await, Ok(0));
    node.leave().await.unwrap();
}

// Casty, supervision: after a failure the actor is restarted with fresh state and handles what comes next.
async fn a_failure_is_told_and_the_entity_starts_afresh(setup: Setup) {
    let pause = Duration::from_millis(200);
    let hosting = Hosting::default().restart_backoff(pause, pause);
    let node = counters(setup, hosting).await;
    let counter = node.entity::<Counter>("c");
    assert_eq!(counter.add(7).await, Ok(7));
    let error = counter.crash().await.unwrap_err();
    assert!(
        matches!(&error, AskError::Failed(cause) if cause.as_str() == "panicked: as told"),
        "{error}"
    );
    assert_eq!(error.outcome(), Outcome::FailedInHandler);
    let failed = Instant::now();
    assert_eq!(counter.add(1).await, Ok(1), "7 is forgotten");
    assert!(failed.elapsed() >= pause, "{:?}", failed.elapsed());
    node.leave().await.unwrap();
}

// Casty, supervision one for one: the siblings of a failed actor go on undisturbed.
async fn a_failure_stays_with_its_entity(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let (good, bad) = (
        node.entity::<Counter>("good"),
        node.entity::<Counter>("bad"),
    );
    good.add(1).await.unwrap();
    for _ in 0..3 {
        bad.tell().crash().await.unwrap();
    }
    bad.tell().add(5).await.unwrap();
    let asked = Instant::now();
    assert_eq!(good.add(1).await, Ok(2));
    assert_eq!(asked.elapsed(), Duration::ZERO);
    assert_eq!(bad.get().await, Ok(5), "it has come back three times");
    node.leave().await.unwrap();
}
