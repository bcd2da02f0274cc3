//! `NodeBuilder`: describes a node and starts it.

use std::{
    any::TypeId,
    sync::{Arc, OnceLock},
    time::Duration,
};

use ostrakon_control::Seat;
use ostrakon_core::{EntityId, EntityKind, GroupName, InvalidId, NodeName, ShardGroup};
use ostrakon_tls::Unfit;
use thiserror::Error;

use crate::{
    Entity, Hosting, Managed, Node, Receptionist, TellError,
    actors::Actors,
    clock::Clock,
    dead_letters::DeadLetters,
    host::{
        Host,
        kind::{Factory, KindParts},
    },
    lease::Lease,
    link::Hub,
    node::{Hosted, Inner, Reached, WeakNode},
    plane::Plane,
    testing::Fixed,
    topology::Topology,
};
#[cfg(feature = "peers")]
use crate::{Peers, Seeds};

/// What a node will host and how. Without more it runs alone (*solo*): all shards are its own.
///
/// ```
/// use std::time::Duration;
/// use ostrakon::{entity, Hosting, Node};
///
/// #[derive(Default)]
/// struct Room { visitors: u32 }
///
/// #[entity(kind = "room")]
/// impl Room {
///     async fn enter(&mut self) -> u32 { self.visitors += 1; self.visitors }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let node = Node::builder("node-1")
///     .host_as::<Room>(Hosting::default().idle_after(Duration::from_secs(5)))
///     .start()
///     .await?;
/// assert_eq!(node.entity::<Room>("lobby").enter().await?, 1);
/// # node.leave().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a node runs after `start`"]
pub struct NodeBuilder {
    name: String,
    groups: Vec<ShardGroup>,
    kinds: Vec<KindPlan>,
    reached: Vec<(&'static str, TypeId, GroupName)>,
    singletons: Vec<(&'static str, String)>,
    force_serialization: bool,
    fixed: Option<Fixed>,
    plane: Option<Plane>,
}

struct KindPlan {
    kind: &'static str,
    entity: TypeId,
    group: GroupName,
    open: Open,
}

type Open = Box<dyn FnOnce(&Parts, ShardGroup) -> Hosted + Send>;

/// What a node has before it has anything to host.
pub(crate) struct Services {
    pub(crate) clock: Clock,
    pub(crate) topology: Arc<Topology>,
    pub(crate) actors: Arc<Actors>,
}

impl Services {
    fn new(name: &NodeName, clock: Clock) -> Self {
        Self {
            clock,
            topology: Arc::new(Topology::alone(name.clone())),
            actors: Arc::default(),
        }
    }
}

/// What every host of the node gets.
struct Parts {
    name: NodeName,
    clock: Clock,
    node: WeakNode,
    dead_letters: DeadLetters,
    force_serialization: bool,
    hub: Option<Arc<Hub>>,
    lease: Arc<Lease>,
}

impl NodeBuilder {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            groups: vec![ShardGroup::default()],
            kinds: Vec::new(),
            reached: Vec::new(),
            singletons: Vec::new(),
            force_serialization: false,
            fixed: None,
            plane: None,
        }
    }

    /// Hosts entities of this kind, made with `Default`.
    pub fn host<E: Entity + Default>(self) -> Self {
        self.host_as::<E>(Hosting::default())
    }

    /// Hosts entities of this kind with these settings, made with `Default`.
    pub fn host_as<E: Entity + Default>(self, hosting: Hosting) -> Self {
        self.host_with(hosting, |_| E::default())
    }

    /// Hosts entities that `make` makes, for instance from a database handle and the id.
    pub fn host_with<E: Entity>(
        mut self,
        hosting: Hosting,
        make: impl Fn(&EntityId) -> E + Send + Sync + 'static,
    ) -> Self {
        self.kinds.push(KindPlan {
            kind: E::KIND,
            entity: TypeId::of::<E>(),
            group: hosting.group.clone(),
            open: Box::new(move |parts, group| Hosted {
                kind: E::KIND,
                entity: TypeId::of::<E>(),
                host: {
                    let lanes = parts.hub.as_ref().and_then(|hub| hub.lanes(&group.name));
                    let kind = parts.kind(hosting, Factory::OnDemand(Box::new(make)));
                    Host::open_leased(kind, group, lanes.cloned(), Arc::clone(&parts.lease))
                },
            }),
        });
        self
    }

    /// Talks to entities of this kind, which only other nodes host. `group` is the shard group they live in.
    pub fn reach<E: Entity>(mut self, group: GroupName) -> Self {
        self.reached.push((E::KIND, TypeId::of::<E>(), group));
        self
    }

