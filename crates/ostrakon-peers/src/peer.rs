//! `Peer`: a running peer.

mod run;

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use ostrakon_control::Caller;
use ostrakon_core::{Address, ClusterId, NodeName, Profile, TopologySnapshot};
use tokio::{
    runtime::Handle,
    sync::{broadcast, mpsc, oneshot, watch},
};

use crate::{
    CallError, PeerSettings, StartError, Suspicions, Wires,
    event::{Entered, PeerEvent},
    hooks::Hooks,
    topology_task::News,
};

/// A running peer, which belongs to a cluster. It stops when this is dropped, without a word to the others; see [`leave`](Self::leave).
pub struct Peer {
    address: SocketAddr,
    cluster: ClusterId,
    entered: Entered,
    wires: Wires,
    hooks: Arc<Hooks>,
    news: mpsc::Sender<News>,
    snapshots: watch::Receiver<TopologySnapshot>,
    events: broadcast::Sender<PeerEvent>,
    runtime: Handle,
    /// The peer runs until this is dropped.
    stop: oneshot::Sender<()>,
    /// Hears when nothing runs any more.
    stopped: oneshot::Receiver<()>,
}

impl Peer {
    /// Starts a peer on a thread of its own; it belongs to a cluster when this returns.
    pub async fn start(settings: PeerSettings) -> Result<Self, StartError> {
        run::on_its_own_thread(settings).await
    }

    /// Where others reach it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The name that others know it by.
    pub fn name(&self) -> &NodeName {
        &self.wires.own().name
    }

    /// The cluster that it came into.
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// How it came into it.
    pub fn entered(&self) -> &Entered {
        &self.entered
    }

    /// The members, now and whenever they change.
    pub fn topology(&self) -> watch::Receiver<TopologySnapshot> {
        self.snapshots.clone()
    }

    /// What happens to it from now on.
    pub fn events(&self) -> broadcast::Receiver<PeerEvent> {
        self.events.subscribe()
    }

    /// The connections to others, for whoever has something to ask them.
    pub fn wires(&self) -> &Wires {
        &self.wires
    }

    /// What it makes of the silence of those it listens to.
    pub fn suspicions(&self) -> Suspicions {
        Suspicions(self.news.clone())
    }

    /// Asks another peer; see [`Wires::call`].
    pub async fn call(
        &self,
        to: &Address,
        request: Vec<u8>,
        within: Duration,
    ) -> Result<Vec<u8>, CallError> {
        self.wires.call(to, request, within).await
    }

    /// The runtime of its own thread, for what shall not wait for the user's. Nothing there may hold the thread.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Who listens to nodes and clients from now on. It runs on the peer's thread and must not wait.
    pub fn on_caller(&self, listen: impl Fn(Caller) + Send + Sync + 'static) {
        self.hooks.set_on_caller(Arc::new(listen));
    }

    /// Who answers the calls of other peers from now on, on the peer's thread. Until then they are not answered.
    pub fn on_call<F>(&self, answer: impl Fn(NodeName, Vec<u8>) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Vec<u8>> + Send + 'static,
    {
        let boxed = move |from, request| Box::pin(answer(from, request)) as _;
        self.hooks.set_on_call(Arc::new(boxed));
    }

    /// Says something else about itself from now on.
    pub async fn describe(&self, profile: Profile) {
        // One that has ended has nothing to say.
        let _ = self.news.send(News::Describe(profile)).await;
    }

    /// Leaves the cluster, and returns when the others have been told. It still answers calls.
    pub async fn leave(&self) {
        let (done, left) = oneshot::channel();
        if self.news.send(News::Leave(done)).await.is_ok() {
            let _ = left.await;
        }
    }

    /// Stops at once, and returns when its port is free. The others find out by themselves, unless it has left.
    pub async fn stop(self) {
        drop(self.stop);
        let _ = self.stopped.await;
    }
}
