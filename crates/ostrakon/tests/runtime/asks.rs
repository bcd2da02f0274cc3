//! Every ask ends in exactly one outcome, by its deadline.

use std::{sync::Arc, time::Duration};

use ostrakon::{AskError, Hosting, Outcome, TellError};

use crate::probe::{Do, World, probe, sum};

#[tokio::test]
async fn a_full_mailbox_says_so_at_once_and_takes_more_when_it_has_room() {
    let world = World::new();
    let node = world.node(Hosting::default().mailbox(4)).await;
    let entity = probe(&node, "a");
    let holder = entity.clone();
    let held = tokio::spawn(async move { holder.ask(|r| Do::Wait("x".into(), r)).await });
    world.seen("a: begin x", 1).await;
    for _ in 0..4 {
        entity.tell(Do::Add(1)).await.unwrap();
    }
    let refused = entity.tell(Do::Add(1)).await.unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    assert!(matches!(refused, TellError::Overloaded { capacity: 4, .. }));
    let error = sum(&entity).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotExecuted);
    assert!(error.is_retryable());

    world.gate.add_permits(1);
    held.await.unwrap().unwrap();
    entity.tell(Do::Add(1)).await.unwrap();
    assert_eq!(sum(&entity).await.unwrap(), 5);
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_expires_in_the_mailbox_is_never_executed() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let holder = entity.clone();
    let held = tokio::spawn(async move { holder.ask(|r| Do::Wait("x".into(), r)).await });
    world.seen("a: begin x", 1).await;

    let late = entity.clone().within(Duration::from_secs(2));
    let error = late.ask(|r| Do::Wait("late".into(), r)).await.unwrap_err();
    assert_eq!(error, AskError::Expired);
    assert_eq!(error.outcome(), Outcome::NotExecuted);

    world.gate.add_permits(2);
    held.await.unwrap().unwrap();
    sum(&entity).await.unwrap();
    assert_eq!(world.count("a: begin late"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_times_out_in_the_handler_is_unknown_and_its_answer_too_late() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a").within(Duration::from_secs(1));
    let error = entity.ask(|r| Do::Wait("x".into(), r)).await.unwrap_err();
    assert_eq!(error, AskError::TimedOut);
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(!error.is_retryable());
    world.gate.add_permits(1);
    world.seen("a: answered x TooLate", 1).await;
}

#[tokio::test]
async fn dropping_an_ask_takes_the_message_back_before_its_turn_and_not_after() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let running = tokio::spawn({
        let entity = entity.clone();
        async move { entity.ask(|r| Do::Wait("running".into(), r)).await }
    });
    world.seen("a: begin running", 1).await;
    let waiting = entity.ask(|r| Do::Wait("waiting".into(), r));
    let gone = tokio::time::timeout(Duration::from_millis(1), waiting).await;
    assert!(gone.is_err());
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());

    world.gate.add_permits(2);
    sum(&entity).await.unwrap();
    assert_eq!(
        world.count("a: end running"),
        1,
        "what has begun is finished"
    );
    assert_eq!(
        world.count("a: begin waiting"),
        0,
        "what has not begun is not"
    );
}

#[tokio::test]
async fn a_handler_that_does_not_answer_is_reported() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let error = probe(&node, "a").ask(Do::DropReply).await.unwrap_err();
    assert_eq!(error, AskError::NoReply);
    assert_eq!(error.outcome(), Outcome::Executed);
}

#[tokio::test]
async fn a_kept_reply_answers_later() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let asked = tokio::spawn({
        let entity = entity.clone();
        async move { entity.ask(Do::Keep).await }
    });
    // Not a race: a kept reply is waited for, whether the ask comes first or not.
    while world.count("a: started") == 0 {
        tokio::task::yield_now().await;
    }
    entity.tell(Do::AnswerKept(5)).await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), 5);
    world.seen("a: Delivered", 1).await;
}

#[tokio::test]
async fn a_kept_reply_that_dies_with_the_entity_is_reported() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let (kept, stopped) = tokio::join!(entity.ask(Do::Keep), entity.tell(Do::Stop));
    stopped.unwrap();
    assert_eq!(kept.unwrap_err(), AskError::NoReply);
}

#[tokio::test]
async fn an_entity_that_asks_itself_is_told_so_instead_of_waiting_for_ever() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let asked = entity.ask(|r| Do::AskAlong(vec!["a".into()], r));
    let error = asked.await.unwrap().unwrap_err();
    assert!(error.contains("probe/a → probe/a"), "{error}");
}

#[tokio::test]
async fn a_longer_cycle_is_found_with_its_chain() {
    for serialized in [false, true] {
        let world = World::new();
        let mut builder = world.builder(Hosting::default());
        if serialized {
            builder = builder.force_serialization();
        }
        let node = builder.start().await.unwrap();
        let chain = ["b", "c", "a"].map(String::from).to_vec();
        let entity = probe(&node, "a");
        let asked = entity.ask(|r| Do::AskAlong(chain, r));
        let error = asked.await.unwrap().unwrap_err();
        assert!(
            error.contains("probe/a → probe/b → probe/c → probe/a"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_same_entity_may_be_asked_twice_in_a_row_by_another() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    for _ in 0..2 {
        let asked = entity.ask(|r| Do::AskAlong(vec!["b".into()], r));
        assert_eq!(asked.await.unwrap(), Ok(0));
    }
}

#[tokio::test]
async fn a_chain_of_a_thousand_asks_does_not_exhaust_the_stack() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    probe(&node, "e999").tell(Do::Add(42)).await.unwrap();
    let chain = (1..1_000).map(|n| format!("e{n}")).collect();
    let asked = probe(&node, "e0").ask(|r| Do::AskAlong(chain, r)).await;
    assert_eq!(asked.unwrap(), Ok(42));
}

#[tokio::test(start_paused = true)]
async fn an_ask_inside_a_handler_has_no_more_time_than_the_one_it_serves() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let began = tokio::time::Instant::now();
    // The outer ask gives up first by a hair, so the inner error is seen where the handler logs it: by its end.
    let outer = probe(&node, "a").within(Duration::from_secs(2));
    let error = outer.ask(|r| Do::AskToWait("b".into(), r)).await;
    assert!(error.is_err() || error.is_ok_and(|inner| inner.is_err()));
    // The handler of `a` is free again: its own ask did not go on for the default ten seconds.
    sum(&probe(&node, "a")).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_askers_of_one_entity_all_get_their_answers() {
    let world = World::new();
    let node = Arc::new(world.node(Hosting::default()).await);
    let askers = (0..64).map(|_| {
        let entity = probe(&node, "hot");
        tokio::spawn(async move {
            for _ in 0..200 {
                assert_eq!(sum(&entity).await.unwrap(), 0);
            }
        })
    });
    for asker in askers.collect::<Vec<_>>() {
        asker.await.unwrap();
    }
}