    /// Keeps one entity of a hosted kind running at all times, somewhere in the cluster.
    pub fn singleton<E: Entity>(mut self, id: impl Into<String>) -> Self {
        self.singletons.push((E::KIND, id.into()));
        self
    }

    /// Declares a shard group, or says how the default one is cut: 300 shards with the stable hash unless told otherwise.
    ///
    /// Count and hash decide where every entity lives: they cannot change once there is data.
    pub fn group(mut self, group: ShardGroup) -> Self {
        self.groups.retain(|known| known.name != group.name);
        self.groups.push(group);
        self
    }

    /// Sends local messages through the codec too, so that a test sees what a cluster would see.
    pub fn force_serialization(mut self) -> Self {
        self.force_serialization = true;
        self
    }

    /// Joins the cluster of these managers: one `host:port`, or a [`Managed`] that says more.
    ///
    /// A node that hosts no kind is a client: it talks to entities and owns no shards.
    pub fn managed(mut self, managed: impl Into<Managed>) -> Self {
        self.plane = Some(Plane::Managed(managed.into()));
        self
    }

    /// Forms or joins a cluster without managers: the nodes look after it themselves. `listen` is where this node's peers reach it, and `seeds`
    /// are some of theirs, `host:port` each; itself among them does no harm. Every node runs the same, only name and address differ.
    #[cfg(feature = "peers")]
    pub fn peers<S: Into<String>>(
        self,
        listen: impl Into<String>,
        seeds: impl IntoIterator<Item = S>,
    ) -> Self {
        self.peer(Peers::at(listen).seeds(Seeds::new(seeds)))
    }

    /// The same, where there is more to say.
    #[cfg(feature = "peers")]
    pub fn peer(mut self, peers: Peers) -> Self {
        self.plane = Some(Plane::Peers(peers));
        self
    }

    /// Joins a cluster whose map is given from outside: for tests.
    #[doc(hidden)]
    pub fn fixed(mut self, fixed: Fixed) -> Self {
        self.fixed = Some(fixed);
        self
    }

    /// Starts the node. It has joined when this returns.
    pub async fn start(mut self) -> Result<Node, StartError> {
        let name = NodeName::new(&self.name)?;
        self.check_kinds()?;
        let singletons = self.checked_singletons()?;
        let plane = self.plane.take();
        let clock = match plane.is_some() || self.fixed.is_some() {
            true => Clock::start().with_timers_apart(),
            false => Clock::start(),
        };
        let services = Services::new(&name, clock);
        let seat = match self.kinds.is_empty() {
            true => Seat::Client,
            false => Seat::Node,
        };
        let (groups, fixed) = (&self.groups, self.fixed.take());
        let hub = match (&plane, fixed) {
            (Some(plane), _) => Some(plane.part().open(&name, seat, groups, &services).await?),
            (None, Some(fixed)) => Some(fixed.open(&name, groups, &services).await?),
            (None, None) => None,
        };
        let (hub, listener) = hub.unzip();
        let node = self.assemble(name, services, hub);
        let (Some(hub), Some(listener)) = (&node.0.hub, listener) else {
            for (kind, id) in singletons {
                node.keep_running(kind, &id)?;
            }
            return Ok(node);
        };
        node.0.receptionist.open(&node, hub);
        hub.open(listener, node.known_kinds(), singletons);
        if let Some(plane) = plane {
            let membership = plane.join(hub, seat).await?;
            let _ = node.0.membership.set(membership);
        }
        Ok(node)
    }

    fn assemble(self, name: NodeName, services: Services, hub: Option<Arc<Hub>>) -> Node {
        Node(Arc::new_cyclic(|weak| {
            let Services {
                clock,
                topology,
                actors,
            } = services;
            let parts = Parts {
                name: name.clone(),
                clock,
                node: WeakNode(weak.clone()),
                dead_letters: DeadLetters::new(),
                force_serialization: self.force_serialization,
                lease: match &hub {
                    Some(hub) => Arc::clone(&hub.lease),
                    None => Arc::new(Lease::for_ever()),
                },
                hub: hub.clone(),
            };
            let groups = self.groups;
            let group = |name: &GroupName| {
                let group = groups.iter().find(|group| group.name == *name);
                group.cloned().unwrap_or_default()
            };
            let open = |plan: KindPlan| (plan.open)(&parts, group(&plan.group));
            let reached = self.reached.iter().map(|(kind, entity, name)| Reached {
                kind,
                entity: *entity,
                group: group(name),
                lanes: parts.hub.as_ref().and_then(|hub| hub.lanes(name)).cloned(),
            });
            Inner {
                clock,
                force_serialization: self.force_serialization,
                topology,
                hub,
                reached: reached.collect(),
                hosts: self.kinds.into_iter().map(open).collect(),
                actors,
                receptionist: Receptionist::new(WeakNode(weak.clone())),
                dead_letters: parts.dead_letters,
                lease: parts.lease,
                membership: OnceLock::new(),
                name,
            }
        }))
    }

