//! `Network`: brings the requests of the consensus to other peers, over the connections that gossip uses.

use std::time::Duration;

use ostrakon_peers::Wires;
use ostrakon_raft::{CallError, Calls, RaftLog, RaftRequest, RaftResponse, Voice};
use ostrakon_storage::BoxFuture;

pub(crate) struct Network(pub(crate) Wires);

impl Calls for Network {
    fn call<'a>(
        &'a self,
        to: &'a Voice,
        request: RaftRequest,
        within: Duration,
    ) -> BoxFuture<'a, Result<RaftResponse, CallError>> {
        Box::pin(async move {
            let unreachable = |reason: String| CallError::Unreachable(reason);
            let request = rmp_serde::to_vec_named(&request);
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
pub(crate) async fn answer(log: &RaftLog, request: &[u8]) -> Vec<u8> {
    let request: RaftRequest = match rmp_serde::from_slice(request) {
        Ok(request) => request,
        Err(error) => {
            tracing::warn!(%error, "a call of another peer cannot be read");
            return Vec::new();
        }
    };
    rmp_serde::to_vec_named(&log.answer(request).await).unwrap_or_default()
}
