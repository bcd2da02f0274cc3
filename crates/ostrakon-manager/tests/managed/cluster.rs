//! A cluster under test: a manager, nodes, and an entity that counts.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use ostrakon::{Managed, Node, NodeBuilder, entity};
use ostrakon_manager::{Manager, ManagerSettings, View};
use tokio::sync::Notify;

/// Counts, and remembers on which node it does.
#[derive(Default)]
pub(crate) struct Counter {
    count: u64,
}

#[entity(kind = "counter")]
impl Counter {
    pub(crate) async fn add(&mut self, amount: u64) -> u64 {
        self.count += amount;
        self.count
    }

    pub(crate) async fn place(&self, ctx: &ostrakon::Context<Self>) -> String {
        ctx.node().name().to_string()
    }
}

pub(crate) async fn manager() -> Manager {
    Manager::start(ManagerSettings::default()).await.unwrap()
}

pub(crate) fn builder(name: &str, manager: &Manager) -> NodeBuilder {
    Node::builder(name)
        .managed(Managed::from(manager.address().unwrap()))
        .host::<Counter>()
}

pub(crate) async fn node(name: &str, manager: &Manager) -> Node {
    builder(name, manager).start().await.unwrap()
}

/// Waits until the view of a manager is as wanted.
pub(crate) async fn until(manager: &Manager, what: &str, wanted: impl Fn(&View) -> bool) {
    let mut events = manager.desk().follow();
    let began = Instant::now();
    while !wanted(&manager.desk().view()) {
        let patience = Duration::from_secs(20).saturating_sub(began.elapsed());
        let news = tokio::time::timeout(patience, events.changed()).await;
        let spread = spread(&manager.desk().view());
        assert!(
            news.is_ok_and(|news| news.is_ok()),
            "{what} did not happen in time: {spread:?}"
        );
    }
}

/// How many shards each node owns.
pub(crate) fn spread(view: &View) -> Vec<(String, usize)> {
    let mut spread = Vec::new();
    for (incarnation, member) in view.state().members() {
        let shards = view.state().groups().flat_map(|group| group.iter());
        let own = shards
            .filter(|(_, ownership)| ownership.owner().is_some_and(|(by, _)| by == incarnation));
        spread.push((member.registration.name.to_string(), own.count()));
    }
    spread.sort();
    spread
}

/// Whether the shards are spread so.
pub(crate) fn is_spread(view: &View, wanted: &[(&str, usize)]) -> bool {
    let wanted = wanted
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count));
    spread(view) == wanted.collect::<Vec<_>>()
}

/// What all managers and nodes of this process log: tests look for names that no other test uses.
#[derive(Default)]
pub(crate) struct Log {
    text: Mutex<Vec<u8>>,
    more: Notify,
}

impl Log {
    /// Listens from the first time on.
    pub(crate) fn listen() -> &'static Arc<Self> {
        static LOG: OnceLock<Arc<Log>> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Arc::new(Self::default());
            let writer = Arc::clone(&log);
            tracing_subscriber::fmt()
                .with_max_level(tracing::Level::INFO)
                .with_ansi(false)
                .with_writer(move || Pen(Arc::clone(&writer)))
                .init();
            log
        })
    }

    /// Waits until there is a line with all these words.
    pub(crate) async fn says(&self, words: &[&str]) {
        let said = async {
            loop {
                let more = self.more.notified();
                if self.has(words) {
                    return;
                }
                more.await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(20), said)
            .await
            .is_err()
        {
            panic!("nothing with {words:?} in the log");
        }
    }

    fn has(&self, words: &[&str]) -> bool {
        let text = self.text.lock().unwrap();
        let text = String::from_utf8_lossy(&text);
        text.lines()
            .any(|line| words.iter().all(|word| line.contains(word)))
    }
}

struct Pen(Arc<Log>);

impl io::Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.text.lock().unwrap().extend_from_slice(bytes);
        self.0.more.notify_waiters();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
