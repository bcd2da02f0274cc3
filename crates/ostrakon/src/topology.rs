//! Topology: which nodes there are, as far as this node knows.
//!
//! Consumers read a snapshot or subscribe to changes. It is advice about reachability; who owns a shard is decided elsewhere.

use ostrakon_core::NodeName;
use tokio::sync::watch;

/// The nodes of the cluster at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologySnapshot {
    /// All known nodes, ordered by name.
    pub members: Vec<Member>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: NodeName,
    /// What it is doing.
    pub status: MemberStatus,
}

/// What a node is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MemberStatus {
    /// A full member.
    Up,
    /// Handing its entities over before it goes.
    Leaving,
    /// Gone.
    Down,
}

impl TopologySnapshot {
    fn up(&self) -> usize {
        let members = self.members.iter();
        members
            .filter(|member| member.status == MemberStatus::Up)
            .count()
    }
}

/// This node's view, which the plane keeps up to date.
pub(crate) struct Topology(watch::Sender<TopologySnapshot>);

impl Topology {
    /// A cluster of one.
    pub(crate) fn alone(name: NodeName) -> Self {
        let status = MemberStatus::Up;
        let members = vec![Member { name, status }];
        Self(watch::Sender::new(TopologySnapshot { members }))
    }

    /// Takes over who is a member, as somebody else keeps it; `members` are ordered by name.
    pub(crate) fn mirror(&self, members: Vec<Member>) {
        self.0.send_if_modified(|snapshot| {
            let news = snapshot.members != members;
            if news {
                snapshot.members = members;
            }
            news
        });
    }

    pub(crate) fn snapshot(&self) -> TopologySnapshot {
        self.0.borrow().clone()
    }

    pub(crate) fn subscribe(&self) -> TopologySubscription {
        let mut changes = self.0.subscribe();
        changes.mark_changed();
        TopologySubscription(changes)
    }

    /// Waits until at least so many are up.
    pub(crate) async fn until_up(&self, least: usize) -> TopologySnapshot {
        let mut changes = self.0.subscribe();
        let seen = changes.wait_for(|snapshot| snapshot.up() >= least).await;
        seen.expect("whoever changes it is here").clone()
    }

    /// Notes that there is a node.
    pub(crate) fn add(&self, name: &NodeName) {
        self.0.send_if_modified(|snapshot| {
            let place = snapshot
                .members
                .binary_search_by(|member| member.name.cmp(name));
            let Err(place) = place else {
                return false;
            };
            let (name, status) = (name.clone(), MemberStatus::Down);
            snapshot.members.insert(place, Member { name, status });
            true
        });
    }

    /// Notes what a node is doing; subscribers hear of real changes only.
    pub(crate) fn set_status(&self, name: &NodeName, status: MemberStatus) {
        self.0.send_if_modified(|snapshot| {
            let member = snapshot.members.iter_mut().find(|m| m.name == *name);
            let Some(member) = member.filter(|m| m.status != status) else {
                return false;
            };
            member.status = status;
            true
        });
    }
}

/// Receives a snapshot at once and after every change.
pub struct TopologySubscription(watch::Receiver<TopologySnapshot>);

impl TopologySubscription {
    /// The next snapshot; `None` once the node is gone. Changes that came faster than they were read are seen as one.
    pub async fn next(&mut self) -> Option<TopologySnapshot> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}
