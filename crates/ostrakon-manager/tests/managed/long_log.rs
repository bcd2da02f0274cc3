//! A log of very many entries: it is compacted, and whoever is far behind gets the state instead.

use std::{sync::Arc, time::Duration};

use ostrakon_control::{FromManager, FromNode, Seat};
use ostrakon_core::{Command, Entry, Index, NodeName, Policy, Term};
use ostrakon_manager::{Manager, ManagerSettings, View};
use ostrakon_storage::{Append, Memory, Storage, StorageSettings};

use crate::{
    callers::{Caller, SOON},
    cluster::{builder, is_spread, until},
};

/// A log with so many entries, by a manager that has gone.
async fn written(entries: usize) -> Arc<dyn Storage> {
    let storage = Memory::new(StorageSettings::default());
    let grantor = NodeName::new("predecessor").unwrap();
    let takeover = Entry {
        term: Term::default(),
        command: Command::Takeover { grantor, run: 1 },
    };
    let policy = Entry {
        term: Term::new(1),
        command: Command::SetPolicy(Policy::default()),
    };
    let mut all = vec![policy; entries];
    all[0] = takeover;
    let mut end = Index::default();
    for some in all.chunks(5000) {
        storage.append(Append::behind(end, some)).await.unwrap();
        end = Index::new(end.get() + some.len() as u64);
    }
    Arc::new(storage)
}

async fn leader(storage: &Arc<dyn Storage>, name: &str) -> Manager {
    let settings = ManagerSettings {
        name: name.to_owned(),
        patience: Duration::from_secs(2),
        ..ManagerSettings::default()
    };
    let manager = Manager::start_over(Arc::clone(storage), settings);
    let manager = manager.await.unwrap();
    until(&manager, "its lead", leads).await;
    manager
}

fn leads(view: &View) -> bool {
    view.leader().is_some_and(|leader| leader.is_me)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_log_is_compacted_and_the_next_manager_begins_with_what_is_left() {
    let storage = written(10_500).await;
    let manager = leader(&storage, "first").await;
    let one = builder("node-1", &manager).start().await.unwrap();
    let all = |view: &View| is_spread(view, &[("node-1", 300)]);
    until(&manager, "all shards", all).await;
    let compacted = async {
        loop {
            let read = storage.read(Index::default()).await.unwrap();
            if let Some(snapshot) = read.snapshot {
                return (snapshot.applied(), read.entries.len());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let compacted = tokio::time::timeout(SOON, compacted).await;
    let (applied, left) = compacted.expect("it is compacted");
    assert!(applied.get() > 10_500 && left < 100, "{applied} {left}");
    manager.stop().await;
    let next = leader(&storage, "second").await;
    assert!(all(&next.desk().view()), "it knows what the first did");
    drop(one);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_far_behind_gets_the_state_and_who_is_not_gets_entries_and_both_hear_what_follows() {
    let storage = written(6000).await;
    let manager = leader(&storage, "manager").await;
    let address = manager.address().unwrap();
    let end = manager.desk().view().state().applied();
    let mut far = Caller::call(address, "far", Seat::Client).await;
    let mut near = Caller::call(address, "near", Seat::Client).await;
    let follow = |behind| FromNode::Follow { behind };
    far.mouth.say(follow(Index::default()));
    let behind = Index::new(end.get() - 1000);
    near.mouth.say(follow(behind));
    let FromManager::State(state) = news(&mut far).await else {
        panic!("it gets entries");
    };
    assert!(state.applied() >= end);
    let told = hears_up_to(&mut near, behind, end).await;
    let mut far_told = state.applied();
    // Something happens: both hear of it, and of nothing twice.
    let _one = builder("node-1", &manager).start().await.unwrap();
    until(&manager, "all shards", |view| {
        is_spread(view, &[("node-1", 300)])
    })
    .await;
    let end = manager.desk().view().state().applied();
    hears_up_to(&mut near, told, end).await;
    far_told = hears_up_to(&mut far, far_told, end).await;
    assert!(far_told >= end);
}

/// The next that it is told of the log.
async fn news(caller: &mut Caller) -> FromManager {
    loop {
        let words = tokio::time::timeout(SOON, caller.heard.recv()).await;
        let words = words.expect("it hears something").unwrap();
        if matches!(words, FromManager::Entries { .. } | FromManager::State(_)) {
            return words;
        }
    }
}

/// Hears entries without a gap until it knows so much.
async fn hears_up_to(caller: &mut Caller, mut told: Index, end: Index) -> Index {
    while told < end {
        let FromManager::Entries { behind, entries } = news(caller).await else {
            panic!("it gets the state");
        };
        assert_eq!(behind, told);
        told = Index::new(told.get() + entries.len() as u64);
    }
    told
}
