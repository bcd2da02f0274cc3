//! A hot entity does not starve its neighbours.

use ostrakon::Hosting;

use crate::probe::{Do, World, probe, sum};

#[tokio::test]
async fn a_neighbour_is_served_long_before_a_flood_is_over() {
    const FLOOD: usize = 100_000;
    let world = World::new();
    let node = world.node(Hosting::default().mailbox(FLOOD)).await;
    let hot = probe(&node, "hot");
    for _ in 0..FLOOD {
        hot.try_tell(Do::Note("flood".into())).unwrap();
    }
    // One thread: the neighbour can only be served when the hot entity makes room.
    for _ in 0..10 {
        probe(&node, "neighbour")
            .tell(Do::Note("served".into()))
            .await
            .unwrap();
        tokio::task::yield_now().await;
    }
    world.seen("neighbour: served", 10).await;
    let handled = world.count("hot: flood");
    assert!(handled < FLOOD / 10, "{handled} of the flood came first");
}

#[tokio::test]
async fn an_asker_that_never_has_to_wait_lets_other_tasks_run() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let asker = tokio::spawn(async move {
        for n in 0.. {
            if sum(&entity).await.unwrap() > 0 {
                return n;
            }
        }
        0
    });
    // One thread again: this tell can only be sent if the asker's loop is interrupted.
    tokio::task::yield_now().await;
    probe(&node, "a").tell(Do::Add(1)).await.unwrap();
    let asks = asker.await.unwrap();
    assert!(asks < 10_000, "{asks} asks before others had their turn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_compute_for_long_run_beside_each_other() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);

    #[derive(Default)]
    struct Busy;
    impl ostrakon::Entity for Busy {
        const KIND: &'static str = "busy";
        type Message = ostrakon::Reply<()>;
        type Ref = ostrakon::EntityRef<Self>;
        async fn handle(
            &mut self,
            reply: ostrakon::Reply<()>,
            _: &mut ostrakon::Context<Self>,
        ) -> Result<(), ostrakon::Failure> {
            let now = NOW.fetch_add(1, Ordering::SeqCst) + 1;
            MOST.fetch_max(now, Ordering::SeqCst);
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(2) {
                std::hint::spin_loop();
            }
            NOW.fetch_sub(1, Ordering::SeqCst);
            reply.send(());
            Ok(())
        }
    }
    let node = ostrakon::Node::builder("n")
        .host::<Busy>()
        .start()
        .await
        .unwrap();
    let refs: Vec<_> = (0..200)
        .map(|n| node.entity::<Busy>(format!("b{n}")))
        .collect();
    // All asked from one task: on that task alone they would run one after the other.
    let asks = refs.iter().map(|entity| entity.ask(|reply| reply));
    for answer in futures_util::future::join_all(asks).await {
        answer.unwrap();
    }
    assert_eq!(MOST.load(Ordering::SeqCst), 2);
}
