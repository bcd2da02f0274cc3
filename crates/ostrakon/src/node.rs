//! `Node`: one process's part in the system, and the way to every entity.

mod ending;

use std::{
    any::TypeId,
    sync::{Arc, OnceLock, Weak},
};

use ostrakon_core::{EntityId, Epoch, NodeName, ShardGroup, ShardId};
#[cfg(feature = "peers")]
use ostrakon_council::PeerDesk;
use thiserror::Error;

use self::ending::Ending;
use crate::{
    DeadLetterSubscription, Entity, EntityRef, NodeBuilder, Receptionist, TellError,
    TopologySnapshot, TopologySubscription,
    actors::Actors,
    clock::Clock,
    dead_letters::DeadLetters,
    host::{AnyHost, Host, Place},
    lease::Lease,
    link::{Draft, Hub, KnownKind, Lanes},
    plane::Membership,
    topology::{MemberStatus, Topology},
    wire::Ports,
};

/// A running node. Cheap to clone; all clones are the same node. End it with [`Node::leave`].
///
/// When the last clone is dropped without that, the node ends at once and not in good order: entities end where they are, without their `stop`
/// hooks, and what waits for them is refused. In a cluster, as long as the runtime runs, whoever decides is told within a moment, so that others
/// take the shards over without waiting for a lease to end.
#[derive(Clone)]
pub struct Node(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) name: NodeName,
    pub(crate) clock: Clock,
    pub(crate) force_serialization: bool,
    pub(crate) dead_letters: DeadLetters,
    /// Until when entities may act.
    pub(crate) lease: Arc<Lease>,
    pub(crate) topology: Arc<Topology>,
    /// The way to other nodes; `None` on a solo node.
    pub(crate) hub: Option<Arc<Hub>>,
    /// Few, and looked up for every ref that is made: a list is faster than a map.
    pub(crate) hosts: Vec<Hosted>,
    /// Kinds that this node talks to but does not host.
    pub(crate) reached: Vec<Reached>,
    pub(crate) actors: Arc<Actors>,
    pub(crate) receptionist: Receptionist,
    /// Its place among the nodes that managers look after.
    pub(crate) membership: OnceLock<Membership>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let hosted = self.hosts.drain(..).map(|hosted| hosted.host);
        let ending = Ending {
            hosts: hosted.chain(self.actors.close()).collect(),
            hub: self.hub.take(),
            membership: self.membership.take(),
        };
        ending.begin();
    }
}

/// One kind that only other nodes host.
pub(crate) struct Reached {
    pub(crate) kind: &'static str,
    pub(crate) entity: TypeId,
    pub(crate) group: ShardGroup,
    /// The ways to its shards; `None` on a solo node, which reaches nobody.
    pub(crate) lanes: Option<Lanes>,
}

/// One kind that this node hosts.
pub(crate) struct Hosted {
    pub(crate) kind: &'static str,
    pub(crate) entity: TypeId,
    pub(crate) host: Arc<dyn AnyHost>,
}

impl Node {
    /// Begins to describe a node. The name is what operators and other nodes call it, such as `node-1`.
    pub fn builder(name: impl Into<String>) -> NodeBuilder {
        NodeBuilder::new(name.into())
    }

    /// The node's name.
    pub fn name(&self) -> &NodeName {
        &self.0.name
    }

    /// A typed ref to an entity, wherever it lives. Making one sends nothing and starts nothing; an id that
    /// cannot be used is reported by the first send.
    pub fn entity<E: Entity>(&self, id: impl AsRef<str>) -> E::Ref {
        let entity = match EntityId::new(id) {
            Ok(id) => match self.host::<E>() {
                Some(host) => EntityRef::of(Some(host), id),
                None => self.entity_elsewhere(id),
            },
            Err(error) => EntityRef::nowhere(error.into()),
        };
        entity.into()
    }

    fn host<E: Entity>(&self) -> Option<Arc<Host<E>>> {
        let entity = TypeId::of::<E>();
        let hosted = self.0.hosts.iter().find(|h| h.entity == entity)?;
        downcast(&hosted.host)
    }

