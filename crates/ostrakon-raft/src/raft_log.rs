//! `RaftLog`: one voice of the consensus, and what it knows of the control log.
//!
//! Every voice has one; until it [forms](RaftLog::form) a cluster or a leader invites it, it only listens. It brings no call to the leader:
//! whoever does not lead is told who does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use openraft::async_runtime::watch::WatchReceiver;
use openraft::errors::{Fatal, InitializeError, RaftError};
use openraft::raft::TransferLeaderRequest;
use tokio::sync::{Mutex, watch};

use crate::answering::Answering;
use crate::disk::{Disk, Found};
use crate::log_store::LogStore;
use crate::network::{AddressBook, Network};
use crate::state_machine::{Applied, StateMachine};
use crate::type_config::{Metrics, Raft, TypeConfig};
use crate::voting::Voting;
use crate::watching::Watching;
use crate::{
    Calls, FormError, Members, RaftRequest, RaftResponse, RaftSettings, StartError, Voice,
    VotersError,
};

/// How long the others get to find out that whoever led has ended.
const HEAD_START: Duration = Duration::from_millis(30);

/// A control log that several voices keep together. Ends when it is dropped; only [`stop`](RaftLog::stop) tells when it has.
pub struct RaftLog {
    pub(crate) place: String,
    pub(crate) settings: RaftSettings,
    pub(crate) raft: Raft,
    pub(crate) applied: Arc<Applied>,
    answering: Answering,
    watching: Watching,
    disk: Option<Disk>,
    /// Held by whoever changes the voters.
    voting: Mutex<()>,
}

/// How a voice stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftStatus {
    /// The term of the consensus; not that of the control log.
    pub term: u64,
    /// Who leads, as far as it knows.
    pub leader: Option<Voice>,
    /// How far it has applied the log of the consensus.
    pub applied: Option<u64>,
    /// Why it takes part no more, if it does not.
    pub stopped: Option<String>,
}

impl RaftLog {
    /// Starts a voice, with the log that it had if there is a data directory.
    pub async fn start(
        mut settings: RaftSettings,
        calls: Arc<dyn Calls>,
    ) -> Result<Self, StartError> {
        let config = Arc::new(settings.config()?);
        let (disk, found) = open(&settings).await?;
        settings.me.id = found.id;
        let cluster: Arc<str> = settings.cluster.as_str().into();
        let unreadable = |error: std::io::Error| StartError::Log(error.into());
        let log = LogStore::new(disk.clone(), found.log).map_err(unreadable)?;
        let machine = StateMachine::new(disk.clone(), found.snapshot).map_err(unreadable)?;
        let applied = machine.applied();
        let book = AddressBook::default();
        let network = Network {
            cluster: Arc::clone(&cluster),
            calls,
            book: book.clone(),
            patience: settings.election_max,
        };
        let raft = Raft::new(found.id, config, network, log, machine).await;
        let raft = raft.map_err(|error| StartError::Log(error.into()))?;
        Ok(Self {
            place: format!("the raft log of cluster `{cluster}`"),
            answering: Answering {
                cluster,
                me: found.id,
                raft: raft.clone(),
                arriving: Mutex::default(),
                deadline: settings.storage.deadline,
            },
            watching: Watching::start(raft.metrics(), settings.shortest_succession(), book),
            settings,
            raft,
            applied,
            disk,
            voting: Mutex::new(()),
        })
    }

    /// Who this is; with a data directory that was used before, the id is the one found there.
    pub fn me(&self) -> &Voice {
        &self.settings.me
    }

