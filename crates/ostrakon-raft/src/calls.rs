//! `Calls`: how voices reach each other, which is somebody else's affair.
//!
//! A [`RaftRequest`] says for which cluster and for whom it is meant, and is refused by anybody else: an address may be another's by now.
//! Requests may be lost, late, doubled, and answered by nobody.

use std::fmt;
use std::time::Duration;

use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest,
    TransferLeaderResponse, VoteRequest, VoteResponse,
};
use ostrakon_storage::BoxFuture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Voice;
use crate::part::Part;
use crate::type_config::TypeConfig;

/// Brings requests to voices.
pub trait Calls: Send + Sync + 'static {
    /// Asks `to`, which has so much time to answer. Its address is where it was when it was let in; whoever knows better where this id is
    /// now goes there.
    fn call<'a>(
        &'a self,
        to: &'a Voice,
        request: RaftRequest,
        within: Duration,
    ) -> BoxFuture<'a, Result<RaftResponse, CallError>>;
}

/// Why there is no answer. The request may have arrived nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// There is no connection; trying again at once would not help.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// Nothing came back in time.
    #[error("no answer within {0:?}")]
    Late(Duration),
}

/// A request to one voice. Not larger than [`MOST_MESSAGE`](crate::MOST_MESSAGE) when it is encoded.
#[derive(Clone, Serialize, Deserialize)]
pub struct RaftRequest {
    /// The cluster that it is for.
    pub cluster: String,
    /// The id of the voice that it is for.
    pub to: u64,
    pub(crate) ask: Ask,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Ask {
    Append(AppendEntriesRequest<TypeConfig>),
    PreVote(VoteRequest<TypeConfig>),
    Vote(VoteRequest<TypeConfig>),
    Snapshot(Part),
    Transfer(TransferLeaderRequest<TypeConfig>),
}

/// The answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RaftResponse(pub(crate) Answer);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Appended(AppendEntriesResponse<TypeConfig>),
    /// How it would vote.
    PreVoted(VoteResponse<TypeConfig>),
    Voted(VoteResponse<TypeConfig>),
    /// The part was taken; more are expected.
    Taken,
    Installed(SnapshotResponse<TypeConfig>),
    Transferred(TransferLeaderResponse<TypeConfig>),
    Refused(Refusal),
}

/// Why a request was not even looked at.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// It was for others.
    #[error("this is a voice of cluster `{0}`")]
    OtherCluster(String),
    /// It was for somebody who had this address, or lost its log, before.
    #[error("this is voice {0:016x}")]
    OtherVoice(u64),
    /// Parts of a snapshot have to come in order, and not to be too large.
    #[error("this part of a snapshot does not fit what came before")]
    UnfitPart,
    /// The voice has stopped, or its disk fails.
    #[error("this voice has stopped: {0}")]
    Stopped(String),
    /// It is busy.
    #[error("this voice had no answer within {0:?}")]
    Late(Duration),
}

impl RaftResponse {
    /// Why it was refused, if it was.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.0 {
            Answer::Refused(refusal) => Some(refusal),
            Answer::Appended(_)
            | Answer::PreVoted(_)
            | Answer::Voted(_)
            | Answer::Taken
            | Answer::Installed(_)
            | Answer::Transferred(_) => None,
        }
    }
}

impl fmt::Debug for RaftRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ask: &dyn fmt::Display = match &self.ask {
            Ask::Append(append) => append,
            Ask::PreVote(vote) | Ask::Vote(vote) => vote,
            Ask::Snapshot(part) => part,
            Ask::Transfer(transfer) => transfer,
        };
        write!(
            f,
            "RaftRequest({} to {:016x}: {ask})",
            self.cluster, self.to
        )
    }
}
