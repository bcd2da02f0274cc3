//! `Network`: brings the requests of the consensus to other peers, over the connections that gossip uses.

use std::time::Duration;

use ostrakon_manager::Desk;
use ostrakon_peers::Wires;
use ostrakon_raft::{CallError, Calls, RaftLog, RaftRequest, RaftResponse, Voice};
use ostrakon_storage::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::{
    parting,
    passed_on::{Answer, Asked},
};

pub(crate) struct Network(pub(crate) Wires);

/// What one peer asks another.
#[derive(Serialize, Deserialize)]
pub(crate) enum Call {
    /// In the name of the consensus; answered by a [`RaftResponse`].
    Raft(RaftRequest),
    /// In the name of an operator; answered by an [`Answer`].
    Operator(Asked),
    /// What the nodes are doing; answered by a list of [`NodeVitals`](ostrakon_manager::NodeVitals).
    Vitals,
    /// Whether this voice has lost its vote, which is waited for a moment; answered by a `bool`.
    HasNoVote(u64),
}

impl Calls for Network {
    fn call<'a>(
        &'a self,
        to: &'a Voice,
        request: RaftRequest,
        within: Duration,
    ) -> BoxFuture<'a, Result<RaftResponse, CallError>> {
        Box::pin(async move {
            let unreachable = |reason: String| CallError::Unreachable(reason);
            let request = rmp_serde::to_vec_named(&Call::Raft(request));
            let request = request.map_err(|error| unreachable(error.to_string()))?;
            let answer = self.0.call(&to.address, request, within).await;
            let answer = answer.map_err(|error| {
                if let ostrakon_peers::CallError::Late(within) = error {
                    return CallError::Late(within);
                }
                unreachable(error.to_string())
            })?;
            rmp_serde::from_slice(&answer).map_err(|error| unreachable(error.to_string()))
        })
    }
}

/// Answers another peer. What cannot be read is not answered: there is nobody to tell.
pub(crate) async fn answer(log: &RaftLog, desk: &Desk, request: &[u8]) -> Vec<u8> {
    let answer = match rmp_serde::from_slice(request) {
        Ok(Call::Raft(request)) => rmp_serde::to_vec_named(&log.answer(request).await),
        Ok(Call::Operator(asked)) => {
            let answer: Answer = asked.ask(desk).await.map_err(Into::into);
            rmp_serde::to_vec_named(&answer)
        }
        Ok(Call::Vitals) => rmp_serde::to_vec_named(&desk.vitals()),
        Ok(Call::HasNoVote(voice)) => {
            rmp_serde::to_vec_named(&parting::has_no_vote(log, voice).await)
        }
        Err(error) => {
            tracing::warn!(%error, "a call of another peer cannot be read");
            return Vec::new();
        }
    };
    answer.unwrap_or_default()
}
