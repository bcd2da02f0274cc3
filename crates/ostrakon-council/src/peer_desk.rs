//! `PeerDesk`: where operators look at a cluster of peers and say what they want of it, whichever of them they ask.
//!
//! Every peer has the whole log, so each can tell what is in it. Changes are the leader's: what is wished elsewhere is passed on to it, and its
//! answer comes back. Who may wish is checked where the wish comes in; peers trust each other. Invariant: what was passed on is not
//! passed on again, and nobody waits longer than [`PATIENCE`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use ostrakon_core::{NodeName, PlannedMove, TopologySnapshot};
use ostrakon_manager::{Desk, NodeVitals, Wish, WishError};
use ostrakon_peers::{CallError, Peer, Suspicions, Wires};
use ostrakon_raft::{Members, RaftLog, Voice};
use thiserror::Error;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    Quorum,
    network::Call,
    passed_on::{Answer, Asked, Done},
};

/// How long an answer may take, the time without a leader included. Less than whoever asks over the admin API waits.
const PATIENCE: Duration = Duration::from_secs(6);
/// How long whoever leads may take to say what the nodes are doing.
const GLANCE: Duration = Duration::from_secs(1);
/// How long to wait before somebody is asked again who leads.
const PAUSE: Duration = Duration::from_millis(100);

/// Where operators look and wish, at any peer. Cheap to clone.
#[derive(Clone)]
pub struct PeerDesk {
    desk: Desk,
    /// Whoever looks does not keep the log from ending.
    log: Weak<RaftLog>,
    members: watch::Receiver<Members>,
    topology: watch::Receiver<TopologySnapshot>,
    wires: Wires,
    suspicions: Suspicions,
}

/// Why a wish was not taken up, or is not known to have been.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PassError {
    /// It was not. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] WishError),
    /// It was passed on to whoever leads, which did not answer: it may have been taken up. Look before wishing again.
    #[error("it is not known whether `{leader}`, which leads, has taken it up: {reason}")]
    Unanswered {
        /// Who leads.
        leader: NodeName,
        /// What went wrong.
        reason: String,
    },
}

impl PeerDesk {
    pub(crate) fn new(desk: Desk, log: &Arc<RaftLog>, peer: &Peer) -> Self {
        Self {
            desk,
            log: Arc::downgrade(log),
            members: log.members(),
            topology: peer.topology(),
            wires: peer.wires().clone(),
            suspicions: peer.suspicions(),
        }
    }

    /// This peer's own desk, which is enough to look. What is wished there is refused unless this peer leads.
    pub fn own(&self) -> &Desk {
        &self.desk
    }

    /// Who votes, and who leads, as far as this peer knows.
    pub fn quorum(&self) -> Quorum {
        let (topology, members) = (self.topology.borrow(), self.members.borrow());
        Quorum::of(&topology, &members, self.leader().as_ref())
    }

    /// Whether this peer votes.
    pub fn votes(&self) -> bool {
        let log = self.log.upgrade();
        log.is_some_and(|log| self.members.borrow().voters.contains_key(&log.me().id))
    }

    /// Waits until those who vote or learn are others than they were when this was last waited for; `false` if that cannot happen any more.
    pub async fn members_change(&mut self) -> bool {
        self.members.changed().await.is_ok()
    }

    /// Wants something. It has been taken up by whoever leads when this returns; what comes of it shows in the view.
    pub async fn wish(&self, wish: Wish) -> Result<(), PassError> {
        self.ask(Asked::Wish(wish)).await.map(|_| ())
    }

    /// What a round of balancing would do if it began now and balancing is not frozen. Nothing changes.
    pub async fn plan(&self) -> Result<Vec<PlannedMove>, PassError> {
        match self.ask(Asked::Plan).await? {
            Done::Plan(plan) => Ok(plan.into_iter().map(|planned| planned.0).collect()),
            Done::TakenUp => Ok(Vec::new()),
        }
    }

    /// What the nodes are doing, as they last said. They tell those who vote; a peer that does not asks whoever leads, and knows nothing if that does not
    /// answer.
    pub async fn vitals(&self) -> Vec<NodeVitals> {
        if self.votes() {
            return self.desk.vitals();
        }
        let asked = async {
            let call = rmp_serde::to_vec_named(&Call::Vitals).ok()?;
            let answer = self.wires.call(&self.leader()?.address, call, GLANCE).await;
            rmp_serde::from_slice(&answer.ok()?).ok()
        };
        asked.await.unwrap_or_default()
    }

    /// How much the silence of each neighbour that this peer listens to speaks against it at this moment.
    pub async fn phis(&self) -> BTreeMap<NodeName, f64> {
        self.suspicions.phis().await
    }

    /// Asks whoever leads, until somebody does. Nobody is asked twice who may have taken it up.
    async fn ask(&self, asked: Asked) -> Result<Done, PassError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut done = asked.clone().ask(&self.desk).await.map_err(PassError::from);
            if is_for_another(&done) {
                done = self.pass_on(&asked, until).await;
            }
            if !is_for_another(&done) || Instant::now() >= until {
                return done;
            }
            sleep(PAUSE).await;
        }
    }

    async fn pass_on(&self, asked: &Asked, until: Instant) -> Result<Done, PassError> {
        let Some(leader) = self.leader() else {
            return Err(WishError::NotLeading { leader: None }.into());
        };
        let unanswered = |reason: String| PassError::Unanswered {
            leader: leader.name.clone(),
            reason,
        };
        let call = rmp_serde::to_vec_named(&Call::Operator(asked.clone()));
        let call = call.map_err(|error| unanswered(error.to_string()))?;
        let within = until.saturating_duration_since(Instant::now());
        let answer = match self.wires.call(&leader.address, call, within).await {
            Ok(answer) => answer,
            Err(error @ (CallError::Broken | CallError::Late(_))) => {
                return Err(unanswered(error.to_string()));
            }
            Err(CallError::Stopped) => return Err(WishError::Stopping.into()),
            // It was not asked: another one may lead in a moment.
            Err(_) => {
                let leader = Some(leader.name.clone());
                return Err(WishError::NotLeading { leader }.into());
            }
        };
        let answer: Result<Answer, _> = rmp_serde::from_slice(&answer);
        let answer = answer.map_err(|error| unanswered(error.to_string()))?;
        Ok(answer.map_err(WishError::from)?)
    }

    fn leader(&self) -> Option<Voice> {
        self.log.upgrade()?.status().leader
    }
}

/// Whether it was refused because another one leads, or will in a moment.
fn is_for_another(done: &Result<Done, PassError>) -> bool {
    matches!(done, Err(PassError::Refused(WishError::NotLeading { .. })))
}
