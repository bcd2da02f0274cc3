//! Plain actors: entities that are made by hand, have a name on one node, and live once.
//!
//! They use the same trait, mailboxes and supervision as sharded entities. A failure ends an actor, for nobody knows how to make
//! it again; what needs to come back should be an entity.

use std::{any::TypeId, collections::BTreeMap, marker::PhantomData, sync::Arc};

use ostrakon_core::{EntityId, InvalidId, NodeName, ShardCount, ShardGroup};
use thiserror::Error;

use crate::{
    Entity, EntityRef, Hosting, Node,
    host::{
        AnyHost, Host,
        kind::{Factory, KindParts},
    },
    lock::Mutex,
    node::downcast,
};

/// How many tables the actors of one type are spread over: enough that senders seldom meet.
const TABLES: u32 = 16;

#[derive(Default)]
pub(crate) struct Actors(Mutex<Registry>);

#[derive(Default)]
struct Registry {
    closed: bool,
    hosts: BTreeMap<TypeId, Arc<dyn AnyHost>>,
    /// Which type of actor has a name.
    names: BTreeMap<EntityId, TypeId>,
}

impl Actors {
    /// An actor is over: its name is free. `also` is done before another can take it.
    pub(crate) fn ended(&self, name: &EntityId, also: impl FnOnce()) {
        let mut registry = self.0.lock();
        registry.names.remove(name);
        also();
    }

    /// Does something while an actor is surely running under its name.
    pub(crate) fn while_running<E: Entity>(
        &self,
        name: &EntityId,
        work: impl FnOnce(),
    ) -> Result<(), LookupError> {
        let registry = self.0.lock();
        registry.check::<E>(name)?;
        work();
        Ok(())
    }

    /// The host of the actor of this name, if it is of this kind.
    pub(crate) fn host_of(&self, kind: &str, name: &EntityId) -> Option<Arc<dyn AnyHost>> {
        let registry = self.0.lock();
        let host = registry.hosts.get(registry.names.get(name)?)?;
        (host.kind() == kind).then(|| Arc::clone(host))
    }

    /// Accepts no more actors; returns the hosts of those there are.
    pub(crate) fn close(&self) -> Vec<Arc<dyn AnyHost>> {
        let mut registry = self.0.lock();
        registry.closed = true;
        registry.hosts.values().cloned().collect()
    }
}

impl Registry {
    fn check<E: Entity>(&self, name: &EntityId) -> Result<(), LookupError> {
        let name = || name.clone();
        match self.names.get(&name()) {
            None => Err(LookupError::NoSuchActor { name: name() }),
            Some(found) if *found != TypeId::of::<E>() => {
                Err(LookupError::OtherType { name: name() })
            }
            Some(_) => Ok(()),
        }
    }
}

impl Node {
    /// Runs `actor` on this node under a name of its own.
    pub fn spawn<E: Entity>(&self, name: impl AsRef<str>, actor: E) -> Result<E::Ref, SpawnError> {
        let name = EntityId::new(name)?;
        let mut registry = self.0.actors.0.lock();
        if registry.closed {
            return Err(SpawnError::NodeLeft);
        }
        if registry.names.contains_key(&name) {
            return Err(SpawnError::NameTaken { name });
        }
        let host = registry
            .hosts
            .entry(TypeId::of::<E>())
            .or_insert_with(|| self.open_actor_host::<E>());
        let host = downcast::<E>(host).expect("kept under the entity's own type");
        registry.names.insert(name.clone(), TypeId::of::<E>());
        drop(registry);
        match host.insert(&name, actor) {
            Ok(true) => Ok(EntityRef::of(Some(host), name).into()),
            Ok(false) => Err(SpawnError::NameTaken { name }),
            Err(_) => {
                self.0.actors.ended(&name, || {});
                Err(SpawnError::NodeLeft)
            }
        }
    }

    fn open_actor_host<E: Entity>(&self) -> Arc<dyn AnyHost> {
        let inner = &self.0;
        let parts = KindParts::<E> {
            hosting: Hosting::default().keep_alive(),
            factory: Factory::Given(Mutex::default()),
            force_serialization: inner.force_serialization,
            clock: inner.clock,
            node: self.weak(),
            node_name: inner.name.to_string(),
            dead_letters: inner.dead_letters.clone(),
        };
        let group = ShardGroup {
            count: ShardCount::new(TABLES).expect("a valid count"),
            ..ShardGroup::default()
        };
        Host::open(parts, group, None)
    }

    /// Begins to look an actor up by its name.
    pub fn lookup<E: Entity>(&self, name: impl Into<String>) -> Lookup<'_, E> {
        Lookup {
            node: self,
            name: name.into(),
            actor: PhantomData,
        }
    }
}

/// An actor's name; say next on which node.
#[must_use = "say where to look: `here` or `on(node)`"]
pub struct Lookup<'n, E> {
    node: &'n Node,
    name: String,
    actor: PhantomData<fn() -> E>,
}

impl<E: Entity> Lookup<'_, E> {
    /// The actor on this node.
    pub fn here(self) -> Result<E::Ref, LookupError> {
        let name = EntityId::new(&self.name)?;
        let registry = self.node.0.actors.0.lock();
        registry.check::<E>(&name)?;
        let host = registry.hosts.get(&TypeId::of::<E>());
        let host = host.and_then(downcast::<E>);
        Ok(EntityRef::of(host, name).into())
    }

    /// The actor on the node with this name. Whether it runs on another node shows when something is sent to it.
    pub fn on(self, node: impl AsRef<str>) -> Result<E::Ref, LookupError> {
        let node = NodeName::new(node)?;
        if node == self.node.0.name {
            return self.here();
        }
        let hub = self.node.0.hub.as_ref().filter(|hub| hub.knows(&node));
        let Some(hub) = hub else {
            return Err(LookupError::NoSuchNode { node });
        };
        let name = EntityId::new(&self.name)?;
        Ok(EntityRef::on(hub.link(&node), name, self.node.0.clock).into())
    }
}

/// Why an actor was not started. It has been dropped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The name cannot be used.
    #[error("the actor's name cannot be used")]
    InvalidName(#[from] InvalidId),
    /// Another actor has this name; choose another, or wait until it has stopped.
    #[error("an actor named `{name}` is running already")]
    NameTaken {
        /// The name.
        name: EntityId,
    },
    /// The node has left.
    #[error("the node has left; nothing can be started on it")]
    NodeLeft,
}

/// Why an actor was not found, or not entered with the receptionist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The name cannot be used.
    #[error("the name cannot be used")]
    InvalidName(#[from] InvalidId),
    /// No actor of this name runs there now.
    #[error("no actor named `{name}` is running")]
    NoSuchActor {
        /// The name.
        name: EntityId,
    },
    /// The actor of this name is of another type.
    #[error("the actor named `{name}` is of another type")]
    OtherType {
        /// The name.
        name: EntityId,
    },
    /// No node of this name is known.
    #[error("no node named `{node}` is known")]
    NoSuchNode {
        /// The name.
        node: NodeName,
    },
    /// This node's receptionist has 1,024 entries or 63 KiB of them. The actor was not entered; take others out first.
    #[error(
        "the receptionist of this node has no room for `{name}`: 1024 entries with 63 KiB are the most"
    )]
    Full {
        /// The actor that was to be entered.
        name: EntityId,
    },
}
