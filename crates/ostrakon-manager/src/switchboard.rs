//! `Switchboard`: the connections of nodes and clients.
//!
//! What is said to a node goes to all connections that have its name, because an old process may still hold one, and what is said names
//! the run that is meant. Who listens to callers is the [`Attendant`](crate::attendant::Attendant). Invariant: nothing here waits for a
//! caller, and no caller makes others wait.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use ostrakon_control::{Framed, FromManager, Mouth, Seat};
use ostrakon_core::{Incarnation, Index, NodeName};

use crate::view::{News, View};

/// So many entries of the log go into one frame.
const ENTRIES: usize = 256;
/// Whoever lets so many frames wait hears more of the log when it has taken some.
const NEWS_AHEAD: usize = 32;

/// All lines.
#[derive(Default)]
pub(crate) struct Switchboard {
    lines: BTreeMap<u64, Line>,
    /// The lines of each name.
    names: BTreeMap<NodeName, BTreeSet<u64>>,
    bulletins: Bulletins,
    /// Where those are who may decide; nobody says so where there are managers.
    deciders: Vec<String>,
}

/// What those who follow the log are told, by how much they know, up to the same end of the log.
#[derive(Default)]
struct Bulletins {
    end: Index,
    ready: BTreeMap<Index, Bulletin>,
}

/// A piece of news, and how much one knows with it.
struct Bulletin {
    told: Index,
    frame: Framed<FromManager>,
}

struct Line {
    name: NodeName,
    seat: Seat,
    mouth: Mouth<FromManager>,
    /// The log as far as it has been told; `None` until it asks.
    told: Option<Index>,
    /// The run that speaks here.
    run: Option<Incarnation>,
}

impl Switchboard {
    pub(crate) fn arrived(
        &mut self,
        line: u64,
        name: NodeName,
        seat: Seat,
        mouth: Mouth<FromManager>,
    ) {
        self.names.entry(name.clone()).or_default().insert(line);
        if seat == Seat::Client && !self.deciders.is_empty() {
            mouth.say(FromManager::Deciders(self.deciders.clone()));
        }
        let caller = Line {
            name,
            seat,
            mouth,
            told: None,
            run: None,
        };
        self.lines.insert(line, caller);
    }

    /// Clients are told, now and when they come.
    pub(crate) fn name_deciders(&mut self, deciders: Vec<String>) {
        self.deciders = deciders;
        let clients = self.lines.values().filter(|line| line.seat == Seat::Client);
        for line in clients {
            line.mouth.say(FromManager::Deciders(self.deciders.clone()));
        }
    }

    /// Returns the run that spoke there.
    pub(crate) fn hung(&mut self, line: u64) -> Option<Incarnation> {
        let Line { name, run, .. } = self.lines.remove(&line)?;
        if let Some(lines) = self.names.get_mut(&name) {
            lines.remove(&line);
            if lines.is_empty() {
                self.names.remove(&name);
            }
        }
        let run = run?;
        let elsewhere = self.lines.values().any(|other| other.run == Some(run));
        (!elsewhere).then_some(run)
    }

    /// Whether a caller speaks for this run.
    pub(crate) fn speaks(&self, run: Incarnation) -> bool {
        self.lines.values().any(|line| line.run == Some(run))
    }

    pub(crate) fn spoke(&mut self, line: u64, run: Incarnation) {
        let Some(speaker) = self.lines.get_mut(&line) else {
            return;
        };
        if speaker.run.replace(run) == Some(run) {
            return;
        }
        let name = speaker.name.clone();
        let namesakes = self.names.get(&name).into_iter().flatten();
        let mut runs = namesakes.filter_map(|other| self.lines.get(other)?.run);
        if let Some(other) = runs.find(|other| *other != run) {
            tracing::warn!(
                %name, %run, %other,
                "two processes of this name are connected: if neither is about to go, give each a name of its own"
            );
        }
    }

    /// The name of a node's caller; clients have none that counts.
    pub(crate) fn node(&self, line: u64) -> Option<&NodeName> {
        let line = self.lines.get(&line)?;
        (line.seat == Seat::Node).then_some(&line.name)
    }

    /// Whether a caller is still there.
    pub(crate) fn has(&self, line: u64) -> bool {
        self.lines.contains_key(&line)
    }

    pub(crate) fn say(&self, line: u64, words: FromManager) {
        if let Some(line) = self.lines.get(&line) {
            line.mouth.say(words);
        }
    }

    pub(crate) fn say_to(&self, name: &NodeName, words: &FromManager) {
        for line in self.names.get(name).into_iter().flatten() {
            self.say(*line, words.clone());
        }
    }

    pub(crate) fn ping(&self) {
        for line in self.lines.values() {
            line.mouth.say(FromManager::Ping);
        }
    }

    pub(crate) fn follow(&mut self, line: u64, behind: Index) {
        if let Some(line) = self.lines.get_mut(&line) {
            line.told = Some(behind);
        }
    }

    /// Says no more of the log there.
    pub(crate) fn unfollow(&mut self, line: u64) {
        if let Some(line) = self.lines.get_mut(&line) {
            line.told = None;
        }
    }

    /// Tells everybody who follows the log what is new in it. Who does not keep up is told later.
    pub(crate) fn tell_news(&mut self, view: &View) {
        for line in self.lines.values_mut() {
            while let Some(told) = line.told
                && line.mouth.waiting() < NEWS_AHEAD
                && let Some(bulletin) = self.bulletins.behind(told, view)
            {
                line.mouth.say_framed(&bulletin.frame);
                line.told = Some(bulletin.told);
            }
        }
    }

    pub(crate) fn count(&self, seat: Seat) -> usize {
        self.lines.values().filter(|line| line.seat == seat).count()
    }
}

impl Bulletins {
    /// What somebody has to be told who knows the log as far as this. Most know the same, so it is made once.
    fn behind(&mut self, told: Index, view: &View) -> Option<&Bulletin> {
        let end = view.state().applied();
        if told >= end {
            return None;
        }
        if self.end != end {
            self.end = end;
            self.ready.clear();
        }
        if let Entry::Vacant(place) = self.ready.entry(told) {
            let (told, words) = match view.news(told, ENTRIES)? {
                News::Entries { behind, entries } => {
                    let told = Index::new(behind.get() + entries.len() as u64);
                    (told, FromManager::Entries { behind, entries })
                }
                News::Whole(snapshot) => (end, FromManager::State(Box::new(snapshot))),
            };
            match Framed::new(&words) {
                Ok(frame) => drop(place.insert(Bulletin { told, frame })),
                Err(error) => {
                    tracing::error!(%error, "nobody can be told what is new in the log");
                    return None;
                }
            }
        }
        self.ready.get(&told)
    }
}

#[cfg(test)]
mod tests;
