//! The mailbox has a bound, and the sender learns of it.

use std::sync::Arc;

use ostrakon::{EntityId, Hosting, Node, TellError, entity};
use tokio::sync::{Semaphore, mpsc};

use crate::Setup;

twice! {
    a_full_mailbox_refuses_and_keeps_what_it_has,
}

/// Says what it works on, and finishes when it is let to.
struct Worker {
    begun: mpsc::UnboundedSender<u32>,
    may_finish: Arc<Semaphore>,
}

#[entity(kind = "worker")]
impl Worker {
    async fn work(&mut self, n: u32) {
        self.begun.send(n).unwrap();
        self.may_finish.acquire().await.unwrap().forget();
    }
}

// Casty, mailbox that rejects: it holds its capacity, the teller of one more gets an error, and what was accepted is handled.
async fn a_full_mailbox_refuses_and_keeps_what_it_has(setup: Setup) {
    let (sender, mut begun) = mpsc::unbounded_channel();
    let may_finish = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&may_finish);
    let make = move |_: &_| Worker {
        begun: sender.clone(),
        may_finish: Arc::clone(&gate),
    };
    let builder = Node::builder("solo").host_with(Hosting::default().mailbox(3), make);
    let node = setup(builder).start().await.unwrap();
    let worker = node.entity::<Worker>("w");

    worker.tell().work(0).await.unwrap();
    assert_eq!(begun.recv().await, Some(0));
    for n in 1..=3 {
        worker.tell().work(n).await.unwrap();
    }
    let full = TellError::Overloaded {
        kind: "worker",
        id: EntityId::new("w").unwrap(),
        capacity: 3,
    };
    assert_eq!(worker.tell().work(4).await, Err(full.clone()));
    assert_eq!(
        worker.work(5).await,
        Err(full.into()),
        "nor can it be asked"
    );

    may_finish.add_permits(100);
    for n in 1..=3 {
        assert_eq!(begun.recv().await, Some(n));
    }
    worker.work(6).await.expect("there is room again");
    assert_eq!(begun.recv().await, Some(6), "4 and 5 never came");
    node.leave().await.unwrap();
}
