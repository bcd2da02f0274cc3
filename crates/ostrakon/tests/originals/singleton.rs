//! Singletons on one node: they run unasked, there is one, and no message to them is lost while they begin.

use std::{sync::Arc, time::Duration};

use ostrakon::{Hosting, Node, NodeBuilder, entity};
use tokio::{
    sync::{Semaphore, mpsc},
    time::{sleep, timeout},
};

use crate::{Setup, counter::Counter};

twice! {
    a_singleton_runs_without_being_sent_anything,
    a_singleton_counts_what_it_is_sent,
    what_is_sent_before_a_singleton_runs_is_kept,
}

/// Begins when it is let to, says so, and counts.
struct Duty {
    begun: mpsc::UnboundedSender<()>,
    may_begin: Arc<Semaphore>,
    count: u32,
}

#[entity(kind = "duty")]
impl Duty {
    #[start]
    async fn begin(&mut self) {
        self.may_begin.acquire().await.unwrap().forget();
        self.begun.send(()).unwrap();
    }

    async fn increment(&mut self) {
        self.count += 1;
    }

    async fn count(&self) -> u32 {
        self.count
    }

    async fn ping(&self) -> String {
        "pong".into()
    }
}

struct Stage {
    begun: mpsc::UnboundedReceiver<()>,
    may_begin: Arc<Semaphore>,
}

fn duty(permits: usize) -> (NodeBuilder, Stage) {
    let (sender, begun) = mpsc::unbounded_channel();
    let may_begin = Arc::new(Semaphore::new(permits));
    let gate = Arc::clone(&may_begin);
    let make = move |_: &_| Duty {
        begun: sender.clone(),
        may_begin: Arc::clone(&gate),
        count: 0,
    };
    let hosting = Hosting::default().idle_after(Duration::from_secs(1));
    let builder = Node::builder("solo").host_with(hosting, make);
    (builder.singleton::<Duty>("d"), Stage { begun, may_begin })
}

// Shardcake, sharding suite: a registered singleton runs, though no message was sent to it. It runs once.
async fn a_singleton_runs_without_being_sent_anything(setup: Setup) {
    let (builder, mut stage) = duty(2);
    let node = setup(builder).start().await.unwrap();
    stage.begun.recv().await.unwrap();
    let again = timeout(Duration::from_secs(60), stage.begun.recv()).await;
    assert!(again.is_err(), "it was neither started twice nor ended");
    assert_eq!(node.active("duty"), Ok(1));
    node.leave().await.unwrap();
}

// Casty, singleton: three increments read as 3, a ping is answered, and quiet time does not end it.
async fn a_singleton_counts_what_it_is_sent(setup: Setup) {
    let (builder, _stage) = duty(1);
    let node = setup(builder).start().await.unwrap();
    let duty = node.entity::<Duty>("d");
    for _ in 0..3 {
        duty.tell().increment().await.unwrap();
    }
    assert_eq!(duty.count().await, Ok(3));
    assert_eq!(duty.ping().await, Ok("pong".into()));
    sleep(Duration::from_secs(60)).await;
    assert_eq!(duty.count().await, Ok(3));
    node.leave().await.unwrap();
}

// Casty, singleton: two messages that were sent before the singleton became active are handled once it is.
async fn what_is_sent_before_a_singleton_runs_is_kept(setup: Setup) {
    let (builder, mut stage) = duty(0);
    let node = setup(builder).start().await.unwrap();
    let duty = node.entity::<Duty>("d");
    for _ in 0..2 {
        duty.tell().increment().await.unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    assert!(stage.begun.try_recv().is_err(), "it waits to begin");
    stage.may_begin.add_permits(1);
    assert_eq!(duty.count().await, Ok(2));
    node.leave().await.unwrap();
}

// The declaration alone is not enough: somebody must be able to make the entity.
#[tokio::test]
async fn a_singleton_of_a_kind_that_is_not_hosted_is_refused() {
    let builder = Node::builder("solo").singleton::<Counter>("d");
    let refused = builder.start().await.unwrap_err();
    let kind = "counter";
    assert_eq!(refused, ostrakon::StartError::SingletonNotHosted { kind });
}