    fn entity_elsewhere<E: Entity>(&self, id: EntityId) -> EntityRef<E> {
        let entity = TypeId::of::<E>();
        let mut all = self.0.reached.iter();
        let reached = all.find(|reached| reached.entity == entity);
        let lanes = reached.and_then(|reached| Some((reached, reached.lanes.as_ref()?)));
        let Some((reached, lanes)) = lanes else {
            return EntityRef::of(None, id);
        };
        match Place::of(&reached.group, &id) {
            Ok(place) => EntityRef::away(lanes, place, id, self.0.clock),
            Err(error) => EntityRef::nowhere(error.into()),
        }
    }

    fn host_named(&self, kind: &str) -> Result<&Arc<dyn AnyHost>, TellError> {
        let hosted = self.0.hosts.iter().find(|hosted| hosted.kind == kind);
        hosted
            .map(|hosted| &hosted.host)
            .ok_or_else(|| TellError::UnknownKind {
                kind: kind.to_owned(),
            })
    }

    pub(crate) fn keep_running(&self, kind: &str, id: &EntityId) -> Result<(), TellError> {
        self.host_named(kind)?.keep_running(id)
    }

    /// Which shard an entity belongs to, and who owns that.
    pub fn locate(&self, kind: &str, id: impl AsRef<str>) -> Result<Location, TellError> {
        let id = EntityId::new(id)?;
        let reached = self.0.reached.iter().find(|reached| reached.kind == kind);
        let group = match reached {
            Some(reached) => &reached.group,
            None => self.host_named(kind)?.group(),
        };
        let shard = group.shard_of(&id)?;
        let Some(hub) = &self.0.hub else {
            let (node, epoch) = (self.0.name.clone(), Epoch::new(1));
            return Ok(Location { shard, node, epoch });
        };
        let map = hub.map.load();
        match map.owner(&group.name, shard) {
            Some(assignment) => Ok(Location {
                shard,
                node: assignment.owner.clone(),
                epoch: assignment.epoch,
            }),
            None => Err(TellError::NoOwner {
                kind: hub.known_kind(kind).unwrap_or("?"),
                id,
                shard,
            }),
        }
    }

    /// Tells an entity a message that is already encoded with its kind's codec: for gateways and tools.
    pub fn tell_encoded(
        &self,
        kind: &str,
        id: impl AsRef<str>,
        message: Vec<u8>,
    ) -> Result<(), TellError> {
        let id = EntityId::new(id)?;
        let reached = self.0.reached.iter().find(|reached| reached.kind == kind);
        let Some((reached, lanes)) =
            reached.and_then(|reached| Some((reached, reached.lanes.as_ref()?)))
        else {
            return self.host_named(kind)?.tell_encoded(&id, message);
        };
        let shard = reached.group.shard_of(&id)?;
        let draft = Draft {
            kind: reached.kind,
            id: &id,
            asking: None,
            options: &[],
            ports: Ports::new(),
            payload: &message,
        };
        lanes[shard.index()].send(draft)?;
        Ok(())
    }

    /// How many entities of this kind are in memory on this node.
    pub fn active(&self, kind: &str) -> Result<usize, TellError> {
        Ok(self.host_named(kind)?.active())
    }

    /// The messages that will never be handled, from now on.
    pub fn dead_letters(&self) -> DeadLetterSubscription {
        self.0.dead_letters.subscribe()
    }

    /// Finds actors by what they offer, on all nodes.
    pub fn receptionist(&self) -> &Receptionist {
        &self.0.receptionist
    }

    /// The nodes this node knows.
    pub fn topology(&self) -> TopologySnapshot {
        self.0.topology.snapshot()
    }

    /// Waits until at least so many nodes are [up](MemberStatus::Up), this one included, and returns what is known then: for tests, and for a
    /// start that needs the others. It waits for as long as it takes; put a timeout around it. Clients and witnesses are no members.
    ///
    /// ```
    /// # #[derive(Default)] struct Room;
    /// # #[ostrakon::entity(kind = "room")] impl Room { async fn ping(&self) {} }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use ostrakon::Node;
    /// use tokio::time::timeout;
    ///
    /// let node = Node::builder("node-1").host::<Room>().start().await?;
    /// let members = timeout(Duration::from_secs(10), node.until_members(1)).await?.members;
    /// assert_eq!(members[0].name, *node.name());
    /// # node.leave().await?;
    /// # Ok(()) }
    /// ```
    pub async fn until_members(&self, least: usize) -> TopologySnapshot {
        self.0.topology.until_up(least).await
    }

