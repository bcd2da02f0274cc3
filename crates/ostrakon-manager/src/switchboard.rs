//! `Switchboard`: the connections of nodes and clients.
//!
//! Whoever calls is greeted, and from then on heard; what is said to a node goes to all connections that have its name, because an
//! old process may still hold one, and what is said names the run that is meant.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Weak},
    time::Duration,
};

use ostrakon_control::{Conversation, FromManager, FromNode, Mouth, Seat, greet};
use ostrakon_core::{Incarnation, Index, NodeName};
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

/// Lets callers in.
pub(crate) struct Door {
    pub(crate) security: Security,
    pub(crate) cluster: String,
    pub(crate) manager: String,
    pub(crate) connections: usize,
    pub(crate) inputs: mpsc::Sender<Input>,
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

/// Greets a caller and listens until it goes.
async fn attend(door: Weak<Door>, number: u64, stream: TcpStream, from: SocketAddr) {
    let Some(door) = door.upgrade() else {
        return;
    };
    let greeted = greet(stream, &door.security, &door.cluster, &door.manager, GREETING).await;
    let caller = match greeted {
        Ok(caller) => caller,
        Err(error) => {
            metrics::counter!("ostrakon_manager_callers_refused_total").increment(1);
            tracing::warn!(%from, %error, "a caller is refused");
            return;
        }
    };
    let name = caller.name.clone();
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
    let heard = |words: FromNode| Input::Heard {
        line: number,
        words,
    };
    let ended = conversation.run(PATIENCE, &door.inputs, heard).await;
    tracing::info!(%name, %from, reason = %ended, "a caller has gone");
    // The engine may be gone.
    let _ = door.inputs.send(Input::Hung { line: number }).await;
}

/// All lines.
#[derive(Default)]
pub(crate) struct Switchboard {
    lines: BTreeMap<u64, Line>,
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
        let run = self.lines.remove(&line)?.run?;
        let elsewhere = self.lines.values().any(|other| other.run == Some(run));
        (!elsewhere).then_some(run)
    }

    pub(crate) fn spoke(&mut self, line: u64, run: Incarnation) {
        if let Some(line) = self.lines.get_mut(&line) {
            line.run = Some(run);
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
        for line in self.lines.values().filter(|line| line.name == *name) {
            line.mouth.say(words.clone());
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
                && line.mouth.room() > ENTRIES
                && let Some(news) = view.news(told, ENTRIES)
            {
                let (told, words) = match news {
                    News::Entries { behind, entries } => {
                        let told = Index::new(behind.get() + entries.len() as u64);
                        (told, FromManager::Entries { behind, entries })
                    }
                    News::Whole(snapshot) => {
                        let told = view.state().applied();
                        (told, FromManager::State(Box::new(snapshot)))
                    }
                };
                line.mouth.say(words);
                line.told = Some(told);
            }
        }
    }

    pub(crate) fn count(&self, seat: Seat) -> usize {
        self.lines.values().filter(|line| line.seat == seat).count()
    }
}