    fn check_kinds(&self) -> Result<(), StartError> {
        for (n, plan) in self.kinds.iter().enumerate() {
            EntityKind::new(plan.kind)?;
            let earlier = &self.kinds[..n];
            if earlier
                .iter()
                .any(|e| e.kind == plan.kind || e.entity == plan.entity)
            {
                return Err(StartError::KindTwice { kind: plan.kind });
            }
            self.check_group(plan.kind, &plan.group)?;
        }
        for (kind, entity, group) in &self.reached {
            EntityKind::new(kind)?;
            let hosted = |plan: &KindPlan| plan.kind == *kind || plan.entity == *entity;
            if self.kinds.iter().any(hosted) {
                return Err(StartError::KindTwice { kind });
            }
            self.check_group(kind, group)?;
        }
        Ok(())
    }

    fn check_group(&self, kind: &'static str, group: &GroupName) -> Result<(), StartError> {
        if self.groups.iter().any(|known| known.name == *group) {
            return Ok(());
        }
        let group = group.clone();
        Err(StartError::UnknownGroup { kind, group })
    }

    fn checked_singletons(&self) -> Result<Vec<(&'static str, EntityId)>, StartError> {
        let mut checked = Vec::new();
        for (kind, id) in &self.singletons {
            let Some(plan) = self.kinds.iter().find(|plan| plan.kind == *kind) else {
                return Err(StartError::SingletonNotHosted { kind });
            };
            let id = EntityId::new(id)?;
            if let Some(group) = self.groups.iter().find(|group| group.name == plan.group) {
                // In a cluster nobody would notice later that it is missing.
                group.shard_of(&id).map_err(TellError::from)?;
            }
            checked.push((*kind, id));
        }
        Ok(checked)
    }
}

impl Parts {
    fn kind<E: Entity>(&self, hosting: Hosting, factory: Factory<E>) -> KindParts<E> {
        KindParts {
            hosting,
            factory,
            force_serialization: self.force_serialization,
            clock: self.clock,
            node: self.node.clone(),
            node_name: self.name.to_string(),
            dead_letters: self.dead_letters.clone(),
        }
    }
}

impl StartError {
    pub(crate) fn no_thread(cause: std::io::Error) -> Self {
        let cause = cause.to_string();
        Self::Thread { cause }
    }
}

/// Why a node did not start. Nothing runs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The node's name, a kind or a singleton's id cannot be used.
    #[error("a name cannot be used")]
    InvalidName(#[from] InvalidId),
    /// Two entity types have the same kind, or one type is hosted twice.
    #[error("kind `{kind}` is hosted twice; give each entity type its own kind, once")]
    KindTwice {
        /// The kind.
        kind: &'static str,
    },
    /// A kind wants a shard group that was not declared.
    #[error("kind `{kind}` wants shard group `{group}`, which is not declared; add `.group(…)`")]
    UnknownGroup {
        /// The kind.
        kind: &'static str,
        /// The group it wants.
        group: GroupName,
    },
    /// A singleton's kind is not hosted here.
    #[error(
        "a singleton of kind `{kind}` was declared, but the kind is not hosted; add `.host::<…>()`"
    )]
    SingletonNotHosted {
        /// The kind.
        kind: &'static str,
    },
    /// The node cannot listen for others on this address. Choose another, or end what uses it.
    #[error("cannot listen on `{address}`: {cause}")]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        cause: String,
    },
    /// The node's connections cannot be protected as they have to be.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Nobody who decides has let the node in. Nothing is wrong with the node itself: look at the managers, or peers, and at the way to
    /// them, and try again.
    #[error("nobody has let the node in within {within:?}: {trouble}")]
    NotJoined {
        /// How long it was tried.
        within: Duration,
        /// What went wrong with each manager.
        trouble: String,
    },
    /// The managers do not want this node. Trying again will not help before one of the two is changed.
    #[error("the managers refuse the node: {reason}")]
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// The system gives us no thread.
    #[error("cannot start a thread: {cause}")]
    Thread {
        /// What the system said.
        cause: String,
    },
    /// The node came into no cluster of peers.
    #[error("the node came into no cluster: {reason}")]
    NoCluster {
        /// Why, and what was tried.
        reason: String,
    },
    /// A singleton cannot be reached, for instance because the group's own hash function gives it no shard.
    #[error("a singleton cannot be started")]
    Singleton(#[from] TellError),
}
