//! Entities start when they are needed and end when they are not; nothing is lost around it.

use std::{sync::Arc, time::Duration};

use ostrakon::{AskError, Hosting, LeaveError, Outcome, TellError};
use tokio::sync::Semaphore;

use crate::probe::{Do, World, probe, sum};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_entity_starts_with_its_first_message_and_not_before() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    assert_eq!(node.active("probe"), Ok(0));
    assert!(world.events().is_empty());
    assert_eq!(sum(&entity).await.unwrap(), 0);
    assert_eq!(world.events(), ["a: starting", "a: started"]);
    assert_eq!(node.active("probe"), Ok(1));
}

#[tokio::test(start_paused = true)]
async fn an_idle_entity_is_stopped_and_starts_anew_with_the_next_message() {
    let world = World::new();
    let node = world.node(Hosting::default().idle_after(MINUTE)).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Add(5)).await.unwrap();
    assert_eq!(sum(&entity).await.unwrap(), 5);
    let idle_since = tokio::time::Instant::now();
    world.seen("a: dropped", 1).await;
    let idle = idle_since.elapsed();
    assert!(idle >= MINUTE && idle < MINUTE * 5 / 4, "{idle:?}");
    assert_eq!(world.count("a: stopped"), 1, "the hook ran");
    assert_eq!(sum(&entity).await.unwrap(), 0, "memory starts afresh");
}

#[tokio::test(start_paused = true)]
async fn a_message_extends_an_entitys_life() {
    let world = World::new();
    let node = world.node(Hosting::default().idle_after(MINUTE)).await;
    let entity = probe(&node, "a");
    for _ in 0..10 {
        entity.tell(Do::Add(1)).await.unwrap();
        tokio::time::advance(MINUTE * 2 / 3).await;
    }
    assert_eq!(sum(&entity).await.unwrap(), 10);
    assert_eq!(world.count("a: starting"), 1);
}

