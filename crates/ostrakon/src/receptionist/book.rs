//! `Book`: which actors are entered under which keys, here and on the other nodes that are there.
//!
//! It neither sends nor waits. Invariants: what is entered here fits on a [`Page`]; of a node that is not there nothing is kept; and
//! an earlier page of a node never replaces a later one.

#[cfg(test)]
mod tests;

use std::{
    any::TypeId,
    collections::{BTreeMap, BTreeSet},
};

use ostrakon_core::{EntityId, Incarnation, InvalidId, NodeName};

use super::page::{self, Edition, Line, Page};
use crate::{Entity, LookupError};

#[derive(Default)]
pub(super) struct Book {
    own: BTreeSet<Entry>,
    incarnation: Incarnation,
    /// Grows with every change of what others may know.
    version: u64,
    /// Others are not to find anything here any more.
    leaving: bool,
    /// The nodes that are there, each with the latest that it has said.
    others: BTreeMap<NodeName, Option<Page>>,
}

/// An actor of this node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    key: String,
    kind: &'static str,
    pub(super) actor: EntityId,
    entity: TypeId,
}

impl Entry {
    pub(super) fn new<E: Entity>(key: &str, actor: &str) -> Result<Self, LookupError> {
        if key.len() > page::KEY {
            let (what, len, max) = ("receptionist's key", key.len(), page::KEY);
            return Err(InvalidId::TooLong { what, len, max }.into());
        }
        Ok(Self {
            key: key.to_owned(),
            kind: E::KIND,
            actor: EntityId::new(actor)?,
            entity: TypeId::of::<E>(),
        })
    }

    fn weight(&self) -> usize {
        page::weight(&self.key, self.kind, &self.actor)
    }
}

impl Book {
    /// This run of the node: its pages are later than those of an earlier one.
    pub(super) fn begin(&mut self, incarnation: Incarnation) {
        self.incarnation = incarnation;
    }

    /// `false`: it is there already.
    pub(super) fn enter(&mut self, entry: Entry) -> Result<bool, LookupError> {
        if self.own.contains(&entry) {
            return Ok(false);
        }
        let bytes = self.own.iter().map(Entry::weight).sum::<usize>() + entry.weight();
        if self.own.len() >= page::ENTRIES || bytes > page::BYTES {
            return Err(LookupError::Full { name: entry.actor });
        }
        self.own.insert(entry);
        self.version += 1;
        Ok(true)
    }

    /// `false`: it was not there.
    pub(super) fn take_out(&mut self, entry: &Entry) -> bool {
        let found = self.own.remove(entry);
        self.version += u64::from(found);
        found
    }

    /// `false`: it was under no key.
    pub(super) fn actor_ended(&mut self, actor: &EntityId) -> bool {
        let before = self.own.len();
        self.own.retain(|entry| entry.actor != *actor);
        let found = self.own.len() != before;
        self.version += u64::from(found);
        found
    }

    pub(super) fn leave(&mut self) {
        self.leaving = true;
        self.version += 1;
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// What others may know.
    pub(super) fn page(&self) -> Page {
        let line = |entry: &Entry| {
            Line(
                entry.key.clone(),
                entry.kind.to_owned(),
                entry.actor.clone(),
            )
        };
        let entries = self.own.iter().filter(|_| !self.leaving);
        Page {
            edition: Edition {
                incarnation: self.incarnation,
                version: self.version,
            },
            lines: entries.map(line).collect(),
        }
    }

    /// These nodes are there, and no others. `true`: something has left the book.
    pub(super) fn meet(&mut self, nodes: &BTreeSet<NodeName>) -> bool {
        let mut lost = false;
        self.others.retain(|node, page| {
            let stays = nodes.contains(node);
            lost |= !stays && page.as_ref().is_some_and(|page| !page.lines.is_empty());
            stays
        });
        for node in nodes {
            self.others.entry(node.clone()).or_default();
        }
        lost
    }

    /// A node says what it has. `true`: that is news.
    pub(super) fn take(&mut self, from: &NodeName, page: Page) -> bool {
        // Whoever is not there yet is asked when it is.
        let Some(known) = self.others.get_mut(from) else {
            return false;
        };
        if !page.fits() {
            tracing::warn!(node = %from, "what it has entered with its receptionist is beyond the limits and ignored");
            return false;
        }
        if known
            .as_ref()
            .is_some_and(|known| known.edition >= page.edition)
        {
            return false;
        }
        let lines = known.as_ref().map_or(&[][..], |known| &known.lines);
        let news = lines != page.lines;
        *known = Some(page);
        news
    }

    /// The actors of a type under a key, in order of their nodes and names; `me` is this node.
    pub(super) fn listed<E: Entity>(&self, me: &NodeName, key: &str) -> Vec<(NodeName, EntityId)> {
        let entity = TypeId::of::<E>();
        let own = self
            .own
            .iter()
            .filter(|entry| entry.key == key && entry.entity == entity)
            .map(|entry| (me.clone(), entry.actor.clone()));
        let far = self.others.iter().flat_map(|(node, page)| {
            let actors = page.iter().flat_map(|page| page.under(key, E::KIND));
            actors.map(|actor| (node.clone(), actor.clone()))
        });
        let mut listed: Vec<_> = own.chain(far).collect();
        listed.sort_unstable();
        listed
    }
}
