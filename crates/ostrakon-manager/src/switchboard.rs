//! `Switchboard`: the connections of nodes and clients.
//!
//! Whoever calls is greeted, and from then on heard; what is said to a node goes to all connections that have its name, because an
//! old process may still hold one, and what is said names the run that is meant. Whoever says what only somebody else may say is hung
//! up on. Invariant: nothing here waits for a caller, and no caller makes others wait.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    net::SocketAddr,
    sync::{Arc, PoisonError, RwLock, Weak},
    time::Duration,
};

use ostrakon_control::{
    Conversation, Ended, FrameError, Framed, FromManager, FromNode, Mouth, Seat, greet,
};
use ostrakon_core::{Incarnation, Index, NodeName, ToCoordinator};
use ostrakon_tls::Security;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
};

use crate::{
    engine::Input,
    view::{News, View},
};

/// How long a caller may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);
/// How long a caller may be silent; it is asked much more often whether it is there.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long to wait when the system cannot give us another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// So many entries of the log go into one frame.
const ENTRIES: usize = 256;
/// Whoever lets so many frames wait hears more of the log when it has taken some.
const NEWS_AHEAD: usize = 32;

/// Lets callers in.
pub(crate) struct Door {
    pub(crate) security: Security,
    pub(crate) cluster: String,
    pub(crate) manager: String,
    pub(crate) connections: usize,
    pub(crate) inputs: mpsc::Sender<Input>,
    /// Who is registered.
    pub(crate) view: Arc<RwLock<View>>,
}

impl Door {
    /// Accepts until nobody wants to hear of callers any more.
    pub(crate) async fn open(self: Arc<Self>, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(self.connections));
        let mut number = 0;
        while !self.inputs.is_closed() {
            let (stream, from) = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(EXHAUSTED).await;
                        continue;
                    }
                },
                () = self.inputs.closed() => return,
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                tracing::warn!(%from, most = self.connections, "too many connections; one is refused");
                continue;
            };
            number += 1;
            let door = Arc::downgrade(&self);
            tokio::spawn(async move {
                attend(door, number, stream, from).await;
                drop(place);
            });
        }
    }
}

impl Door {
    /// Whether a caller may say this; else why not.
    fn may_say(&self, name: &NodeName, seat: Seat, words: &FromNode) -> Result<(), String> {
        let FromNode::Say(message) = words else {
            return Ok(());
        };
        if seat == Seat::Client {
            return Err("a client speaks as a node does".to_owned());
        }
        let run = match message {
            ToCoordinator::Register { registration, .. } if registration.name != *name => {
                let claimed = &registration.name;
                return Err(format!("it registers under another's name, `{claimed}`"));
            }
            ToCoordinator::Renew { incarnation, .. }
            | ToCoordinator::Released { incarnation, .. }
            | ToCoordinator::Leave { incarnation }
            | ToCoordinator::Gone { incarnation } => *incarnation,
            ToCoordinator::Register { .. }
            | ToCoordinator::Unreachable { .. }
            | ToCoordinator::Wanted { .. } => return Ok(()),
        };
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        match view.state().member(run) {
            Some(member) if member.registration.name != *name => {
                let owner = &member.registration.name;
                Err(format!("it speaks for run {run}, which is of `{owner}`"))
            }
            // One that is not known here, perhaps not yet, has nothing to lose.
            Some(_) | None => Ok(()),
        }
    }
}

/// Greets a caller and listens until it goes.
async fn attend(door: Weak<Door>, number: u64, stream: TcpStream, from: SocketAddr) {
    let Some(door) = door.upgrade() else {
        return;
    };
    let greeted = greet(
        stream,
        &door.security,
        &door.cluster,
        &door.manager,
        GREETING,
    )
    .await;
    let caller = match greeted {
        Ok(caller) => caller,
        Err(error) => {
            metrics::counter!("ostrakon_manager_callers_refused_total").increment(1);
            tracing::warn!(%from, %error, "a caller is refused");
            return;
        }
    };
    let (name, seat) = (caller.name.clone(), caller.seat);
    let (conversation, mouth) = Conversation::<FromManager>::new(caller.wire);
    let arrived = Input::Arrived {
        line: number,
        name: caller.name,
        seat: caller.seat,
        mouth,
    };
    if door.inputs.send(arrived).await.is_err() {
        return;
    }
    tracing::info!(%name, %from, "a caller has connected");
    let heard = |words: FromNode| {
        door.may_say(&name, seat, &words)?;
        Ok(Input::Heard {
            line: number,
            words,
        })
    };
    let ended = conversation.run(PATIENCE, &door.inputs, heard).await;
    if matches!(&ended, Ended::Closed | Ended::Frame(FrameError::Broken(_))) {
        tracing::info!(%name, %from, reason = %ended, "a caller has gone");
    } else {
        metrics::counter!("ostrakon_manager_callers_hung_up_total").increment(1);
        tracing::warn!(%name, %from, reason = %ended, "a caller is hung up on");
    }
    // The engine may be gone.
    let _ = door.inputs.send(Input::Hung { line: number }).await;
}

/// All lines.
#[derive(Default)]
pub(crate) struct Switchboard {
    lines: BTreeMap<u64, Line>,
    /// The lines of each name.
    names: BTreeMap<NodeName, BTreeSet<u64>>,
    bulletins: Bulletins,
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
        let caller = Line {
            name,
            seat,
            mouth,
            told: None,
            run: None,
        };
        self.lines.insert(line, caller);
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
        match line.seat {
            Seat::Node => Some(&line.name),
            Seat::Client => None,
        }
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
