//! Nodes that know more of the log than there is of it.

use std::{future, sync::Arc, time::Duration};

use ostrakon_control::{FromNode, Seat};
use ostrakon_core::{Incarnation, Index, NodeName, Snapshot, Term};
use ostrakon_manager::{Happening, Manager, ManagerSettings, View, Wish, WishError};
use ostrakon_storage::{
    Append, AppendError, BoxFuture, Head, Memory, Read, Renewal, Renewed, Storage, StorageError,
    StorageSettings,
};

use crate::{
    callers::{Caller, registration},
    cluster::{Log, is_spread, manager, node, spread, until},
};

fn follow(behind: u64) -> FromNode {
    let behind = Index::new(behind);
    FromNode::Follow { behind }
}

/// A node that remembers a thousand entries which the log does not have.
async fn calls_from_the_past(manager: &Manager, name: &str) -> Caller {
    let past = Caller::call(manager.address().unwrap(), name, Seat::Node).await;
    past.mouth.say(follow(1000));
    until(manager, "it is noticed", |view| view.ahead().count() == 1).await;
    past
}

/// Somebody joins and gets nothing.
async fn gets_nothing(manager: &Manager, name: &str) -> ostrakon::Node {
    let node = node(name, manager).await;
    until(manager, "it has joined", |view| !spread(view).is_empty()).await;
    // Nodes that begin are waited for, but not for so long.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(spread(&manager.desk().view()), [(name.to_owned(), 0)]);
    node
}

fn was_said(view: &View) -> bool {
    let said =
        |what: &Happening| matches!(what, Happening::Ahead { knows, .. } if knows.get() == 1000);
    view.remembered().any(|event| said(&event.what))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_granted_while_a_node_remembers_what_the_log_does_not_until_it_is_restarted() {
    let log = Log::listen();
    let manager = manager().await;
    let past = calls_from_the_past(&manager, "past-1").await;
    assert!(was_said(&manager.desk().view()));
    log.says(&["ERROR", "knows more of the log", "past-1", "confirm-dead"])
        .await;
    let _one = gets_nothing(&manager, "past-1-newcomer").await;
    // Another process of this name, while the first is still there, proves nothing.
    let address = manager.address().unwrap();
    let twin = Caller::call(address, "past-1", Seat::Node).await;
    twin.mouth.say(follow(0));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(manager.desk().view().ahead().count(), 1);
    drop((past.mouth, twin.mouth));
    past.over.await.unwrap();
    // It has only hung up.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(manager.desk().view().ahead().count(), 1);
    let again = Caller::call(address, "past-1", Seat::Node).await;
    again.mouth.say(follow(0));
    until(&manager, "all shards", |view| {
        view.ahead().count() == 0 && is_spread(view, &[("past-1-newcomer", 300)])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_may_say_that_a_node_which_remembers_too_much_is_dead_when_it_is_gone() {
    let manager = manager().await;
    let past = calls_from_the_past(&manager, "past-2").await;
    let _one = gets_nothing(&manager, "past-2-newcomer").await;
    let dead = || Wish::ConfirmDead {
        node: NodeName::new("past-2").unwrap(),
        word: "unplugged".to_owned(),
    };
    let refused = manager.desk().wish(dead()).await;
    assert!(matches!(refused, Err(WishError::IsHeard { .. })));
    drop(past.mouth);
    past.over.await.unwrap();
    let gone = async {
        while manager.desk().wish(dead()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("it is forgotten");
    until(&manager, "all shards", |view| {
        is_spread(view, &[("past-2-newcomer", 300)])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_claim_to_know_more_hold_nobody_up() {
    let manager = manager().await;
    let client = Caller::call(manager.address().unwrap(), "past-3", Seat::Client).await;
    client.mouth.say(follow(u64::MAX));
    let _one = node("past-3-newcomer", &manager).await;
    until(&manager, "all shards", |view| {
        is_spread(view, &[("past-3-newcomer", 300)])
    })
    .await;
}

/// A log that can be read, and that does not say where it ends: as that of peers, while nobody leads.
struct Endless(Memory);

impl Storage for Endless {
    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        Box::pin(future::pending())
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        self.0.append(append)
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        self.0.read(behind)
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        self.0.beat(term, count)
    }

    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        self.0.compact(snapshot)
    }

    fn changed(&self, behind: Index) -> BoxFuture<'_, ()> {
        self.0.changed(behind)
    }

    fn renew(
        &self,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> BoxFuture<'_, Result<Renewed, StorageError>> {
        self.0.renew(incarnation, renewal)
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        self.0.leases()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_the_end_of_the_log_once_it_has_been_read_far_enough() {
    let storage = Arc::new(Endless(Memory::new(StorageSettings::default())));
    let manager = Manager::start_over(storage, ManagerSettings::default());
    let manager = manager.await.unwrap();
    let joins = async |name: &str, nonce| {
        let caller = Caller::call(manager.address().unwrap(), name, Seat::Node).await;
        if nonce > 1 {
            let read = manager.desk().view().state().applied();
            caller.mouth.say(follow(read.get() + 1));
        }
        caller.say(registration(name, nonce));
        let joined = |view: &View| {
            view.state()
                .members()
                .any(|(_, one)| one.registration.name.as_str() == name)
        };
        until(&manager, "it has joined", joined).await;
        caller
    };
    let _slow = joins("slow", 1).await;
    // Its registration is the entry that it claims to know.
    let _quick = joins("quick", 2).await;
    let _one = node("quick-newcomer", &manager).await;
    until(&manager, "all shards", |view| {
        spread(view).contains(&("quick-newcomer".to_owned(), 300))
    })
    .await;
}
