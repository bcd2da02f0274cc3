//! `View`: the cluster as this manager knows it, for everybody to look at.
//!
//! It is made from the log only, beside the coordinator and not by it: whoever looks holds nobody up. It keeps the latest entries for
//! nodes that follow the log, and the latest events for people.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ostrakon_core::{
    ControlState, Entry, Incarnation, Index, NodeName, Snapshot, Term, UnknownFormat,
};

use crate::event::{ClusterEvent, Happening, Names, now_ms};

/// So many entries are kept for those who follow the log; who is further behind gets the whole state.
const ENTRIES: usize = 4096;
/// So many events are kept for those who look later.
const EVENTS: usize = 10_000;

/// The cluster as a manager knows it.
#[derive(Default)]
pub struct View {
    state: ControlState,
    entries: VecDeque<Entry>,
    events: VecDeque<ClusterEvent>,
    next_event: u64,
    leads: Option<Term>,
    has_read: bool,
    silent: BTreeSet<Incarnation>,
    /// Of those that are silent, as far as it has been said.
    silences: BTreeMap<Incarnation, Silence>,
    ahead: BTreeMap<NodeName, Ahead>,
}

/// That a node knows more of the log than there is of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The last entry that it knows.
    pub knows: Index,
    /// Where the log ended when it said so.
    pub ends: Index,
    /// Since when the manager knows of it, in milliseconds since 1970.
    pub since_ms: u64,
    /// What to do about it.
    pub remedy: String,
}

/// That a node is silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Since when the manager knows of it, in milliseconds since 1970.
    pub since_ms: u64,
    /// What to do about it.
    pub remedy: String,
}

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The manager that leads, as far as the log says.
    pub manager: NodeName,
    /// In which term.
    pub term: Term,
    /// Whether it is this manager.
    pub is_me: bool,
}

/// What somebody who follows the log has to be told.
pub(crate) enum News {
    Entries { behind: Index, entries: Vec<Entry> },
    Whole(Snapshot),
}

impl View {
    /// What the log has made.
    pub fn state(&self) -> &ControlState {
        &self.state
    }

    /// Whether the manager has read the log to its end once, so that this is the cluster.
    pub fn has_read(&self) -> bool {
        self.has_read
    }

    /// Who leads; `None` before the first manager did.
    pub fn leader(&self) -> Option<Leader> {
        Some(Leader {
            manager: self.state.grantor()?.clone(),
            term: self.state.term(),
            is_me: self.leads == Some(self.state.term()),
        })
    }

    /// The events since a number, at most so many.
    pub fn events(&self, since: u64, most: usize) -> Vec<ClusterEvent> {
        let earlier = since.saturating_sub(self.oldest_event());
        let earlier =
            usize::try_from(earlier).map_or(self.events.len(), |n| n.min(self.events.len()));
        self.events.range(earlier..).take(most).cloned().collect()
    }

    /// All events that are remembered, the oldest first.
    pub fn remembered(&self) -> impl Iterator<Item = &ClusterEvent> {
        self.events.iter()
    }

    /// The number of the oldest event that is remembered.
    pub fn oldest_event(&self) -> u64 {
        self.events
            .front()
            .map_or(self.next_event, |event| event.number)
    }

    /// The number that the next event will have.
    pub fn next_event(&self) -> u64 {
        self.next_event
    }

    /// Nodes that are silent while nobody can prove that they are dead; only the manager that leads knows.
    pub fn silent(&self) -> &BTreeSet<Incarnation> {
        &self.silent
    }

    /// The same nodes, with what has been said about them.
    pub fn silences(&self) -> impl Iterator<Item = (Incarnation, &Silence)> {
        self.silences.iter().map(|(run, silence)| (*run, silence))
    }

    /// Nodes that know more of the log than there is of it: nothing is granted while there are any.
    pub fn ahead(&self) -> impl Iterator<Item = (&NodeName, &Ahead)> {
        self.ahead.iter()
    }

    pub(crate) fn not_ahead(&mut self, node: &NodeName) {
        self.ahead.remove(node);
        self.gauge();
    }

    /// Returns whether it is the first time.
    pub(crate) fn set_read(&mut self) -> bool {
        !std::mem::replace(&mut self.has_read, true)
    }

