//! What the tests have in common.

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use ostrakon_core::{NodeName, TopologyMember, TopologySnapshot, TopologyStatus};
use ostrakon_peers::{Peer, PeerSettings, Seeds};

pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn settings(name: &str) -> PeerSettings {
    PeerSettings::new("bank", name, "127.0.0.1:0")
}

pub(crate) async fn start(name: &str, seeds: impl Into<Seeds>) -> Peer {
    Peer::start(settings(name).seeds(seeds)).await.unwrap()
}

/// The first forms a cluster and the others join it.
pub(crate) async fn cluster(names: &[&str]) -> Vec<Peer> {
    let mut peers = vec![start(names[0], Seeds::none()).await];
    for name in &names[1..] {
        peers.push(start(name, [peers[0].address().to_string()]).await);
    }
    for peer in &peers {
        until(peer, |snapshot| up(snapshot) == names.len()).await;
    }
    peers
}

/// Waits until this holds, and says how long that took.
pub(crate) async fn until(peer: &Peer, what: impl Fn(&TopologySnapshot) -> bool) -> Duration {
    let began = Instant::now();
    let mut topology = peer.topology();
    let seen = topology.wait_for(|snapshot| what(snapshot));
    match tokio::time::timeout(SOON, seen).await {
        Ok(seen) => drop(seen.unwrap()),
        Err(_) => panic!("still {:#?}", peer.topology().borrow()),
    }
    began.elapsed()
}

pub(crate) fn member<'a>(snapshot: &'a TopologySnapshot, name: &str) -> Option<&'a TopologyMember> {
    snapshot.get(&NodeName::new(name).unwrap())
}

pub(crate) fn status(snapshot: &TopologySnapshot, name: &str) -> Option<TopologyStatus> {
    member(snapshot, name).map(|member| member.status)
}

pub(crate) fn up(snapshot: &TopologySnapshot) -> usize {
    let members = snapshot.members.iter();
    members
        .filter(|member| member.status == TopologyStatus::Up && member.accusers.is_empty())
        .count()
}

/// An address at which nothing listens. It is none of those that the system gives to whoever asks for any: somebody else would have it before long.
pub(crate) fn free_address() -> String {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id() * 131 + TAKEN.fetch_add(1, Ordering::Relaxed);
        let address = format!("127.0.0.1:{}", 10_000 + number % 20_000);
        if std::net::TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// What all peers of this process have written into the log from now on.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn keep() -> Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        let log = LOG.get_or_init(|| {
            let log = Self::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_ansi(false)
                .with_writer(move || writer.clone())
                .finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
            log
        });
        log.clone()
    }

    /// Waits for a line that contains all of this.
    pub(crate) async fn line_with(&self, words: &[&str]) -> String {
        let began = Instant::now();
        while began.elapsed() < SOON {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            let mut lines = text.lines();
            if let Some(line) = lines.find(|line| words.iter().all(|word| line.contains(word))) {
                return line.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no line of the log has {words:?}");
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
