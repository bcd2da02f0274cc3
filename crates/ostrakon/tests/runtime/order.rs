//! One message at a time, in the order sent.

use std::sync::Arc;

use ostrakon::{Hosting, Node};

use crate::probe::{Do, World, probe, sum};

#[tokio::test]
async fn messages_of_one_sender_are_handled_in_order() {
    let world = World::new();
    let node = world.node(Hosting::default().mailbox(2_000)).await;
    let entity = probe(&node, "a");
    let mut expected = vec!["a: starting".to_owned(), "a: started".to_owned()];
    for n in 0..1_000 {
        entity.tell(Do::Note(n.to_string())).await.unwrap();
        if n % 100 == 0 {
            sum(&entity).await.unwrap();
        }
        expected.push(format!("a: {n}"));
    }
    sum(&entity).await.unwrap();
    assert_eq!(world.events(), expected);
}

#[tokio::test]
async fn one_message_at_a_time_also_while_a_handler_waits() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let one = entity.ask(|reply| Do::Wait("one".into(), reply));
    let two = entity.ask(|reply| Do::Wait("two".into(), reply));
    let release = async {
        world.seen("a: begin one", 1).await;
        world.gate.add_permits(2);
    };
    let (one, two, ()) = tokio::join!(one, two, release);
    one.unwrap();
    two.unwrap();
    let order: Vec<_> = world
        .events()
        .into_iter()
        .filter(|e| e.contains("begin") || e.contains("end"))
        .collect();
    assert_eq!(
        order,
        ["a: begin one", "a: end one", "a: begin two", "a: end two"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_many_senders_keeps_its_order() {
    let world = World::new();
    let node = world.node(Hosting::default().mailbox(100_000)).await;
    let mut senders = Vec::new();
    for sender in 0..8 {
        let entity = probe(&node, "a");
        senders.push(tokio::spawn(async move {
            for n in 0..500 {
                let note = Do::Note(format!("{sender} {n}"));
                entity.tell(note).await.unwrap();
                if n % 7 == 0 {
                    // An ask may run on this task; it must not overtake the tells before it.
                    sum(&entity).await.unwrap();
                }
            }
        }));
    }
    for sender in senders {
        sender.await.unwrap();
    }
    sum(&probe(&node, "a")).await.unwrap();
    for sender in 0..8 {
        let prefix = format!("a: {sender} ");
        let events = world.events();
        let seen = events.iter().filter_map(|e| e.strip_prefix(&prefix));
        let seen: Vec<usize> = seen.map(|n| n.parse().unwrap()).collect();
        assert_eq!(seen, (0..500).collect::<Vec<_>>(), "sender {sender}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_is_lost_or_doubled_under_contention() {
    let world = World::new();
    let node = world.node(Hosting::default().mailbox(100_000)).await;
    let node: Arc<Node> = Arc::new(node);
    let mut senders = Vec::new();
    for _ in 0..8 {
        let node = Arc::clone(&node);
        senders.push(tokio::spawn(async move {
            for n in 0..2_000 {
                let entity = probe(&node, &format!("e{}", n % 10));
                entity.tell(Do::Add(1)).await.unwrap();
                sum(&entity).await.unwrap();
            }
        }));
    }
    for sender in senders {
        sender.await.unwrap();
    }
    for n in 0..10 {
        let entity = probe(&node, &format!("e{n}"));
        assert_eq!(sum(&entity).await.unwrap(), 1_600);
    }
}