#[tokio::test(start_paused = true)]
async fn messages_that_come_while_an_entity_stops_are_handled_by_its_next_life() {
    let world = Arc::new(World {
        stop_gate: Some(Semaphore::new(0)),
        ..World::plain()
    });
    let hosting = Hosting::default()
        .idle_after(Duration::from_secs(1))
        .stop_deadline(MINUTE);
    let node = world.node(hosting).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Add(1)).await.unwrap();
    world.seen("a: stopping", 1).await;
    for _ in 0..3 {
        entity.tell(Do::Add(1)).await.unwrap();
    }
    let asked = tokio::spawn({
        let entity = entity.clone();
        async move { sum(&entity).await }
    });
    world.stop_gate.as_ref().unwrap().add_permits(1);
    assert_eq!(asked.await.unwrap().unwrap(), 3);
    assert_eq!(
        sum(&entity).await,
        Ok(3),
        "the order to stop was for the old life"
    );
    let lives: Vec<_> = world.events().into_iter().take(6).collect();
    assert_eq!(
        lives,
        [
            "a: starting",
            "a: started",
            "a: stopping",
            "a: stopped",
            "a: dropped",
            "a: starting"
        ],
        "one life ends before the next begins"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_entities_are_stopped_all_the_time() {
    let world = World::new();
    let hosting = Hosting::default()
        .idle_after(Duration::from_millis(1))
        .active_limit(5)
        .mailbox(100_000);
    let node = world.node(hosting).await;
    let senders = (0..4).map(|sender| {
        let node = node.clone();
        tokio::spawn(async move {
            for n in 0..2_000 {
                let entity = probe(&node, &format!("e{}", (n * 7 + sender) % 20));
                entity
                    .tell(Do::Note(format!("{sender}.{n}")))
                    .await
                    .unwrap();
                if n % 50 == 0 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await.unwrap();
    }
    node.leave().await.unwrap();
    let events = world.events();
    let notes = events.iter().filter(|e| e.contains('.')).count();
    assert_eq!(notes, 8_000);
    let lives = events.iter().filter(|e| e.ends_with("starting")).count();
    let ends = events.iter().filter(|e| e.ends_with("dropped")).count();
    assert!(lives > 20, "they were stopped on the way: {lives}");
    assert_eq!(lives, ends);
}

#[tokio::test(start_paused = true)]
async fn above_the_limit_the_least_recently_used_go_first() {
    let world = World::new();
    let node = world.node(Hosting::default().active_limit(3)).await;
    for id in ["a", "b", "c", "a"] {
        sum(&probe(&node, id)).await.unwrap();
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    sum(&probe(&node, "d")).await.unwrap();
    world.seen("b: dropped", 1).await;
    tokio::time::advance(Duration::from_millis(1)).await;
    sum(&probe(&node, "e")).await.unwrap();
    world.seen("c: dropped", 1).await;
    assert_eq!(node.active("probe"), Ok(3));
    assert_eq!(world.count("a: dropped"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_entity_with_work_in_the_background_is_not_idle() {
    let world = World::new();
    let node = world.node(Hosting::default().idle_after(MINUTE)).await;
    probe(&node, "a").tell(Do::Work).await.unwrap();
    world.seen("a: working", 1).await;
    tokio::time::sleep(MINUTE * 5).await;
    assert_eq!(world.count("a: dropped"), 0);
    world.gate.add_permits(1);
    world.seen("a: dropped", 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_entity_may_ask_to_be_kept_alive() {
    let world = World::new();
    let node = world.node(Hosting::default().idle_after(MINUTE)).await;
    probe(&node, "kept").tell(Do::KeepAlive).await.unwrap();
    probe(&node, "not").tell(Do::Add(1)).await.unwrap();
    world.seen("not: dropped", 1).await;
    tokio::time::sleep(MINUTE * 5).await;
    assert_eq!(world.count("kept: dropped"), 0);
}

#[tokio::test]
async fn an_entity_that_stops_itself_leaves_the_rest_to_its_next_life() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Add(1)).await.unwrap();
    entity.tell(Do::Stop).await.unwrap();
    entity.tell(Do::Add(10)).await.unwrap();
    assert_eq!(sum(&entity).await.unwrap(), 10);
    assert_eq!(world.count("a: stopped"), 1);
}

#[tokio::test]
async fn work_in_the_background_ends_with_the_life_that_began_it() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    entity.tell(Do::Work).await.unwrap();
    world.seen("a: working", 1).await;
    entity.tell(Do::Stop).await.unwrap();
    sum(&entity).await.unwrap();
    let events = world.events();
    let at = |event: &str| events.iter().position(|e| e == event).unwrap();
    let next_life = events.iter().rposition(|e| e == "a: starting").unwrap();
    assert!(at("a: work over") < next_life, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_hook_that_hangs_is_really_ended_at_its_deadline() {
    let world = Arc::new(World {
        stop_gate: Some(Semaphore::new(0)),
        ..World::plain()
    });
    let hosting = Hosting::default()
        .idle_after(Duration::from_secs(1))
        .stop_deadline(Duration::from_secs(3));
    let node = world.node(hosting).await;
    probe(&node, "a").tell(Do::Add(1)).await.unwrap();
    world.seen("a: stopping", 1).await;
    let began = tokio::time::Instant::now();
    world.seen("a: dropped", 1).await;
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    // The hook would go on if it were still there.
    world.stop_gate.as_ref().unwrap().add_permits(1);
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.count("a: stopped"), 0);
    assert_eq!(node.active("probe"), Ok(0));
}

#[tokio::test]
async fn leaving_handles_what_waits_then_stops_everyone_and_refuses_the_rest() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let busy = probe(&node, "busy");
    probe(&node, "idle").tell(Do::Add(1)).await.unwrap();
    busy.tell(Do::Wait("x".into(), ostrakon::Reply::ignored()))
        .await
        .unwrap();
    world.seen("busy: begin x", 1).await;
    busy.tell(Do::Note("waited".into())).await.unwrap();
    let leaving = tokio::spawn({
        let node = node.clone();
        async move { node.leave().await }
    });
    world.seen("idle: dropped", 1).await;
    let refused = busy.tell(Do::Note("too late".into())).await.unwrap_err();
    assert!(matches!(refused, TellError::Stopped { .. }), "{refused}");
    world.gate.add_permits(1);
    leaving.await.unwrap().unwrap();
    let events = world.events();
    let busy: Vec<_> = events.iter().filter(|e| e.starts_with("busy")).collect();
    assert_eq!(
        busy[4..],
        [
            "busy: answered x NotAsked",
            "busy: waited",
            "busy: stopping",
            "busy: stopped",
            "busy: dropped"
        ]
    );
    assert_eq!(node.active("probe"), Ok(0));
    node.leave().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_outlives_the_stop_deadline_is_ended_and_its_asker_told() {
    let world = World::new();
    let node = world
        .node(Hosting::default().stop_deadline(Duration::from_secs(2)))
        .await;
    let entity = probe(&node, "a");
    let asked = tokio::spawn({
        let entity = entity.clone();
        async move { entity.ask(|r| Do::Wait("x".into(), r)).await }
    });
    world.seen("a: begin x", 1).await;
    let waiting = tokio::spawn(async move { sum(&entity).await });
    tokio::task::yield_now().await;
    node.leave().await.unwrap();
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error, AskError::Interrupted);
    assert_eq!(error.outcome(), Outcome::Unknown);
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotExecuted, "{error}");
    assert_eq!(world.count("a: dropped"), 1);
    assert_eq!(world.count("a: end x"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_never_waits_cannot_be_ended_and_leaving_says_so() {
    let world = World::new();
    let node = world
        .node(Hosting::default().stop_deadline(Duration::from_millis(10)))
        .await;
    probe(&node, "a").tell(Do::Block).await.unwrap();
    world.seen("a: started", 1).await;
    let left = node.leave().await;
    assert_eq!(left, Err(LeaveError::Stuck { entities: 1 }));
    world.gate.add_permits(1);
    world.seen("a: dropped", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_entities_are_made_at_a_constant_rate() {
    #[derive(Default)]
    struct Small(#[expect(dead_code)] [u64; 2]);
    impl ostrakon::Entity for Small {
        const KIND: &'static str = "small";
        type Message = ();
        type Ref = ostrakon::EntityRef<Self>;
        async fn handle(
            &mut self,
            (): (),
            _: &mut ostrakon::Context<Self>,
        ) -> Result<(), ostrakon::Failure> {
            Ok(())
        }
    }
    const TENTH: usize = 100_000;
    let node = ostrakon::Node::builder("n")
        .host::<Small>()
        .start()
        .await
        .unwrap();
    let mut times = Vec::new();
    for tenth in 0..10 {
        let began = std::time::Instant::now();
        for n in 0..TENTH {
            let id = format!("small-{}", tenth * TENTH + n);
            let entity = node.entity::<Small>(id);
            // Asked without a reply, which is as good as an ask: it returns when the message was handled.
            let handled = entity.ask::<()>(drop).await;
            assert_eq!(handled, Err(AskError::NoReply));
        }
        times.push(began.elapsed());
    }
    assert_eq!(node.active("small"), Ok(10 * TENTH));
    // Linear growth would make the last tenth ten times slower than the first; noise may make it two times.
    let (first, last) = (times[0], times[9]);
    assert!(last < first * 4, "{times:?}");
}
