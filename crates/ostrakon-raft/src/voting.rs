//! Changing who votes: the newcomers learn, then old and new voters decide together, then the new ones alone.
//!
//! Each step is one that can be repeated, so whoever asks for the same again, after an error or as the next leader, goes on where it ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use openraft::async_runtime::watch::WatchReceiver;
use openraft::errors::{ChangeMembershipError, ClientWriteError, LinearizableReadError, RaftError};
use openraft::{ChangeMembers, ReadPolicy};

use crate::type_config::{Metrics, Raft, TypeConfig};
use crate::{Members, NotLeading, Voice, VotersError};

pub(crate) struct Voting<'a> {
    pub(crate) raft: &'a Raft,
    pub(crate) deadline: Duration,
    pub(crate) catch_up: Duration,
}

type Change = ChangeMembers<u64, Voice>;

impl Voting<'_> {
    pub(crate) async fn set(&self, wanted: &Members) -> Result<(), VotersError> {
        if wanted.voters.is_empty() {
            return Err(VotersError::None);
        }
        self.confirm().await?;
        let all = wanted.all();
        self.forget_others(&all).await?;
        self.invite(&all).await?;
        self.wait_for(&wanted.voters).await?;
        let ids: BTreeSet<u64> = wanted.voters.keys().copied().collect();
        if self.is_settled(&ids) {
            return Ok(());
        }
        self.change(Change::ReplaceAllVoters(ids)).await?;
        // Whoever votes no more has been removed, and comes back if it shall go on learning.
        self.invite(&all).await
    }

    /// This is the leader, and what its predecessors began is settled.
    async fn confirm(&self) -> Result<(), VotersError> {
        let confirmed = self.raft.ensure_linearizable(ReadPolicy::ReadIndex);
        match tokio::time::timeout(self.deadline, confirmed).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(RaftError::APIError(LinearizableReadError::ForwardToLeader(forward)))) => {
                Err(VotersError::NotLeading((&forward).into()))
            }
            Ok(Err(RaftError::APIError(LinearizableReadError::QuorumNotEnough(_)))) => {
                Err(VotersError::NotLeading(NotLeading::Unconfirmed))
            }
            Ok(Err(RaftError::Fatal(fatal))) => Err(VotersError::Stopped(fatal.into())),
            Err(_) => Err(VotersError::Late(self.deadline)),
        }
    }

    fn metrics(&self) -> Metrics {
        self.raft.metrics().borrow_watched().clone()
    }

    /// Who does not vote and is not wanted goes; voters that are not wanted go when others vote.
    async fn forget_others(&self, wanted: &BTreeMap<u64, Voice>) -> Result<(), VotersError> {
        let metrics = self.metrics();
        let learners = metrics.membership_config.membership().learner_ids();
        let others: BTreeSet<u64> = learners.filter(|id| !wanted.contains_key(id)).collect();
        match others.is_empty() {
            true => Ok(()),
            false => self.change(Change::RemoveNodes(others)).await,
        }
    }

    /// Newcomers begin to learn; of the others the address may have changed, while the id, and so the log, is the same.
    async fn invite(&self, wanted: &BTreeMap<u64, Voice>) -> Result<(), VotersError> {
        let metrics = self.metrics();
        let membership = metrics.membership_config.membership();
        let (mut new, mut moved) = (BTreeMap::new(), BTreeMap::new());
        for (id, voice) in wanted {
            match membership.get_node(id) {
                None => new.insert(*id, voice.clone()),
                Some(known) if known != voice => moved.insert(*id, voice.clone()),
                Some(_) => None,
            };
        }
        if !moved.is_empty() {
            self.change(Change::SetNodes(moved)).await?;
        }
        match new.is_empty() {
            true => Ok(()),
            false => self.change(Change::AddNodes(new)).await,
        }
    }

    /// Voters that may be slow are not waited for: they vote already.
    async fn wait_for(&self, wanted: &BTreeMap<u64, Voice>) -> Result<(), VotersError> {
        let start = self.metrics();
        let goal = start.last_log_index;
        let voters: BTreeSet<u64> = start.membership_config.membership().voter_ids().collect();
        let behind = |metrics: &Metrics| -> Vec<Voice> {
            let new = wanted.iter().filter(|(id, _)| !voters.contains(id));
            let late = new.filter(|(id, _)| matched(metrics, **id) < goal);
            late.map(|(_, voice)| voice.clone()).collect()
        };
        let caught_up =
            |metrics: &Metrics| behind(metrics).is_empty() || !metrics.state.is_leader();
        let wait = self.raft.wait(Some(self.catch_up));
        let within = self.catch_up;
        match wait.metrics(caught_up, "those that shall vote").await {
            Ok(_) => Ok(()),
            Err(_) => {
                let behind = behind(&self.metrics());
                Err(VotersError::Behind { behind, within })
            }
        }
    }

    /// Exactly these vote.
    fn is_settled(&self, ids: &BTreeSet<u64>) -> bool {
        let metrics = self.metrics();
        let committed = metrics.committed_membership_config.membership();
        let is_last = metrics.membership_config == metrics.committed_membership_config;
        is_last && committed.get_joint_config().as_slice() == std::slice::from_ref(ids)
    }

    async fn change(&self, members: Change) -> Result<(), VotersError> {
        let changed = self.raft.change_membership(members, false);
        let done = match tokio::time::timeout(self.deadline, changed).await {
            Ok(Ok(done)) => Some(done.log_id),
            Ok(Err(error)) => return Err(self.explained(error)),
            Err(_) => return Err(VotersError::Late(self.deadline)),
        };
        // The next step goes by the metrics, and those may be a little behind what was just decided.
        let is_known = |metrics: &Metrics| {
            *metrics.membership_config.log_id() >= done || !metrics.state.is_leader()
        };
        let wait = self.raft.wait(Some(self.deadline));
        let known = wait.metrics(is_known, "what was decided").await;
        known.map_or(Err(VotersError::Late(self.deadline)), |_| Ok(()))
    }

    fn explained(&self, error: RaftError<TypeConfig, ClientWriteError<TypeConfig>>) -> VotersError {
        match error {
            RaftError::APIError(ClientWriteError::ForwardToLeader(forward)) => {
                VotersError::NotLeading((&forward).into())
            }
            RaftError::APIError(ClientWriteError::LogEntryDiscarded(_)) => {
                VotersError::Late(self.deadline)
            }
            RaftError::APIError(ClientWriteError::ChangeMembershipError(
                ChangeMembershipError::EmptyMembership(_),
            )) => VotersError::None,
            RaftError::APIError(other) => VotersError::Busy(other.to_string()),
            RaftError::Fatal(fatal) => VotersError::Stopped(fatal.into()),
        }
    }
}

fn matched(metrics: &Metrics, id: u64) -> Option<u64> {
    let replication = metrics.replication.as_ref()?;
    let matched = replication.get(&id)?.as_ref()?;
    Some(matched.index)
}
