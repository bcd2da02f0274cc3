//! A healthy node that has much to do is not taken for a dead one.

use std::collections::BTreeSet;

use ostrakon::{AskError, MemberStatus, Node, TellError};
use tokio::task::JoinSet;

use super::cluster::{Resident, nodes, residents};

const MESSAGES: usize = 30_000;

/// Everybody that any of these nodes has ever thought to be down, from when this is called on until it is dropped.
fn doubts(nodes: &[Node]) -> JoinSet<BTreeSet<String>> {
    let mut watching = JoinSet::new();
    for node in nodes {
        let mut topology = node.subscribe_topology();
        watching.spawn(async move {
            loop {
                let Some(snapshot) = topology.next().await else {
                    std::future::pending().await
                };
                let down = snapshot.members.into_iter();
                let down = down.filter(|member| member.status != MemberStatus::Up);
                let down: BTreeSet<_> = down.map(|member| member.name.to_string()).collect();
                if !down.is_empty() {
                    return down;
                }
            }
        });
    }
    watching
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_messages_makes_nobody_look_dead() {
    let (nodes, _) = nodes(3).await;
    let living = residents(&nodes[0], 300).await;
    let mut doubts = doubts(&nodes);
    let mut asks = JoinSet::new();
    for number in 0..MESSAGES {
        let from = &nodes[number % nodes.len()];
        let resident = from.entity::<Resident>(format!("resident-{}", number % 300));
        asks.spawn(async move { resident.visit().await });
    }
    let mut answered = 0;
    while let Some(visited) = asks.join_next().await {
        match visited.unwrap() {
            Ok(_) => answered += 1,
            // Said at once, and nothing was done.
            Err(AskError::NotSent(TellError::Overloaded { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    }
    println!("{answered} of {MESSAGES} answered, the others refused at once");
    assert!(answered > MESSAGES / 2, "{answered}");
    assert_eq!(residents(&nodes[0], 300).await, living, "nobody has moved");
    assert!(doubts.try_join_next().is_none(), "somebody looked dead");
}
