//! Scheduled messages come when they are due, to the life that scheduled them.

use std::time::Duration;

use ostrakon::Hosting;
use tokio::time::Instant;

use crate::probe::{Do, World, probe, sum};

#[tokio::test(start_paused = true)]
async fn a_scheduled_message_comes_after_its_time() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let began = Instant::now();
    probe(&node, "a")
        .tell(Do::After(5_000, "tick".into()))
        .await
        .unwrap();
    world.seen("a: tick", 1).await;
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_secs(5) && waited < Duration::from_millis(5_010),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_repeated_message_keeps_coming_and_keeps_the_entity_alive() {
    let world = World::new();
    let node = world
        .node(Hosting::default().idle_after(Duration::from_secs(10)))
        .await;
    let began = Instant::now();
    probe(&node, "a")
        .tell(Do::Every(30_000, "tick".into()))
        .await
        .unwrap();
    world.seen("a: tick", 4).await;
    assert!(began.elapsed() >= Duration::from_secs(120));
    assert_eq!(world.count("a: starting"), 1);
}

#[tokio::test(start_paused = true)]
async fn timers_end_with_the_life_that_set_them() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Every(1_000, "tick".into())).await.unwrap();
    entity.tell(Do::After(1_000, "once".into())).await.unwrap();
    entity.tell(Do::Stop).await.unwrap();
    sum(&entity).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.count("a: tick") + world.count("a: once"), 0);
}

#[tokio::test(start_paused = true)]
async fn timers_fire_in_the_order_they_are_due_also_for_many_entities() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    for n in (0..100_u64).rev() {
        let entity = probe(&node, &format!("e{n}"));
        entity
            .tell(Do::After(1_000 + n * 10, "tick".into()))
            .await
            .unwrap();
    }
    world.seen("e99: tick", 1).await;
    let events = world.events();
    let ticks: Vec<_> = events.iter().filter(|e| e.ends_with("tick")).collect();
    let expected: Vec<_> = (0..100).map(|n| format!("e{n}: tick")).collect();
    assert_eq!(ticks, expected.iter().collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn ticks_that_were_missed_are_skipped() {
    let world = World::new();
    let node = world.node(Hosting::default().keep_alive()).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Every(1_000, "tick".into())).await.unwrap();
    sum(&entity).await.unwrap();
    tokio::time::advance(Duration::from_millis(10_500)).await;
    world.seen("a: tick", 1).await;
    sum(&entity).await.unwrap();
    assert_eq!(world.count("a: tick"), 1);
    let began = Instant::now();
    world.seen("a: tick", 2).await;
    let rhythm = began.elapsed();
    assert!(
        rhythm > Duration::from_millis(490) && rhythm < Duration::from_millis(510),
        "the rhythm is kept: {rhythm:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timers_that_come_while_their_life_ends_do_no_harm() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let loops = (0..16).map(|n| {
        let entity = probe(&node, &format!("e{n}"));
        tokio::spawn(async move {
            for round in 0..200_u64 {
                entity.tell(Do::After(1, "tick".into())).await.unwrap();
                tokio::time::sleep(Duration::from_micros(500 + 50 * ((round + n) % 20))).await;
                entity.tell(Do::Stop).await.unwrap();
                sum(&entity).await.unwrap();
            }
        })
    });
    for task in loops.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    // The janitor is alive: timers still come.
    probe(&node, "last")
        .tell(Do::After(1, "tick".into()))
        .await
        .unwrap();
    world.seen("last: tick", 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_entity_cannot_have_more_timers_than_its_mailbox_has_places() {
    let world = World::new();
    let node = world.node(Hosting::default().mailbox(16)).await;
    let mut letters = node.dead_letters();
    let entity = probe(&node, "a");
    for _ in 0..17 {
        entity.tell(Do::After(1_000, "tick".into())).await.unwrap();
        sum(&entity).await.unwrap();
    }
    let letter = letters.next().await.unwrap();
    assert_eq!(letter.reason, ostrakon::DeadReason::Overloaded);
    world.seen("a: tick", 16).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.count("a: tick"), 16);
}
