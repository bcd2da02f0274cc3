//! `Rounds`: the task that swaps pages with every other node that is there.
//!
//! A node is swapped with when it appears, when this node's own page has changed, and when the connection to it is another one, because a
//! client is forgotten with its connection; then again until it has answered or is not there any more. While nothing changes, nothing is sent.
//! Invariant: one swap at a time with each node, and not more than [`AT_ONCE`] in all.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use ostrakon_core::NodeName;
use tokio::{sync::watch, time::Instant};

use super::{
    Book, Page,
    clerk::{self, Swap},
};
use crate::{AskError, MemberStatus, Node, TopologySubscription, link::Hub, node::WeakNode};

/// How many swaps may be under way.
const AT_ONCE: usize = 64;
/// How long after a swap the same node is left in peace, so that many changes travel together.
const PEACE: Duration = Duration::from_millis(20);
/// The pause after a failure, doubled with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(super) struct Rounds {
    node: WeakNode,
    book: watch::Receiver<Book>,
    topology: TopologySubscription,
    connected: watch::Receiver<BTreeMap<NodeName, u64>>,
    peers: BTreeMap<NodeName, Peer>,
    under_way: FuturesUnordered<Pin<Box<dyn Future<Output = Swapped> + Send>>>,
    /// How many swaps have begun.
    begun: u64,
}

struct Peer {
    /// The swap that is under way with it.
    asked: Option<u64>,
    /// What it has answered to last.
    done: Option<Done>,
    /// Its connection, when it was last looked.
    connection: Option<u64>,
    failures: u32,
    /// When it may be asked again.
    due: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Done {
    version: u64,
    connection: u64,
}

/// A swap that has ended.
struct Swapped {
    number: u64,
    peer: NodeName,
    began: Instant,
    version: u64,
    answer: Result<Page, AskError>,
}

impl Rounds {
    pub(super) fn new(node: WeakNode, hub: &Hub, book: watch::Receiver<Book>) -> Self {
        Self {
            node,
            book,
            topology: hub.topology.subscribe(),
            connected: hub.connected.subscribe(),
            peers: BTreeMap::new(),
            under_way: FuturesUnordered::new(),
            begun: 0,
        }
    }

    /// Goes round until the node has left or is gone.
    pub(super) async fn run(mut self) {
        while let Some(wake) = self.go_round() {
            let wake = async {
                match wake {
                    Some(wake) => tokio::time::sleep_until(wake).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                news = self.book.changed() => if news.is_err() { return },
                news = self.topology.next() => if news.is_none() { return },
                news = self.connected.changed() => if news.is_err() { return },
                Some(swapped) = self.under_way.next() => self.note(swapped),
                () = wake => {}
            }
        }
    }

    /// Begins the swaps that are due. Returns when the next will be; `None` when there will be none any more.
    fn go_round(&mut self) -> Option<Option<Instant>> {
        let node = self.node.upgrade()?;
        let hub = node.0.hub.as_ref()?;
        if hub.is_leaving() {
            node.receptionist()
                .change(|book| book.meet(&BTreeSet::new()));
            return None;
        }
        self.meet(&node);
        let version = self.book.borrow_and_update().version();
        let now = Instant::now();
        let mut next = None;
        let mut due = Vec::new();
        for (name, peer) in &self.peers {
            if peer.asked.is_some() || peer.has(version) {
                continue;
            }
            if peer.due <= now {
                due.push((peer.due, name.clone()));
            } else {
                next = Some(next.map_or(peer.due, |next: Instant| next.min(peer.due)));
            }
        }
        // Those who have waited longest first. Whoever has no room comes when a swap has ended.
        due.sort();
        let room = AT_ONCE.saturating_sub(self.under_way.len());
        for (_, name) in due.into_iter().take(room) {
            self.ask(hub, name, node.receptionist().page());
        }
        Some(next)
    }

    /// Looks who is there.
    fn meet(&mut self, node: &Node) {
        let connected = self.connected.borrow_and_update().clone();
        let there = there(node, &connected);
        node.receptionist().change(|book| book.meet(&there));
        self.peers.retain(|name, _| there.contains(name));
        let now = Instant::now();
        for name in there {
            let connection = connected.get(&name).copied();
            let peer = self.peers.entry(name).or_insert(Peer {
                asked: None,
                done: None,
                connection,
                failures: 0,
                due: now,
            });
            if peer.connection != connection {
                peer.connection = connection;
                if connection.is_some() {
                    // It can be reached again.
                    peer.failures = 0;
                    peer.due = now;
                }
            }
        }
    }

    fn ask(&mut self, hub: &Arc<Hub>, name: NodeName, page: Page) {
        self.begun += 1;
        let number = self.begun;
        if let Some(peer) = self.peers.get_mut(&name) {
            peer.asked = Some(number);
        }
        let clerk = clerk::of(hub, &name);
        let from = hub.me.name.clone();
        let version = page.edition.version;
        self.under_way.push(Box::pin(async move {
            let began = Instant::now();
            let swap = |reply| Swap { from, page, reply };
            Swapped {
                number,
                peer: name,
                began,
                version,
                answer: clerk.ask(swap).await,
            }
        }));
    }

    fn note(&mut self, swapped: Swapped) {
        let Some(peer) = self.peers.get_mut(&swapped.peer) else {
            return;
        };
        if peer.asked != Some(swapped.number) {
            // It has gone and come back meanwhile.
            return;
        }
        peer.asked = None;
        match swapped.answer {
            Ok(page) => {
                let connection = self.connected.borrow().get(&swapped.peer).copied();
                let version = swapped.version;
                peer.done = connection.map(|connection| Done {
                    version,
                    connection,
                });
                peer.failures = 0;
                peer.due = swapped.began + PEACE;
                if let Some(node) = self.node.upgrade() {
                    node.receptionist().take(&swapped.peer, page);
                }
            }
            Err(error) => {
                tracing::debug!(peer = %swapped.peer, %error, "cannot exchange what is entered with the receptionists");
                peer.failures += 1;
                peer.due = Instant::now() + pause(peer.failures);
            }
        }
    }
}

impl Peer {
    /// Whether it has this version, and has not lost it with its connection.
    fn has(&self, version: u64) -> bool {
        let has = |connection| {
            self.done
                == Some(Done {
                    version,
                    connection,
                })
        };
        self.connection.is_some_and(has)
    }
}

/// The other nodes that are there: those that are up, and clients, which are no members, while they are connected.
fn there(node: &Node, connected: &BTreeMap<NodeName, u64>) -> BTreeSet<NodeName> {
    let members = node.topology().members;
    let mut there: BTreeSet<_> = connected.keys().cloned().collect();
    for member in members {
        match member.status {
            MemberStatus::Up => there.insert(member.name),
            MemberStatus::Leaving | MemberStatus::Down => there.remove(&member.name),
        };
    }
    there.remove(node.name());
    there
}

/// A random part of it keeps nodes from trying in step.
fn pause(failures: u32) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled
        .min(LONGEST_PAUSE)
        .mul_f64(0.5 + fastrand::f64() / 2.0)
}
