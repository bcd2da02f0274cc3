//! Actors that are found by key in a managed cluster, by nodes and by clients.

use std::time::Duration;

use ostrakon::{Listing, Node};
use ostrakon_manager::Manager;
use tokio::time::timeout;

use crate::cluster::{Counter, CounterRef, manager, node};

const KEY: &str = "counters";
const SOON: Duration = Duration::from_secs(20);

fn enter(node: &Node, actor: &str) -> CounterRef {
    let spawned = node.spawn(actor, Counter::default()).unwrap();
    let desk = node.receptionist();
    desk.register::<Counter>(KEY, actor).unwrap();
    spawned
}

fn subscribe(node: &Node) -> Listing<Counter> {
    node.receptionist().subscribe(KEY)
}

async fn client(name: &str, manager: &Manager) -> Node {
    let client = Node::builder(name).managed(manager.address().unwrap());
    client.start().await.unwrap()
}

/// Waits until these are listed, each by its node and its own name, and answer.
async fn listed(listing: &mut Listing<Counter>, wanted: &[&str]) -> Vec<CounterRef> {
    let mut last = Vec::new();
    let seen = async {
        loop {
            let found = listing.next().await.unwrap();
            last = found
                .iter()
                .map(|counter| counter.as_ref().id().unwrap().to_string())
                .collect();
            if last == wanted {
                return found;
            }
        }
    };
    let found = timeout(SOON, seen).await;
    found.unwrap_or_else(|_| panic!("{last:?} are listed instead of {wanted:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_entered_on_one_node_is_found_on_all_until_it_goes() {
    let manager = manager().await;
    let (one, two) = (
        node("node-1", &manager).await,
        node("node-2", &manager).await,
    );
    let mut seen = subscribe(&one);
    enter(&two, "a");
    enter(&two, "b");
    let found = listed(&mut seen, &["a", "b"]).await;
    assert_eq!(found[0].place().await.unwrap(), "node-2");
    let desk = two.receptionist();
    assert_eq!(desk.deregister::<Counter>(KEY, "a"), Ok(true));
    listed(&mut seen, &["b"]).await;

    // One that joins later learns it, though nothing changes.
    let three = node("node-3", &manager).await;
    enter(&three, "c");
    listed(&mut subscribe(&three), &["b", "c"]).await;
    listed(&mut seen, &["b", "c"]).await;
    two.leave().await.unwrap();
    listed(&mut seen, &["c"]).await;
    listed(&mut subscribe(&three), &["c"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_begins_anew_without_entries_replaces_what_it_had_before() {
    let manager = manager().await;
    let (one, two) = (
        node("node-1", &manager).await,
        node("node-2", &manager).await,
    );
    let mut seen = subscribe(&one);
    enter(&two, "a");
    listed(&mut seen, &["a"]).await;
    // Without a word; while its process lives nobody can say that it is dead.
    drop(two);
    let _again = node("node-2", &manager).await;
    listed(&mut seen, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_finds_actors_and_its_own_are_found_while_it_is_connected() {
    let manager = manager().await;
    let one = node("node-1", &manager).await;
    let mut seen = subscribe(&one);
    enter(&one, "here");
    let client = client("client-1", &manager).await;
    let mut seen_by_client = subscribe(&client);
    let found = listed(&mut seen_by_client, &["here"]).await;
    assert_eq!(found[0].place().await.unwrap(), "node-1");

    enter(&client, "there");
    // `client-1` is before `node-1`.
    let found = listed(&mut seen, &["there", "here"]).await;
    assert_eq!(found[0].place().await.unwrap(), "client-1");
    // It learns of changes without asking.
    enter(&one, "more");
    listed(&mut seen_by_client, &["there", "here", "more"]).await;
    drop((client, found));
    listed(&mut seen, &["here", "more"]).await;
}
