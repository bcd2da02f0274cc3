//! Broadcasts, which on one node reach one receiver.

use ostrakon::{Node, NodeName, Reply, SpawnError};

use crate::{
    Setup,
    counter::{Counter, CounterMessage},
};

twice! {
    a_broadcast_is_answered_once_per_node,
    a_topic_without_a_receiver_reaches_nobody,
}

async fn solo(setup: Setup) -> (Node, NodeName) {
    let node = setup(Node::builder("solo")).start().await.unwrap();
    let name = node.name().clone();
    (node, name)
}

fn add_one() -> CounterMessage {
    CounterMessage::Add {
        n: 1,
        reply: Reply::ignored(),
    }
}

// Shardcake, broadcasting suite: after one broadcast of +1 the answers to a broadcast question are exactly one success, 1.
// Casty, broadcast proxy: a broadcast is delivered to the receiver on the own node.
async fn a_broadcast_is_answered_once_per_node(setup: Setup) {
    let (node, name) = solo(setup).await;
    let receiver = node.join_topic("scores", Counter::default()).unwrap();
    let topic = node.topic::<Counter>("scores");
    let told: Vec<_> = topic.tell(add_one).await.into_iter().collect();
    assert_eq!(told, [(name.clone(), Ok(()))]);
    let answers = topic.ask(|reply| CounterMessage::Get { reply }).await;
    let answers: Vec<_> = answers.into_iter().collect();
    assert_eq!(answers, [(name, Ok(1))]);
    assert_eq!(receiver.get().await, Ok(1), "it is an actor like others");
    let second = node.join_topic("scores", Counter::default()).unwrap_err();
    assert!(matches!(second, SpawnError::NameTaken { .. }), "{second}");
    node.leave().await.unwrap();
}

// Casty, broadcast proxy: topics are apart, and a node that has no receiver gets nothing.
async fn a_topic_without_a_receiver_reaches_nobody(setup: Setup) {
    let (node, _) = solo(setup).await;
    let receiver = node.join_topic("scores", Counter::default()).unwrap();
    let told = node.topic::<Counter>("other").tell(add_one).await;
    assert!(told.is_empty());
    assert_eq!(receiver.get().await, Ok(0));
    node.leave().await.unwrap();
}
