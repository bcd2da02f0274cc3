//! `Council`: a running peer, with its part of the log and a manager over it.

use std::{net::SocketAddr, sync::Arc};

use ostrakon_core::{Address, TopologySnapshot};
use ostrakon_manager::{Manager, ManagerSettings, OtherRules};
use ostrakon_peers::{Entered, Peer};
use ostrakon_raft::{Members, RaftLog, RaftSettings, Voice, fresh_id};
use ostrakon_storage::Storage;
use tokio::sync::watch;

use crate::{
    CouncilSettings, PeerDesk, StartError,
    badge::{Badge, Duty},
    founding, mourning,
    network::{self, Network},
    parting,
    recruiting::Recruiting,
};

/// A peer's share in deciding. It stops when this is dropped, without a word to the others; see [`leave`](Self::leave).
pub struct Council {
    log: Arc<RaftLog>,
    desk: PeerDesk,
    deciders: watch::Receiver<Vec<Arc<str>>>,
    // Last: everything else runs on its thread.
    peer: Peer,
}

impl Council {
    /// Starts a peer: it belongs to a cluster when this returns.
    pub async fn start(mut settings: CouncilSettings) -> Result<Self, StartError> {
        let badge = Badge {
            voice: fresh_id(),
            duty: settings.duty,
        };
        let profile = settings.peer.profile.clone();
        let profile = profile.with_metadata(badge.to_bytes())?;
        settings.peer.profile = profile.clone();
        let (name, cluster) = (settings.peer.name.clone(), settings.peer.cluster.clone());
        let (least, join_within) = (settings.peer.forms_with, settings.peer.join_within);
        let peer = Peer::start(settings.peer).await?;
        let me = Voice {
            id: badge.voice,
            name: peer.name().clone(),
            address: Address::new(peer.address().to_string())
                .expect("a socket address is an address"),
        };
        let raft = RaftSettings {
            data: settings.data,
            heartbeat: settings.heartbeat,
            election_min: settings.election,
            election_max: settings.election * 3 / 2,
            ..RaftSettings::new(&cluster, me)
        };
        let manager = ManagerSettings {
            name,
            cluster,
            policy: settings.policy,
            other_rules: match settings.duty {
                Duty::Host => OtherRules::Replace,
                Duty::Witness => OtherRules::Keep,
            },
            health: settings.health,
            ..ManagerSettings::default()
        };
        let network = Arc::new(Network(peer.wires().clone()));
        let topology = peer.topology();
        let begun = peer
            .runtime()
            .spawn(begin(raft, manager, network, topology));
        let (log, manager) = begun.await.map_err(|_| StartError::Stopped)??;
        let council = Self::joined(peer, log, manager);
        // A log that was there already has an id of its own.
        let voice = council.log.me().id;
        if voice != badge.voice {
            let badge = Badge { voice, ..badge };
            let profile = profile.with_metadata(badge.to_bytes())?;
            council.peer.describe(profile).await;
        }
        if *council.peer.entered() == Entered::Formed && !council.log.has_log().await {
            founding::until_enough(council.topology(), least, join_within).await?;
            council.log.form().await?;
        }
        Ok(council)
    }

    /// From now on others are answered.
    fn joined(peer: Peer, log: Arc<RaftLog>, manager: Arc<Manager>) -> Self {
        let desk = PeerDesk::new(manager.desk().clone(), &log, &peer);
        let receiving = Arc::clone(&manager);
        peer.on_caller(move |caller| receiving.receive(caller));
        let answering = (Arc::clone(&log), manager.desk().clone());
        peer.on_call(move |_, request| {
            let (log, desk) = answering.clone();
            async move { network::answer(&log, &desk, &request).await }
        });
        let closed = peer.wires().closed();
        peer.runtime()
            .spawn(mourning::watch(Arc::clone(&log), closed));
        let (deciding, deciders) = watch::channel(Vec::new());
        peer.runtime()
            .spawn(name_deciders(log.members(), manager, deciding));
        Self {
            log,
            desk,
            deciders,
            peer,
        }
    }

    /// Where others reach it.
    pub fn address(&self) -> SocketAddr {
        self.peer.address()
    }

    /// The members, now and whenever they change.
    pub fn topology(&self) -> watch::Receiver<TopologySnapshot> {
        self.peer.topology()
    }

    /// Where operators look at the cluster and say what they want of it.
    pub fn desk(&self) -> &PeerDesk {
        &self.desk
    }

    /// The peer itself.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Its part of the log.
    pub fn log(&self) -> &RaftLog {
        &self.log
    }

    /// Where those are who may decide: a node keeps in contact with all of them.
    pub fn deciders(&self) -> watch::Receiver<Vec<Arc<str>>> {
        self.deciders.clone()
    }

    /// Goes in good order: the others are told, and whoever leads takes its vote back.
    pub async fn leave(&self) {
        self.peer.leave().await;
        parting::until_voteless(&self.log, self.peer.wires()).await;
    }

    /// Stops at once, and returns when its port and its data directory are free.
    pub async fn stop(self) {
        self.log.stop().await;
        self.peer.stop().await;
    }
}

/// Opens the log, and starts what lives on the peer's thread.
async fn begin(
    raft: RaftSettings,
    manager: ManagerSettings,
    network: Arc<Network>,
    topology: watch::Receiver<TopologySnapshot>,
) -> Result<(Arc<RaftLog>, Arc<Manager>), StartError> {
    let log = Arc::new(RaftLog::start(raft, network).await?);
    let storage: Arc<dyn Storage> = Arc::clone(&log) as _;
    let manager = Manager::among_peers(storage, log.leads(), manager)?;
    let recruiting = Recruiting {
        log: Arc::clone(&log),
        topology,
        desk: manager.desk().clone(),
    };
    tokio::spawn(recruiting.run());
    Ok((log, Arc::new(manager)))
}

/// Says where the voters are, whenever that changes.
async fn name_deciders(
    mut members: watch::Receiver<Members>,
    manager: Arc<Manager>,
    deciding: watch::Sender<Vec<Arc<str>>>,
) {
    loop {
        let addresses = addresses(&members.borrow_and_update());
        if *deciding.borrow() != addresses {
            let named = addresses.iter().map(|address| address.to_string());
            manager.name_deciders(named.collect()).await;
            deciding.send_replace(addresses);
        }
        tokio::select! {
            changed = members.changed() => if changed.is_err() {
                return;
            },
            () = deciding.closed() => return,
        }
    }
}

fn addresses(members: &Members) -> Vec<Arc<str>> {
    let voters = members.voters.values();
    let addresses = voters.map(|voice| voice.address.as_str().into());
    addresses.collect()
}
