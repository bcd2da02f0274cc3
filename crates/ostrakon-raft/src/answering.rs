//! The side that is called: checks that a request is for us, and hands it to the consensus.

use std::sync::Arc;
use std::time::Duration;

use openraft::errors::RaftError;
use tokio::sync::Mutex;

use crate::calls::{Answer, Ask};
use crate::part::{Arriving, Fit, Part};
use crate::type_config::{Raft, Snapshot, TypeConfig};
use crate::{RaftRequest, RaftResponse, Refusal};

/// Answers for one voice.
pub(crate) struct Answering {
    pub(crate) cluster: Arc<str>,
    pub(crate) me: u64,
    pub(crate) raft: Raft,
    pub(crate) arriving: Mutex<Arriving>,
    pub(crate) deadline: Duration,
}

impl Answering {
    pub(crate) async fn answer(&self, request: RaftRequest) -> RaftResponse {
        if request.cluster != *self.cluster {
            return refuse(Refusal::OtherCluster(self.cluster.to_string()));
        }
        if request.to != self.me {
            return refuse(Refusal::OtherVoice(self.me));
        }
        let answer = self.ask(request.ask);
        match tokio::time::timeout(self.deadline, answer).await {
            Ok(Ok(answer)) => RaftResponse(answer),
            Ok(Err(error)) => refuse(Refusal::Stopped(error.to_string())),
            Err(_) => refuse(Refusal::Late(self.deadline)),
        }
    }

    async fn ask(&self, ask: Ask) -> Result<Answer, RaftError<TypeConfig>> {
        Ok(match ask {
            Ask::Append(append) => Answer::Appended(self.raft.append_entries(append).await?),
            Ask::PreVote(vote) => Answer::PreVoted(self.raft.pre_vote(vote).await?),
            Ask::Vote(vote) => Answer::Voted(self.raft.vote(vote).await?),
            Ask::Snapshot(part) => self.take(part).await?,
            Ask::Transfer(transfer) => {
                Answer::Transferred(self.raft.handle_transfer_leader(transfer).await?)
            }
        })
    }

    async fn take(&self, part: Part) -> Result<Answer, RaftError<TypeConfig>> {
        let fit = self.arriving.lock().await.take(&part);
        Ok(match fit {
            Fit::More => Answer::Taken,
            Fit::Unfit => Answer::Refused(Refusal::UnfitPart),
            Fit::Complete(data) => {
                let (meta, snapshot) = (part.meta, Arc::new(data));
                let snapshot = Snapshot { meta, snapshot };
                let installed = self.raft.install_full_snapshot(part.vote, snapshot);
                Answer::Installed(installed.await?)
            }
        })
    }
}

fn refuse(refusal: Refusal) -> RaftResponse {
    RaftResponse(Answer::Refused(refusal))
}
