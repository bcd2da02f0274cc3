//! How a peer starts and runs: what is on its thread.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ostrakon_clock::HolderClock;
use ostrakon_control::PeerHello;
use ostrakon_core::{Address, ClusterId, NodeName, Time, Topology, TopologyConfig};
use ostrakon_tls::Role;
use tokio::{
    net::TcpListener,
    runtime::Handle,
    sync::{broadcast, mpsc, oneshot, watch},
    time::Instant,
};

use super::Peer;
use crate::{
    Entered, PeerSettings, SeedTried, Seeds, StartError, Wires,
    found_seeds::FoundSeeds,
    hooks::Hooks,
    port::Port,
    topology_task::{FIRST_WORD, TopologyTask, look_up},
};

/// So much news may wait for the topology task.
const NEWS: usize = 4096;
/// So many events may wait for a subscriber.
const EVENTS: usize = 256;
/// How often certificates are looked at, whether they are new.
const CERTIFICATES: Duration = Duration::from_secs(5);
/// How long a leaving peer waits for those whom it has told to have heard it, which they do at once unless they are away.
const LINGER: Duration = Duration::from_secs(1);
/// How long to wait before asking for seeds again where nobody was named.
const ASK_AGAIN: Duration = Duration::from_millis(500);

pub(super) async fn on_its_own_thread(settings: PeerSettings) -> Result<Peer, StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(StartError::Thread)?;
    let (ready, started) = oneshot::channel();
    let (gone, stopped) = oneshot::channel();
    let run = move || {
        runtime.block_on(run(settings, stopped, ready));
        // A name that is being looked up is not waited for.
        runtime.shutdown_background();
        let _ = gone.send(());
    };
    std::thread::Builder::new()
        .name("ostrakon-peers".to_owned())
        .spawn(run)
        .map_err(StartError::Thread)?;
    started.await.unwrap_or(Err(StartError::Ended))
}

async fn run(
    settings: PeerSettings,
    stopped: oneshot::Receiver<()>,
    mut ready: oneshot::Sender<Result<Peer, StartError>>,
) {
    let (stop, stopping) = oneshot::channel();
    let started = tokio::select! {
        started = start(settings, stop, stopped) => started,
        // Nobody waits for it any more.
        () = ready.closed() => return,
    };
    // Whoever drops the peer, or has not waited for it, stops it.
    let _ = ready.send(started);
    let _ = stopping.await;
}

async fn start(
    settings: PeerSettings,
    stop: oneshot::Sender<()>,
    stopped: oneshot::Receiver<()>,
) -> Result<Peer, StartError> {
    let (listener, own, address) = open_port(&settings).await?;
    let (hooks, events) = (Arc::new(Hooks::default()), broadcast::Sender::new(EVENTS));
    let (news, hearing) = mpsc::channel(NEWS);
    let security = settings.security.clone();
    if let Some(certificates) = security.certificates() {
        tokio::spawn(ostrakon_tls::watch(Arc::clone(certificates), CERTIFICATES));
    }
    let wires = Wires::new(own, security, Arc::clone(&hooks), news.clone());
    let port = Port {
        wires: wires.clone(),
        hooks: Arc::clone(&hooks),
        places: settings.connections,
    };
    tokio::spawn(port.open(listener));
    let search = Search {
        until: Instant::now() + settings.join_within,
        within: settings.join_within,
        forms_with: settings.forms_with,
        seeds: settings.seeds.clone(),
        wires: wires.clone(),
    };
    let found = search.find_seeds().await?;
    let topology = topology(settings, wires.own(), found.clone())?;
    let snapshots = watch::Sender::new(topology.snapshot());
    let (entered, entering) = oneshot::channel();
    let task = TopologyTask {
        clock: HolderClock::start(),
        topology,
        wires: wires.clone(),
        seeds: FoundSeeds::new(found),
        snapshots: snapshots.clone(),
        events: events.clone(),
        entered: Some(entered),
        leaving: Vec::new(),
        says_more_at: Time::ZERO + FIRST_WORD,
    };
    tokio::spawn(task.run(hearing));
    tokio::spawn(look_up(
        search.seeds.clone(),
        snapshots.subscribe(),
        news.clone(),
    ));
    let (cluster, entered) = search.enter(entering).await?;
    Ok(Peer {
        address,
        cluster,
        entered,
        wires,
        hooks,
        news,
        snapshots: snapshots.subscribe(),
        events,
        runtime: Handle::current(),
        stop,
        stopped,
    })
}