    /// A snapshot at once, and one after every change.
    pub fn subscribe_topology(&self) -> TopologySubscription {
        self.0.topology.subscribe()
    }

    /// On the peer plane, whether this node decides for all at the moment, now and from now on; `None` on others.
    #[cfg(feature = "peers")]
    pub fn leading(&self) -> Option<tokio::sync::watch::Receiver<bool>> {
        let council = self.0.membership.get()?.council.as_ref()?;
        Some(council.log().leads())
    }

    /// On the peer plane, where operators look at the cluster and say what they want of it; `None` on others. The admin API is
    /// served from it.
    #[cfg(feature = "peers")]
    pub fn desk(&self) -> Option<&PeerDesk> {
        let council = self.0.membership.get()?.council.as_ref()?;
        Some(council.desk())
    }

    /// Stops every entity and actor in good order: no new messages, those that wait are handled, `stop` hooks run, each
    /// kind within its stop deadline; what is not done then is ended.
    pub async fn leave(&self) -> Result<(), LeaveError> {
        let inner = &self.0;
        inner.receptionist.leave();
        inner
            .topology
            .set_status(&inner.name, MemberStatus::Leaving);
        if let Some(membership) = inner.membership.get()
            && !membership.leave().await
        {
            tracing::warn!(
                "no manager has taken note that this node leaves: its shards wait until its end is known"
            );
        }
        let mut hosts: Vec<_> = inner.hosts.iter().map(|h| Arc::clone(&h.host)).collect();
        hosts.extend(inner.actors.close());
        let closing = hosts.iter().map(|host| host.close());
        let stuck = futures_util::future::join_all(closing).await.iter().sum();
        if let Some(hub) = &inner.hub {
            hub.leave().await;
        }
        inner.topology.set_status(&inner.name, MemberStatus::Down);
        match stuck {
            0 => Ok(()),
            entities => Err(LeaveError::Stuck { entities }),
        }
    }

    pub(crate) fn known_kinds(&self) -> Vec<KnownKind> {
        let hosted = self.0.hosts.iter().map(|hosted| KnownKind {
            kind: hosted.kind,
            group: hosted.host.group().name.clone(),
            host: Some(Arc::clone(&hosted.host)),
        });
        let reached = self.0.reached.iter().map(|reached| KnownKind {
            kind: reached.kind,
            group: reached.group.name.clone(),
            host: None,
        });
        hosted.chain(reached).collect()
    }

    pub(crate) fn weak(&self) -> WeakNode {
        WeakNode(Arc::downgrade(&self.0))
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({})", self.0.name)
    }
}

pub(crate) fn downcast<E: Entity>(host: &Arc<dyn AnyHost>) -> Option<Arc<Host<E>>> {
    Arc::clone(host).as_any().downcast().ok()
}

/// A node that its own parts refer to without keeping it alive.
#[derive(Clone)]
pub(crate) struct WeakNode(pub(crate) Weak<Inner>);

impl WeakNode {
    pub(crate) fn upgrade(&self) -> Option<Node> {
        self.0.upgrade().map(Node)
    }

    pub(crate) fn actor_ended(&self, name: &EntityId) {
        if let Some(node) = self.upgrade() {
            let receptionist = &node.0.receptionist;
            node.0.actors.ended(name, || receptionist.actor_ended(name));
        }
    }
}

/// Where an entity lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Its shard.
    pub shard: ShardId,
    /// The node that owns the shard.
    pub node: NodeName,
    /// Which ownership of the shard this is.
    pub epoch: Epoch,
}

/// Why leaving was not clean.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LeaveError {
    /// Some entities hold a thread without ever waiting, so they cannot be ended. Everything else has stopped; end the process.
    #[error("{entities} entities would not end: their code never waits; end the process")]
    Stuck {
        /// How many.
        entities: usize,
    },
}
