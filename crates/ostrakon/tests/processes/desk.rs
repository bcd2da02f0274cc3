//! What the nodes host: a desk that keeps what is put on it, and can be made to wait.

use std::sync::LazyLock;

use futures_util::Stream;
use ostrakon::entity;
use tokio::sync::watch;

#[derive(Default)]
pub(crate) struct Desk {
    entries: Vec<u64>,
}

#[entity(kind = "desk")]
impl Desk {
    /// Says how many there are now.
    pub(crate) async fn add(&mut self, entry: u64) -> u64 {
        self.entries.push(entry);
        self.entries.len() as u64
    }

    pub(crate) async fn entries(&self) -> Vec<u64> {
        self.entries.clone()
    }

    /// Answers when the gate of its process is opened.
    pub(crate) async fn wait(&mut self) -> u64 {
        GATE.pass().await;
        7
    }

    pub(crate) fn numbers(&self, to: u64) -> impl Stream<Item = u64> + use<> {
        futures_util::stream::iter(0..to)
    }
}

/// Where the desks of this process wait.
pub(crate) static GATE: LazyLock<Gate> = LazyLock::new(Gate::default);

#[derive(Default)]
pub(crate) struct Gate {
    waiting: watch::Sender<u64>,
    open: watch::Sender<bool>,
}

impl Gate {
    async fn pass(&self) {
        self.waiting.send_modify(|waiting| *waiting += 1);
        until(&self.open, |open| *open).await;
    }

    pub(crate) async fn reached_by(&self, count: u64) {
        until(&self.waiting, |waiting| *waiting >= count).await;
    }

    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }
}

async fn until<T>(watched: &watch::Sender<T>, done: impl FnMut(&T) -> bool) {
    let mut changes = watched.subscribe();
    changes.wait_for(done).await.expect("never dropped");
}
