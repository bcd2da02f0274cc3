//! Managers that lead exactly while they are told to, and whose callers are greeted by somebody else.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use ostrakon::{Managed, Node};
use ostrakon_control::greet;
use ostrakon_core::{Failover, LeaseTiming, Policy, Term};
use ostrakon_manager::{Manager, ManagerSettings, View, Wish};
use ostrakon_storage::{Memory, Storage, StorageSettings};
use ostrakon_tls::Security;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use crate::cluster::{Counter, is_spread, until};

struct Peer {
    manager: Arc<Manager>,
    leads: watch::Sender<bool>,
    address: SocketAddr,
    greeting: JoinHandle<()>,
}

impl Peer {
    async fn start(name: &str, storage: &Arc<dyn Storage>) -> Self {
        let settings = ManagerSettings {
            name: name.to_owned(),
            policy: Policy {
                failover: Failover::Lease(LeaseTiming::fast()),
                ..Policy::default()
            },
            ..ManagerSettings::default()
        };
        let (leads, told) = watch::channel(false);
        let manager = Manager::among_peers(Arc::clone(storage), told, settings);
        let manager = Arc::new(manager.unwrap_or_else(|error| panic!("{error}")));
        assert_eq!(manager.address(), None);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let greeting = tokio::spawn(let_in(listener, Arc::clone(&manager), name.to_owned()));
        Self {
            manager,
            leads,
            address,
            greeting,
        }
    }

    async fn begins_to_lead(&self) -> Term {
        until(&self.manager, "its lead", leads).await;
        self.manager.desk().view().state().term()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.greeting.abort();
    }
}

/// Greets whoever comes, and hands it on.
async fn let_in(listener: TcpListener, manager: Arc<Manager>, name: String) {
    let within = Duration::from_secs(5);
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let greeted = greet(stream, &Security::plaintext(), "ostrakon", &name, within).await;
        if let Ok(caller) = greeted {
            manager.receive(caller);
        }
    }
}

fn leads(view: &View) -> bool {
    view.leader().is_some_and(|leader| leader.is_me)
}

async fn two_peers() -> (Arc<dyn Storage>, Peer, Peer) {
    let storage: Arc<dyn Storage> = Arc::new(Memory::new(StorageSettings::default()));
    let (first, second) = tokio::join!(
        Peer::start("first", &storage),
        Peer::start("second", &storage)
    );
    (storage, first, second)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_elected_leads_at_once_and_until_another_is_elected() {
    let (storage, first, second) = two_peers().await;
    first.leads.send_replace(true);
    assert_eq!(first.begins_to_lead().await, Term::new(1));
    first.leads.send_replace(false);
    second.leads.send_replace(true);
    let term = second.begins_to_lead().await;
    assert!(term > Term::new(1));
    until(&first.manager, "the end of its lead", |view| !leads(view)).await;
    let refused = first.manager.desk().wish(Wish::Rebalance).await;
    assert!(refused.is_err(), "it acts without having been elected");
    // Signs of life are for managers that are not elected.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(storage.head().await.unwrap().beat, 0);
    assert_eq!(storage.head().await.unwrap().term, term);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_elected_twice_leads_again_in_a_term_of_its_own() {
    let (_storage, first, _second) = two_peers().await;
    first.leads.send_replace(true);
    let before = first.begins_to_lead().await;
    first.leads.send_replace(false);
    let standing = async {
        while first.manager.desk().wish(Wish::Rebalance).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let standing = tokio::time::timeout(Duration::from_secs(5), standing).await;
    assert!(standing.is_ok(), "it does not stand down");
    first.leads.send_replace(true);
    until(&first.manager, "another term", |view| {
        leads(view) && view.state().term() > before
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_be_elected_any_more_stands_down() {
    let (_storage, mut first, _second) = two_peers().await;
    first.leads.send_replace(true);
    first.begins_to_lead().await;
    let (unused, _) = watch::channel(false);
    drop(std::mem::replace(&mut first.leads, unused));
    let standing = async {
        while first.manager.desk().wish(Wish::Rebalance).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let standing = tokio::time::timeout(Duration::from_secs(5), standing).await;
    assert!(standing.is_ok(), "it does not stand down");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_keep_their_shards_and_their_leases_when_another_peer_is_elected() {
    let (_storage, first, second) = two_peers().await;
    first.leads.send_replace(true);
    let managed = Managed::by([first.address.to_string(), second.address.to_string()])
        .slack(LeaseTiming::fast().times().slack);
    let start = |name: &str| {
        let node = Node::builder(name).managed(managed.clone());
        node.host::<Counter>().start()
    };
    let (one, two) = tokio::join!(start("node-1"), start("node-2"));
    let (one, two) = (one.unwrap(), two.unwrap());
    let shares = [("node-1", 150), ("node-2", 150)];
    until(&second.manager, "equal shares", |view| {
        is_spread(view, &shares)
    })
    .await;
    assert_eq!(one.entity::<Counter>("a").add(1).await.unwrap(), 1);
    first.leads.send_replace(false);
    second.leads.send_replace(true);
    second.begins_to_lead().await;
    // Longer than a lease.
    for second in 0..4 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let asked = two.entity::<Counter>("a");
        let asked = tokio::time::timeout(Duration::from_millis(500), asked.add(1));
        assert_eq!(asked.await.expect("an answer at once").unwrap(), second + 2);
    }
    assert!(is_spread(&second.manager.desk().view(), &shares));
    // Its lease runs out, though nobody counts it in the storage.
    drop(two);
    until(&second.manager, "the end of its lease", |view| {
        is_spread(view, &[("node-1", 300)])
    })
    .await;
}
