//! Plain actors: spawned by hand, found by name.

use std::time::Duration;

use ostrakon::{AskError, LookupError, Node, SpawnError, TellError};

use crate::{Setup, counter::Counter};

twice! {
    a_spawned_actor_is_found_by_its_name,
    a_name_belongs_to_one_actor_at_a_time,
    a_failure_ends_an_actor_that_nobody_can_make_again,
}

async fn solo(setup: Setup) -> Node {
    setup(Node::builder("solo")).start().await.unwrap()
}

/// Waits until the name is free again, a while after the last answer. Time is paused and must be let go on.
async fn gone(node: &Node, name: &str) {
    while node.lookup::<Counter>(name).here().is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

// Casty, cluster over TCP: what was spawned under a path is found by that path, on its own node and through the node's name.
async fn a_spawned_actor_is_found_by_its_name(setup: Setup) {
    let node = solo(setup).await;
    let spawned = node.spawn("tally", Counter::default()).unwrap();
    spawned.tell().add(4).await.unwrap();
    let found = node.lookup::<Counter>("tally").here().unwrap();
    assert_eq!(found.add(1).await, Ok(5));
    let found = node.lookup::<Counter>("tally").on("solo").unwrap();
    assert_eq!(found.get().await, Ok(5));
    let missing = node.lookup::<Counter>("nothing").here().err().unwrap();
    assert!(
        matches!(missing, LookupError::NoSuchActor { .. }),
        "{missing}"
    );
    node.leave().await.unwrap();
}

// Casty, systems: a name is unique while its actor lives, and free afterwards; two names are two actors.
async fn a_name_belongs_to_one_actor_at_a_time(setup: Setup) {
    let node = solo(setup).await;
    let first = node.spawn("tally", Counter::default()).unwrap();
    let other = node.spawn("other", Counter::default()).unwrap();
    first.add(1).await.unwrap();
    let second = node.spawn("tally", Counter::default()).err().unwrap();
    assert!(matches!(second, SpawnError::NameTaken { .. }), "{second}");
    assert_eq!(first.add(1).await, Ok(2), "the refusal does not disturb it");
    assert_eq!(other.get().await, Ok(0));
    first.retire().await.unwrap();
    gone(&node, "tally").await;
    let third = node.spawn("tally", Counter::default()).unwrap();
    assert_eq!(third.get().await, Ok(0));
    node.leave().await.unwrap();
}

// Casty, supervision: an actor without a supervisor is stopped by its failure.
async fn a_failure_ends_an_actor_that_nobody_can_make_again(setup: Setup) {
    let node = solo(setup).await;
    let actor = node.spawn("tally", Counter::default()).unwrap();
    let failed = actor.crash().await.unwrap_err();
    assert!(matches!(failed, AskError::Failed(_)), "{failed}");
    gone(&node, "tally").await;
    let refused = actor.get().await.unwrap_err();
    assert!(
        matches!(refused, AskError::NotSent(TellError::Stopped { .. })),
        "{refused}"
    );
    node.leave().await.unwrap();
}
