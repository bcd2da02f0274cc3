//! The receptionist: finds actors by what they offer instead of by their names.
//!
//! An actor is entered under a key and stays there until it is taken out or ends.

use std::{any::TypeId, collections::BTreeSet, marker::PhantomData};

use ostrakon_core::EntityId;
use tokio::sync::watch;

use crate::{Entity, LookupError, node::WeakNode};

/// Finds actors by key. One per node; see [`Node::receptionist`](crate::Node::receptionist).
pub struct Receptionist {
    node: WeakNode,
    book: watch::Sender<BTreeSet<Entry>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: String,
    actor: EntityId,
    entity: TypeId,
}

impl Receptionist {
    pub(crate) fn new(node: WeakNode) -> Self {
        let book = watch::Sender::new(BTreeSet::new());
        Self { node, book }
    }

    /// Enters a running actor of this node under a key.
    pub fn register<E: Entity>(&self, key: &str, actor: &str) -> Result<(), LookupError> {
        let entry = Entry::new::<E>(key, actor)?;
        let Some(node) = self.node.upgrade() else {
            return Err(LookupError::NoSuchActor { name: entry.actor });
        };
        let actor = entry.actor.clone();
        node.0.actors.while_running::<E>(&actor, || {
            self.change(|book| book.insert(entry));
        })
    }

    /// Takes an actor out. `false`: it was not entered.
    pub fn deregister<E: Entity>(&self, key: &str, actor: &str) -> Result<bool, LookupError> {
        let entry = Entry::new::<E>(key, actor)?;
        Ok(self.change(|book| book.remove(&entry)))
    }

    /// The actors under a key now.
    pub fn find<E: Entity>(&self, key: &str) -> Vec<E::Ref> {
        let names = names::<E>(key, &self.book.borrow());
        refs::<E>(&self.node, &names)
    }

    /// The actors under a key, at once and after every change.
    pub fn subscribe<E: Entity>(&self, key: &str) -> Listing<E> {
        let mut book = self.book.subscribe();
        book.mark_changed();
        Listing {
            node: self.node.clone(),
            key: key.to_owned(),
            book,
            last: None,
            entity: PhantomData,
        }
    }

    pub(crate) fn actor_ended(&self, actor: &EntityId) {
        self.change(|book| {
            let before = book.len();
            book.retain(|entry| entry.actor != *actor);
            book.len() != before
        });
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<Entry>) -> bool) -> bool {
        self.book.send_if_modified(change)
    }
}

impl Entry {
    fn new<E: Entity>(key: &str, actor: &str) -> Result<Self, LookupError> {
        Ok(Self {
            key: key.to_owned(),
            actor: EntityId::new(actor)?,
            entity: TypeId::of::<E>(),
        })
    }
}

/// The actors under one key, as they come and go.
pub struct Listing<E: Entity> {
    node: WeakNode,
    key: String,
    book: watch::Receiver<BTreeSet<Entry>>,
    last: Option<Vec<EntityId>>,
    entity: PhantomData<fn() -> E>,
}

impl<E: Entity> Listing<E> {
    /// The actors at once, then after each change under this key; `None` once the node is gone.
    pub async fn next(&mut self) -> Option<Vec<E::Ref>> {
        loop {
            self.book.changed().await.ok()?;
            let names = names::<E>(&self.key, &self.book.borrow_and_update());
            if self.last.as_ref() == Some(&names) {
                continue;
            }
            let found = refs::<E>(&self.node, &names);
            self.last = Some(names);
            return Some(found);
        }
    }
}

/// The names under a key. They are turned into refs after the book is let go: whoever enters one holds the actors' lock first.
fn names<E: Entity>(key: &str, book: &BTreeSet<Entry>) -> Vec<EntityId> {
    let entity = TypeId::of::<E>();
    book.iter()
        .filter(|entry| entry.key == key && entry.entity == entity)
        .map(|entry| entry.actor.clone())
        .collect()
}

fn refs<E: Entity>(node: &WeakNode, names: &[EntityId]) -> Vec<E::Ref> {
    let Some(node) = node.upgrade() else {
        return Vec::new();
    };
    names
        .iter()
        .filter_map(|actor| node.lookup::<E>(actor.as_str()).here().ok())
        .collect()
}