/// Listens, and says who this peer is and where.
async fn open_port(
    settings: &PeerSettings,
) -> Result<(TcpListener, PeerHello, SocketAddr), StartError> {
    let name = NodeName::new(&settings.name)?;
    let cannot_listen = |cause| StartError::Listen {
        address: settings.listen.clone(),
        cause,
    };
    let listener = TcpListener::bind(&settings.listen)
        .await
        .map_err(cannot_listen)?;
    let bound = listener.local_addr().map_err(cannot_listen)?;
    let (cluster, security) = (&settings.cluster, &settings.security);
    security.check(cluster, Role::Node, name.as_str(), bound)?;
    let address = advertised(settings, bound).await?;
    let own = PeerHello {
        cluster: cluster.clone(),
        name,
        address: Address::new(address.to_string()).expect("a socket address is an address"),
        session: fastrand::u64(..),
    };
    Ok((listener, own, address))
}

/// Where others reach a peer that listens here.
async fn advertised(settings: &PeerSettings, bound: SocketAddr) -> Result<SocketAddr, StartError> {
    let unfit = |address: String, reason: String| StartError::Advertise { address, reason };
    let mut address = match &settings.advertise {
        None => bound,
        Some(text) => {
            let found = tokio::net::lookup_host(text).await;
            let found = found.map_err(|error| unfit(text.clone(), error.to_string()))?;
            // The same wherever it is looked up, in whatever order.
            let lowest = found.min();
            lowest.ok_or_else(|| unfit(text.clone(), "it has no address".to_owned()))?
        }
    };
    if address.port() == 0 {
        address.set_port(bound.port());
    }
    if address.ip().is_unspecified() {
        let reason = "that is every address of this machine and none of another".to_owned();
        return Err(unfit(address.to_string(), reason));
    }
    Ok(address)
}

fn topology(
    settings: PeerSettings,
    own: &PeerHello,
    seeds: Vec<Address>,
) -> Result<Topology, StartError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let run = u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    let (name, address) = (own.name.clone(), own.address.clone());
    let mut config = TopologyConfig::new(name, address, run);
    config.seed_value = fastrand::u64(..);
    config.profile = settings.profile;
    config.linger = LINGER;
    config.forms_with = settings.forms_with;
    (settings.tune)(&mut config);
    config.name = own.name.clone();
    config.address = own.address.clone();
    Ok(Topology::new(Time::ZERO, config.with_seeds(seeds))?)
}

/// How long the way into a cluster may take, and what is said when it took longer.
struct Search {
    until: Instant,
    within: Duration,
    forms_with: usize,
    seeds: Seeds,
    wires: Wires,
}

impl Search {
    /// Where the seeds are. With none at all a peer would form a cluster of its own, so it waits for one to be named.
    async fn find_seeds(&self) -> Result<Vec<Address>, StartError> {
        loop {
            let found = tokio::time::timeout_at(self.until, self.seeds.find()).await;
            let found = found.unwrap_or_default();
            if !found.is_empty() || self.seeds.is_none() {
                return Ok(found);
            }
            if Instant::now() >= self.until {
                return Err(self.in_vain(&found));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    async fn enter(
        &self,
        entering: oneshot::Receiver<(ClusterId, Entered)>,
    ) -> Result<(ClusterId, Entered), StartError> {
        match tokio::time::timeout_at(self.until, entering).await {
            Ok(Ok(entered)) => Ok(entered),
            Ok(Err(_)) => Err(StartError::Ended),
            Err(_) => Err(self.in_vain(&self.seeds.find().await)),
        }
    }

    fn in_vain(&self, seeds: &[Address]) -> StartError {
        let tried = seeds.iter().map(|seed| SeedTried {
            seed: seed.to_string(),
            outcome: self.wires.outcome(seed),
        });
        StartError::NotJoined {
            within: self.within,
            forms_with: self.forms_with,
            seeds: tried.collect(),
        }
    }
}
