//! The topology task: drives the [`Topology`] of this peer, and is the only one that does.
//!
//! It tells it what has happened and how late it is, says what it wants said, and publishes what it decides. Invariant: subscribers see
//! a new snapshot exactly when the members are not what they were.

use std::{collections::BTreeMap, time::Duration};

use ostrakon_clock::HolderClock;
use ostrakon_control::PeerWords;
use ostrakon_core::{
    Address, ClusterId, ConnectFailure, NodeName, Profile, Time, Topology, TopologyAction,
    TopologyInput, TopologySnapshot,
};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::{
    Seeds, Wires,
    event::{Entered, PeerEvent},
    found_seeds::FoundSeeds,
};

/// How often the names of seeds are looked up, by a peer without a cluster and by a member.
const LOOK_UP_SEARCHING: Duration = Duration::from_secs(1);
const LOOK_UP_MEMBER: Duration = Duration::from_secs(30);
/// When a peer first says whom it waits for, and how often.
pub(crate) const FIRST_WORD: Duration = Duration::from_secs(1);
const NEXT_WORD: Duration = Duration::from_secs(10);
/// How long to wait for a clock that has nothing to wake for.
const NEVER: Duration = Duration::from_secs(3600);

/// What the task is told.
pub(crate) enum News {
    Happened(TopologyInput),
    /// Who was dialed under one address says it is reached under another.
    Alias {
        dialed: Address,
        advertised: Address,
    },
    /// The seeds have been looked up.
    Found(Vec<Address>),
    Describe(Profile),
    /// Somebody wants to know what the silence of others speaks for.
    Phis(oneshot::Sender<BTreeMap<NodeName, f64>>),
    /// To leave, and to tell when that is done.
    Leave(oneshot::Sender<()>),
}

pub(crate) struct TopologyTask {
    pub(crate) clock: HolderClock,
    pub(crate) topology: Topology,
    pub(crate) wires: Wires,
    pub(crate) seeds: FoundSeeds,
    pub(crate) snapshots: watch::Sender<TopologySnapshot>,
    pub(crate) events: broadcast::Sender<PeerEvent>,
    /// Who waits for this peer to belong to a cluster.
    pub(crate) entered: Option<oneshot::Sender<(ClusterId, Entered)>>,
    /// Who waits for this peer to have left.
    pub(crate) leaving: Vec<oneshot::Sender<()>>,
    /// When the log says again whom this peer waits for.
    pub(crate) says_more_at: Time,
}

impl TopologyTask {
    /// For as long as the peer runs, or until it has left.
    pub(crate) async fn run(mut self, mut news: mpsc::Receiver<News>) {
        self.step(TopologyInput::Tick);
        while let Some(wakeup) = self.topology.next_wakeup() {
            let pause = wakeup.saturating_since(self.clock.now()).min(NEVER);
            let heard = tokio::select! {
                heard = news.recv() => match heard {
                    Some(heard) => heard,
                    None => return,
                },
                () = tokio::time::sleep(pause) => News::Happened(TopologyInput::Tick),
            };
            self.take(heard);
        }
        // What is asked of a peer that has left is done.
        while let Some(heard) = news.recv().await {
            if let News::Leave(done) = heard {
                let _ = done.send(());
            }
        }
    }

    fn take(&mut self, news: News) {
        match news {
            News::Happened(input) => {
                if let TopologyInput::Unreachable { address, failure } = &input
                    && *failure == ConnectFailure::Myself
                {
                    self.seeds.alias(address, self.wires.own().address.clone());
                }
                self.step(input);
            }
            News::Alias { dialed, advertised } => {
                self.seeds.alias(&dialed, advertised);
                self.reseed();
            }
            News::Found(found) => {
                self.seeds.found(found);
                self.reseed();
            }
            // Whoever asked may have gone.
            News::Phis(answer) => drop(answer.send(self.phis())),
            News::Describe(profile) => self.step(TopologyInput::Describe(profile)),
            News::Leave(done) => {
                self.leaving.push(done);
                self.step(TopologyInput::Leave);
            }
        }
    }

