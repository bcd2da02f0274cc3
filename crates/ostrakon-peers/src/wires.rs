//! `Wires`: the connections to other peers.
//!
//! One is opened when there is something to say, and then used in both directions, whoever dialed; when two peers dial each other at
//! once, both connections live, and each uses the one that it got last. One on which nothing is heard for a while is closed: between
//! peers that have something to say to each other that means trouble, and the others cost nothing then. Who cannot be reached is dialed again
//! when there is something to say, after a pause that grows. Invariant: nothing here waits for a peer, and the number of wires is
//! bounded whatever the number of peers.

mod calls;
mod dialing;
mod hearing;
mod lines;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ostrakon_control::{Conversation, Framed, Mouth, Peer, PeerHello, PeerWords, Words};
use ostrakon_core::Address;
use ostrakon_tls::Security;
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore, broadcast, mpsc},
};

use self::{
    calls::Calls,
    hearing::Heard,
    lines::{Connection, Lines, Ready},
};
use crate::{CallError, hooks::Hooks, topology_task::News};

/// A wire on which nothing is heard for so long is closed.
const PATIENCE: Duration = Duration::from_secs(15);
/// So many words may wait to be taken in.
const WAITING: usize = 1024;
/// So many ends of connections are remembered for whoever wants to hear of them.
const CLOSED: usize = 64;
/// So many calls of others are answered at once.
const ANSWERING: usize = 1024;

/// The connections to other peers. Cheap to clone.
#[derive(Clone)]
pub struct Wires(Arc<Inner>);

struct Inner {
    own: PeerHello,
    security: Security,
    lines: Mutex<Lines>,
    calls: Calls,
    hooks: Arc<Hooks>,
    heard: mpsc::Sender<Heard>,
    topology: mpsc::Sender<News>,
    runtime: Handle,
    answering: Arc<Semaphore>,
    frames: AtomicU64,
    bytes: AtomicU64,
    closed: broadcast::Sender<Address>,
}

/// What a peer has said to others so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How many frames.
    pub frames: u64,
    /// How many bytes, before encryption.
    pub bytes: u64,
}

impl Wires {
    /// To be called within the runtime in which they live.
    pub(crate) fn new(
        own: PeerHello,
        security: Security,
        hooks: Arc<Hooks>,
        topology: mpsc::Sender<News>,
    ) -> Self {
        let (heard, hearing) = mpsc::channel(WAITING);
        let wires = Self(Arc::new(Inner {
            own,
            security,
            lines: Mutex::default(),
            calls: Calls::default(),
            hooks,
            heard,
            topology,
            runtime: Handle::current(),
            answering: Arc::new(Semaphore::new(ANSWERING)),
            frames: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            closed: broadcast::Sender::new(CLOSED),
        }));
        tokio::spawn(wires.clone().listen(hearing));
        wires
    }

    /// Asks the peer at this address. Whatever it answers comes within this time, or not at all.
    pub async fn call(
        &self,
        to: &Address,
        request: Vec<u8>,
        within: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let (wires, to) = (self.clone(), to.clone());
        let asking = async move {
            let asked = wires.0.calls.ask(&to)?;
            let call = asked.number();
            if let Some(connection) = wires.say(&to, &PeerWords::Call { call, request })? {
                asked.went_by(connection);
            }
            let answer = tokio::time::timeout(within, asked.answer()).await;
            answer.unwrap_or(Err(CallError::Late(within)))
        };
        let asked = self.0.runtime.spawn(asking).await;
        asked.unwrap_or(Err(CallError::Stopped))
    }

    /// Hears of every connection that ends: to which peer it was.
    pub fn closed(&self) -> broadcast::Receiver<Address> {
        self.0.closed.subscribe()
    }

    /// What has been said so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            frames: self.0.frames.load(Ordering::Relaxed),
            bytes: self.0.bytes.load(Ordering::Relaxed),
        }
    }

    /// How many connections to other peers there are.
    pub fn count(&self) -> usize {
        self.lines().connections()
    }

    pub(crate) fn own(&self) -> &PeerHello {
        &self.0.own
    }

    pub(crate) fn security(&self) -> &Security {
        &self.0.security
    }

    /// What came of the last try to reach somebody.
    pub(crate) fn outcome(&self, address: &Address) -> String {
        self.lines().outcome(address)
    }

    /// Says something, as soon as there is a connection: by this one, if there is one already. It need not arrive.
    pub(crate) fn say(&self, to: &Address, words: &PeerWords) -> Result<Option<u64>, CallError> {
        let (frame, most) = (Framed::new(words), PeerWords::MOST);
        let size = frame.as_ref().map_or(usize::MAX, Framed::size);
        let frame = frame.ok().filter(|_| size <= most);
        let frame = frame.ok_or(CallError::TooLarge { size, most })?;
        match self.lines().ready(to) {
            Ready::Open(number, mouth) => {
                self.put(mouth, &frame);
                return Ok(Some(number));
            }
            Ready::Dialing(waiting) => waiting.push(frame)?,
            Ready::Resting(trouble) => return Err(CallError::Unreachable(trouble)),
            Ready::Free(waiting) => {
                waiting.push(frame)?;
                let (wires, to) = (self.clone(), to.clone());
                self.0.runtime.spawn(async move { wires.dial(to).await });
            }
        }
        Ok(None)
    }

    fn put(&self, mouth: &Mouth<PeerWords>, frame: &Framed<PeerWords>) {
        mouth.say_framed(frame);
        self.0.frames.fetch_add(1, Ordering::Relaxed);
        self.0
            .bytes
            .fetch_add(frame.size() as u64, Ordering::Relaxed);
    }

    /// Keeps a connection until it ends. It was dialed under this address, or came in.
    pub(crate) async fn attend(&self, dialed: Option<Address>, peer: Peer) {
        if peer.session == self.0.own.session {
            // The one that has dialed, which is this peer, knows.
            return;
        }
        let (name, address) = (peer.name, peer.address);
        let (conversation, mouth) = Conversation::<PeerWords>::new(peer.wire);
        let hang_up = Arc::new(Notify::new());
        let mut addresses = vec![address.clone()];
        addresses.extend(dialed.filter(|dialed| *dialed != address));
        for also in &addresses[1..] {
            self.tell(News::Alias {
                dialed: also.clone(),
                advertised: address.clone(),
            });
        }
        let connection = Connection {
            mouth: mouth.clone(),
            hang_up: Arc::clone(&hang_up),
        };
        let number = self.opened(&addresses, &connection);
        tracing::debug!(peer = %name, %address, "a wire is open");
        let heard = |words: PeerWords| self.hear(&name, &address, &mouth, words);
        let ended = tokio::select! {
            ended = conversation.run(PATIENCE, &self.0.heard, heard) => ended.to_string(),
            () = hang_up.notified() => "there are too many".to_owned(),
        };
        tracing::debug!(peer = %name, %address, reason = ended, "a wire is closed");
        for address in &addresses {
            self.lines().closed(address, number);
        }
        self.0.calls.broken(number);
        // Nobody may want to know.
        let _ = self.0.closed.send(address);
    }

    fn opened(&self, addresses: &[Address], connection: &Connection) -> u64 {
        let mut lines = self.lines();
        let number = lines.next_number();
        for address in addresses {
            for frame in lines.opened(address, number, connection.clone()) {
                self.put(&connection.mouth, &frame);
            }
            self.0.calls.went_by(address, number);
        }
        number
    }

    /// Gossip need not arrive, and what could not be done is tried again.
    fn tell(&self, news: News) {
        if self.0.topology.try_send(news).is_err() {
            tracing::debug!("more gossip comes in than can be taken in");
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
