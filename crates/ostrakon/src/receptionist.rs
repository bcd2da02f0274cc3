//! The receptionist: finds actors by what they offer instead of by their names, on all nodes of the cluster.
//!
//! An actor is entered under a key on its own node and stays there until it is taken out or ends. Nodes give each other what has been
//! entered with them ([`rounds`], [`clerk`]); what is known of all is the [`book`]. It is advice, and late by as long as the way between
//! two nodes takes: an actor that is listed may have ended, and one that was entered a moment ago may be missing.

mod book;
mod clerk;
mod page;
mod rounds;

use std::marker::PhantomData;

use ostrakon_core::{EntityId, NodeName};
use tokio::sync::watch;

use self::{
    book::{Book, Entry},
    page::Page,
    rounds::Rounds,
};
use crate::{Entity, EntityRef, LookupError, Node, link::Hub, node::WeakNode};

/// Finds actors by key, wherever in the cluster they run. One per node; see [`Node::receptionist`](crate::Node::receptionist).
///
/// It is eventually consistent: what is entered on one node is known to the others soon, not at once, and the same goes for what is taken
/// out, for actors that end and for nodes that go. Nodes that cannot talk to each other learn of each other's changes when they can
/// again. Listings have the same order on every node: by the name of the node, then by the name of the actor.
///
/// A client takes part: it finds the actors of all nodes, and they find its own while they are connected; clients do not find each
/// other's. On another node an actor is known by its kind: give different types different kinds.
pub struct Receptionist {
    node: WeakNode,
    book: watch::Sender<Book>,
}

impl Receptionist {
    pub(crate) fn new(node: WeakNode) -> Self {
        let book = watch::Sender::new(Book::default());
        Self { node, book }
    }

    /// Begins to exchange with other nodes. From now on they may come and ask.
    pub(crate) fn open(&self, node: &Node, hub: &Hub) {
        self.book.send_modify(|book| book.begin(hub.me.incarnation));
        clerk::employ(node);
        tokio::spawn(Rounds::new(self.node.clone(), hub, self.book.subscribe()).run());
    }

    /// Others do not find this node's actors any more.
    pub(crate) fn leave(&self) {
        self.book.send_modify(Book::leave);
    }

    /// Enters a running actor of this node under a key of at most 256 bytes.
    ///
    /// There is room for 1,024 entries of 63 KiB in all, with keys, kinds, names and ten bytes for each; then it is
    /// [`LookupError::Full`].
    pub fn register<E: Entity>(&self, key: &str, actor: &str) -> Result<(), LookupError> {
        let entry = Entry::new::<E>(key, actor)?;
        let Some(node) = self.node.upgrade() else {
            return Err(LookupError::NoSuchActor { name: entry.actor });
        };
        let actor = entry.actor.clone();
        let mut entered = Ok(false);
        node.0.actors.while_running::<E>(&actor, || {
            self.change(|book| {
                entered = book.enter(entry);
                entered == Ok(true)
            });
        })?;
        entered.map(|_| ())
    }

    /// Takes an actor of this node out. `false`: it was not entered.
    pub fn deregister<E: Entity>(&self, key: &str, actor: &str) -> Result<bool, LookupError> {
        let entry = Entry::new::<E>(key, actor)?;
        Ok(self.change(|book| book.take_out(&entry)))
    }

    /// The actors under a key, on all nodes, as far as this one knows now.
    pub fn find<E: Entity>(&self, key: &str) -> Vec<E::Ref> {
        let Some(node) = self.node.upgrade() else {
            return Vec::new();
        };
        let listed = self.book.borrow().listed::<E>(node.name(), key);
        refs::<E>(&node, &listed)
    }

    /// The actors under a key, on all nodes, at once and after every change.
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
        self.change(|book| book.actor_ended(actor));
    }

    /// What others may know of this node.
    fn page(&self) -> Page {
        self.book.borrow().page()
    }

    /// Another node says what it has.
    fn take(&self, from: &NodeName, page: Page) {
        self.change(|book| book.take(from, page));
    }

    fn change(&self, change: impl FnOnce(&mut Book) -> bool) -> bool {
        self.book.send_if_modified(change)
    }
}

/// The actors under one key, as they come and go.
pub struct Listing<E: Entity> {
    node: WeakNode,
    key: String,
    book: watch::Receiver<Book>,
    last: Option<Vec<(NodeName, EntityId)>>,
    entity: PhantomData<fn() -> E>,
}

impl<E: Entity> Listing<E> {
    /// The actors at once, then after each change under this key; `None` once the node is gone. Changes that came faster than they were
    /// read are seen as one.
    pub async fn next(&mut self) -> Option<Vec<E::Ref>> {
        loop {
            self.book.changed().await.ok()?;
            let node = self.node.upgrade()?;
            let listed = self
                .book
                .borrow_and_update()
                .listed::<E>(node.name(), &self.key);
            if self.last.as_ref() == Some(&listed) {
                continue;
            }
            let found = refs::<E>(&node, &listed);
            self.last = Some(listed);
            return Some(found);
        }
    }
}

/// Made after the book is let go: whoever enters an actor holds the actors' lock first.
fn refs<E: Entity>(node: &Node, listed: &[(NodeName, EntityId)]) -> Vec<E::Ref> {
    let to = |(on, actor): &(NodeName, EntityId)| {
        if on == node.name() {
            return node.lookup::<E>(actor.as_str()).here().ok();
        }
        // Not by `lookup`: the address of a client is not known, but there is a connection.
        let link = node.0.hub.as_ref()?.link(on);
        Some(EntityRef::on(link, actor.clone(), node.0.clock).into())
    };
    listed.iter().filter_map(to).collect()
}