    fn phis(&self) -> BTreeMap<NodeName, f64> {
        let phis = self.topology.phis(self.clock.now());
        phis.map(|(name, phi)| (name.clone(), phi)).collect()
    }

    fn reseed(&mut self) {
        if let Some(seeds) = self.seeds.changed() {
            self.step(TopologyInput::Seeds(seeds));
        }
    }

    fn step(&mut self, input: TopologyInput) {
        let actions = self.topology.step(self.clock.now(), input);
        // Whoever learns that this peer has come in must find itself among the members.
        let changed = actions
            .iter()
            .any(|action| matches!(action, TopologyAction::Changed { .. }));
        if changed || self.snapshots.borrow().cluster != self.topology.cluster() {
            self.snapshots.send_replace(self.topology.snapshot());
        }
        for action in actions {
            self.perform(action);
        }
        self.say_whom_it_waits_for();
    }

    /// Now and then, for a peer that must not form a cluster on its own.
    fn say_whom_it_waits_for(&mut self) {
        let now = self.clock.now();
        if now < self.says_more_at {
            return;
        }
        if let Some(gathering) = self.topology.gathering() {
            self.says_more_at = now + NEXT_WORD;
            tracing::warn!("no cluster yet: {gathering}");
        }
    }

    fn perform(&mut self, action: TopologyAction) {
        let event = match action {
            TopologyAction::Send { to, message } => {
                // It need not arrive.
                let _ = self.wires.say(&to, &PeerWords::Gossip(message));
                return;
            }
            TopologyAction::Formed { cluster } => PeerEvent::Entered {
                cluster,
                how: Entered::Formed,
            },
            TopologyAction::Joined { cluster, via } => PeerEvent::Entered {
                cluster,
                how: Entered::Joined { via },
            },
            TopologyAction::Left => PeerEvent::Left,
            TopologyAction::Replaced { by } => PeerEvent::Replaced { by },
            TopologyAction::TwoClusters { ours, theirs, at } => {
                PeerEvent::TwoClusters { ours, theirs, at }
            }
            TopologyAction::Rejected { from, reason } => PeerEvent::Rejected { from, reason },
            // Published before; and what this version does not know needs nothing done.
            TopologyAction::Changed { .. } | _ => return,
        };
        self.happened(event);
    }

    fn happened(&mut self, event: PeerEvent) {
        match &event {
            PeerEvent::Entered { .. } | PeerEvent::Left => tracing::info!("{event}"),
            PeerEvent::Replaced { .. } | PeerEvent::TwoClusters { .. } => {
                tracing::error!("{event}");
            }
            PeerEvent::Rejected { .. } => tracing::debug!("{event}"),
        }
        if let PeerEvent::Entered { cluster, how } = &event
            && let Some(entered) = self.entered.take()
        {
            let _ = entered.send((*cluster, how.clone()));
        }
        if matches!(event, PeerEvent::Left | PeerEvent::Replaced { .. }) {
            self.entered = None;
            for done in self.leaving.drain(..) {
                let _ = done.send(());
            }
        }
        // Nobody may listen.
        let _ = self.events.send(event);
    }
}

/// Looks up the seeds again and again, if they may be elsewhere meanwhile.
pub(crate) async fn look_up(
    seeds: Seeds,
    snapshots: watch::Receiver<TopologySnapshot>,
    news: mpsc::Sender<News>,
) {
    while seeds.may_change() {
        let pause = match snapshots.borrow().cluster {
            Some(_) => LOOK_UP_MEMBER,
            None => LOOK_UP_SEARCHING,
        };
        tokio::time::sleep(pause).await;
        if news.send(News::Found(seeds.find().await)).await.is_err() {
            return;
        }
    }
}
