//! A failing entity is restarted, those concerned are told, and nobody else notices.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ostrakon::{AskError, Codec, DeadReason, Hosting, Outcome, Reply};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::probe::{Do, World, probe, sum};

#[tokio::test(start_paused = true)]
async fn a_panic_is_told_to_the_asker_and_the_entity_starts_afresh() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Add(1)).await.unwrap();
    let error = entity.ask(Do::Panic).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::FailedInHandler);
    let AskError::Failed(cause) = error else {
        panic!("{error:?}");
    };
    assert_eq!(cause.as_str(), "panicked: as told");
    assert_eq!(sum(&entity).await.unwrap(), 0);
    assert_eq!(sum(&probe(&node, "b")).await.unwrap(), 0, "the node lives");
}

#[tokio::test(start_paused = true)]
async fn an_error_is_told_to_the_asker_and_the_entity_starts_afresh() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let error = entity.ask(Do::Fail).await.unwrap_err();
    assert_eq!(error.to_string(), "the handler failed: as told");
    assert_eq!(sum(&entity).await.unwrap(), 0);
    assert_eq!(world.count("a: starting"), 2);
}

#[tokio::test(start_paused = true)]
async fn messages_behind_a_failing_one_wait_for_the_restart() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Panic(Reply::ignored())).await.unwrap();
    entity.tell(Do::Add(1)).await.unwrap();
    entity.tell(Do::Add(1)).await.unwrap();
    assert_eq!(sum(&entity).await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_pause_before_a_restart_doubles_while_failures_go_on() {
    let world = World::new();
    world.failing_starts.store(5, Ordering::SeqCst);
    let hosting =
        Hosting::default().restart_backoff(Duration::from_millis(100), Duration::from_millis(500));
    let node = world.node(hosting).await;
    let entity = probe(&node, "a");
    let mut pauses = Vec::new();
    let mut last = Instant::now();
    for attempt in 1..=6 {
        let asked = tokio::spawn({
            let entity = entity.clone();
            async move { sum(&entity).await }
        });
        world.seen("a: starting", attempt).await;
        pauses.push(last.elapsed().as_millis());
        last = Instant::now();
        assert_eq!(asked.await.unwrap().is_ok(), attempt == 6);
    }
    assert_eq!(pauses, [0, 100, 200, 400, 500, 500]);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_is_told_to_those_who_wait_and_tried_again() {
    let world = World::new();
    world.failing_starts.store(1, Ordering::SeqCst);
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let error = sum(&entity).await.unwrap_err();
    assert_eq!(error.to_string(), "the entity could not start: no database");
    assert_eq!(error.outcome(), Outcome::NotExecuted);
    assert!(error.is_retryable());
    assert_eq!(sum(&entity).await.unwrap(), 0);
}

#[tokio::test]
async fn messages_wait_for_a_slow_start_and_are_bounded() {
    let world = Arc::new(World {
        start_gate: Some(Semaphore::new(0)),
        ..World::plain()
    });
    let node = world.node(Hosting::default().mailbox(2)).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Add(1)).await.unwrap();
    world.seen("a: starting", 1).await;
    entity.tell(Do::Add(1)).await.unwrap();
    entity.tell(Do::Add(1)).await.unwrap();
    assert!(entity.tell(Do::Add(1)).await.unwrap_err().is_retryable());
    world.start_gate.as_ref().unwrap().add_permits(1);
    world.seen("a: started", 1).await;
    let total = loop {
        match sum(&entity).await {
            Ok(total) => break total,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(total, 3);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_may_be_repeated_is_tried_again_after_a_failure() {
    let world = World::new();
    world.failing_calls.store(2, Ordering::SeqCst);
    let node = world.node(Hosting::default()).await;
    assert_eq!(probe(&node, "a").ask(Do::Shaky).await.unwrap(), 7);
    assert_eq!(world.count("shaky"), 3);
}

#[tokio::test(start_paused = true)]
async fn three_failures_on_one_message_send_it_to_the_dead_letters() {
    let world = World::new();
    world.failing_calls.store(100, Ordering::SeqCst);
    let node = world.node(Hosting::default()).await;
    let mut letters = node.dead_letters();
    let entity = probe(&node, "a");
    let error = entity.ask(Do::Shaky).await.unwrap_err();
    assert!(matches!(error, AskError::Failed(_)), "{error:?}");
    assert_eq!(world.count("shaky"), 3);
    let letter = letters.next().await.unwrap();
    assert_eq!((letter.kind, letter.id.as_str()), ("probe", "a"));
    assert!(matches!(letter.reason, DeadReason::Poison(_)));
    assert_eq!(sum(&entity).await.unwrap(), 0, "the poison is gone");
}

#[tokio::test(start_paused = true)]
async fn a_told_message_whose_handler_fails_is_a_dead_letter_and_not_repeated() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let mut letters = node.dead_letters();
    let entity = probe(&node, "a");
    entity.tell(Do::Fail(Reply::ignored())).await.unwrap();
    let letter = letters.next().await.unwrap();
    let DeadReason::Failed(cause) = letter.reason else {
        panic!("{:?}", letter.reason);
    };
    assert_eq!(cause.as_str(), "as told");
}

#[tokio::test(start_paused = true)]
async fn a_told_message_that_waits_for_a_failing_start_is_a_dead_letter_with_its_content() {
    let world = World::new();
    world.failing_starts.store(1, Ordering::SeqCst);
    let node = world.node(Hosting::default()).await;
    let mut letters = node.dead_letters();
    probe(&node, "a").tell(Do::Add(77)).await.unwrap();
    let letter = letters.next().await.unwrap();
    assert!(matches!(letter.reason, DeadReason::StartFailed(_)));
    let message: Do = Codec::MessagePack.decode(&letter.message.unwrap()).unwrap();
    assert!(matches!(message, Do::Add(77)));
}

#[tokio::test(start_paused = true)]
async fn an_entity_in_its_pause_does_not_keep_a_node_from_leaving() {
    let world = World::new();
    world.failing_starts.store(1, Ordering::SeqCst);
    let hosting = Hosting::default()
        .restart_backoff(Duration::from_secs(600), Duration::from_secs(600))
        .stop_deadline(Duration::from_secs(60));
    let node = world.node(hosting).await;
    assert!(sum(&probe(&node, "a")).await.is_err());
    let began = Instant::now();
    node.leave().await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_factory_that_panics_is_a_start_that_fails() {
    let node = ostrakon::Node::builder("n")
        .host_with::<crate::probe::Probe>(Hosting::default(), |id| panic!("no {id} here"))
        .start()
        .await
        .unwrap();
    let error = sum(&probe(&node, "a")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the entity could not start: panicked: no a here"
    );
}

/// Panics wherever user code is called outside a poll.
#[derive(Default)]
struct Eager;

#[derive(serde::Serialize, serde::Deserialize)]
enum EagerMessage {
    PanicBeforeTheFuture(Reply<()>),
    PanicInTheCopy(Reply<u8>),
    Ticking(Reply<()>),
    Alive(Reply<u8>),
}

impl ostrakon::Entity for Eager {
    const KIND: &'static str = "eager";
    type Message = EagerMessage;
    type Ref = ostrakon::EntityRef<Self>;

    fn redeliver(message: &EagerMessage) -> Option<EagerMessage> {
        let is_fatal = matches!(message, EagerMessage::PanicInTheCopy(_));
        assert!(!is_fatal, "no copy");
        None
    }

    fn handle(
        &mut self,
        message: EagerMessage,
        ctx: &mut ostrakon::Context<Self>,
    ) -> impl Future<Output = Result<(), ostrakon::Failure>> + Send {
        match message {
            EagerMessage::PanicBeforeTheFuture(_reply) => panic!("early"),
            EagerMessage::PanicInTheCopy(reply) | EagerMessage::Alive(reply) => {
                reply.send(1);
            }
            EagerMessage::Ticking(reply) => {
                ctx.schedule_every(Duration::from_secs(1), || panic!("no message"));
                reply.send(());
            }
        }
        async { Ok(()) }
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_outside_the_handlers_future_is_caught_as_well() {
    let builder = ostrakon::Node::builder("n").host::<Eager>();
    let node = builder.start().await.unwrap();
    let entity = node.entity::<Eager>("a");
    let error = entity.ask(EagerMessage::PanicBeforeTheFuture).await;
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "the handler failed: panicked: early");
    assert_eq!(entity.ask(EagerMessage::PanicInTheCopy).await, Ok(1));
    entity.ask(EagerMessage::Ticking).await.unwrap();
    // Idle time passes only if the kind's janitor has survived the timer, and the timer is gone.
    while node.active("eager") != Ok(0) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(entity.ask(EagerMessage::Alive).await, Ok(1));
}