    /// Begins a cluster with this as its only voter. Only for one who knows that there is none yet: two that both form are two clusters.
    pub async fn form(&self) -> Result<(), FormError> {
        let me = self.me().clone();
        let formed = self.raft.initialize(BTreeMap::from([(me.id, me)]));
        let deadline = self.settings.storage.deadline;
        match tokio::time::timeout(deadline, formed).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(RaftError::APIError(
                InitializeError::NotAllowed(_) | InitializeError::NotInMembers(_),
            ))) => Err(FormError::HasLog),
            Ok(Err(RaftError::Fatal(fatal))) => Err(FormError::Stopped(fatal.into())),
            Err(_) => Err(FormError::Late(deadline)),
        }
    }

    /// Whether it has a log: it has formed a cluster, or was let into one.
    pub async fn has_log(&self) -> bool {
        self.raft.is_initialized().await.unwrap_or(false)
    }

    /// What another voice asks. Always answers, by the deadline of the settings.
    pub async fn answer(&self, request: RaftRequest) -> RaftResponse {
        self.answering.answer(request).await
    }

    /// Whether it leads, which is a reason to begin or end with something and never a permission: only what is
    /// [appended](ostrakon_storage::Storage::append), or a [head](ostrakon_storage::Storage::head), proves it. False also when no majority
    /// has been heard of for the longest election time.
    pub fn leads(&self) -> watch::Receiver<bool> {
        self.watching.leads.clone()
    }

    /// Who takes part, as far as it is decided and known here.
    pub fn members(&self) -> watch::Receiver<Members> {
        self.watching.members.clone()
    }

    /// Lets these take part, and nobody else. Only the leader can; it may remove itself.
    pub async fn set_members(&self, wanted: &Members) -> Result<(), VotersError> {
        let _held = self.voting.lock().await;
        let voting = Voting {
            raft: &self.raft,
            deadline: self.settings.storage.deadline,
            catch_up: self.settings.catch_up,
        };
        voting.set(wanted).await
    }

    /// Asks another voter to lead instead. It does so as soon as it has the whole log; nothing happens if this voice does not lead.
    pub async fn hand_over(&self, to: u64) {
        // Whoever has stopped leads no more.
        let _ = self.raft.trigger().transfer_leader(to).await;
    }

    /// Whoever leads is known to have ended: another one is elected without waiting for it. Everybody who finds out should say so; the one
    /// that shall be elected is the same for all of them. A mistake costs an election and nothing else.
    pub async fn leader_has_ended(&self, leader: &Voice) {
        let metrics = self.raft.metrics().borrow_watched().clone();
        if metrics.current_leader != Some(leader.id) || leader.id == self.me().id {
            return;
        }
        let voters = metrics.membership_config.membership().voter_ids();
        let Some(heir) = voters.filter(|id| *id != leader.id).min() else {
            return;
        };
        if heir == self.me().id {
            // The others have to know it too before they can give it their votes.
            tokio::time::sleep(HEAD_START).await;
        }
        let will = TransferLeaderRequest::new(metrics.vote, heir, None);
        // Whoever has stopped elects nobody.
        let _ = self.raft.handle_transfer_leader(will).await;
    }

    /// How it stands.
    pub fn status(&self) -> RaftStatus {
        let metrics = self.raft.metrics().borrow_watched().clone();
        let Metrics {
            current_term,
            current_leader,
            running_state,
            membership_config,
            ..
        } = metrics;
        let voice = |id| membership_config.membership().get_node(&id).cloned();
        RaftStatus {
            term: current_term,
            leader: current_leader.and_then(voice),
            applied: self.applied.last_index(),
            stopped: running_state
                .err()
                .map(|fatal: Fatal<TypeConfig>| fatal.to_string()),
        }
    }

    /// Ends. The data directory can be used again when this returns.
    pub async fn stop(&self) {
        // It may have ended by itself, with a panic at worst: it has ended.
        let _ = self.raft.shutdown().await;
        if let Some(disk) = &self.disk {
            disk.close().await;
        }
    }
}

async fn open(settings: &RaftSettings) -> Result<(Option<Disk>, Found), StartError> {
    let id = settings.me.id;
    let Some(directory) = &settings.data else {
        let found = Found {
            id,
            ..Found::default()
        };
        return Ok((None, found));
    };
    let (disk, found) = Disk::open(directory, &settings.cluster, id).await?;
    Ok((Some(disk), found))
}