    pub(crate) fn set_leads(&mut self, leads: Option<Term>) {
        if leads.is_none() {
            self.silent.clear();
            self.silences.clear();
            self.gauge();
        }
        self.leads = leads;
    }

    pub(crate) fn apply(&mut self, index: Index, entry: &Entry) {
        if index <= self.state.applied() {
            return;
        }
        let names: Vec<_> = match entry.command {
            ostrakon_core::Command::Expire { incarnation }
            | ostrakon_core::Command::ConfirmDead { incarnation, .. } => self
                .state
                .member(incarnation)
                .map(|member| (incarnation, member.registration.name.clone()))
                .into_iter()
                .collect(),
            ostrakon_core::Command::Takeover { .. }
            | ostrakon_core::Command::Register(_)
            | ostrakon_core::Command::Leave { .. }
            | ostrakon_core::Command::BeginMove(_)
            | ostrakon_core::Command::Released(_)
            | ostrakon_core::Command::Grant(_)
            | ostrakon_core::Command::SetPolicy(_)
            | ostrakon_core::Command::CreateGroup(_) => Vec::new(),
        };
        let applied = self.state.apply(index, entry);
        self.entries.push_back(entry.clone());
        if self.entries.len() > ENTRIES {
            self.entries.pop_front();
        }
        for change in applied.changes {
            if let ostrakon_core::Change::Ended { incarnation, .. } = &change {
                self.heard(*incarnation);
            }
            let what = Happening::of(change, &Names(&names), &self.state);
            self.happened(Some(index), what);
        }
    }

    /// Begins anew from a snapshot, if it is ahead.
    pub(crate) fn restore(&mut self, snapshot: Snapshot) -> Result<(), UnknownFormat> {
        let state = ControlState::restore(snapshot)?;
        if state.applied() > self.state.applied() {
            self.state = state;
            self.entries.clear();
        }
        Ok(())
    }

    pub(crate) fn happened(&mut self, index: Option<Index>, what: Happening) {
        if let Happening::Silent {
            incarnation,
            remedy,
            ..
        } = &what
        {
            let silence = Silence {
                since_ms: now_ms(),
                remedy: remedy.clone(),
            };
            self.silences.insert(*incarnation, silence);
        }
        if let Happening::Ahead {
            node,
            knows,
            ends,
            remedy,
        } = &what
        {
            let ahead = Ahead {
                knows: *knows,
                ends: *ends,
                since_ms: now_ms(),
                remedy: remedy.clone(),
            };
            self.ahead.insert(node.clone(), ahead);
            self.gauge();
        }
        let event = ClusterEvent {
            number: self.next_event,
            index,
            at_ms: now_ms(),
            what,
        };
        self.next_event += 1;
        self.events.push_back(event);
        if self.events.len() > EVENTS {
            self.events.pop_front();
        }
    }

    /// Notes that a node is silent and cannot be proven dead. Returns whether that is news.
    pub(crate) fn fell_silent(&mut self, incarnation: Incarnation) -> bool {
        let news = self.state.member(incarnation).is_some() && self.silent.insert(incarnation);
        self.gauge();
        news
    }

    /// Notes that a node has been heard. Returns whether that is news.
    pub(crate) fn heard(&mut self, incarnation: Incarnation) -> bool {
        self.silences.remove(&incarnation);
        let news = self.silent.remove(&incarnation);
        self.gauge();
        news
    }

    fn gauge(&self) {
        metrics::gauge!("ostrakon_manager_silent_nodes").set(self.silent.len() as f64);
        metrics::gauge!("ostrakon_manager_nodes_ahead").set(self.ahead.len() as f64);
    }

    /// What lies behind an index, at most so many entries of it.
    pub(crate) fn news(&self, behind: Index, most: usize) -> Option<News> {
        let last = self.state.applied();
        let missing = last.get().checked_sub(behind.get()).filter(|n| *n > 0)?;
        let missing = usize::try_from(missing).unwrap_or(usize::MAX);
        match self.entries.len().checked_sub(missing) {
            Some(known) => Some(News::Entries {
                behind,
                entries: self.entries.range(known..).take(most).cloned().collect(),
            }),
            None => Some(News::Whole(self.state.snapshot())),
        }
    }
}
