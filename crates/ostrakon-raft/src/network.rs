//! `Network`: turns what the consensus wants to say into [`Calls`].
//!
//! Each call has the time that the consensus gives it, and ends by then even if whoever carries it does not keep to that. Entries have more:
//! on a machine that is busy, answers that are always a little late would otherwise never count, and the same entries would be sent for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openraft::errors::{NetworkError, RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest,
    TransferLeaderResponse, VoteRequest, VoteResponse,
};
use openraft::{OptionalSend, RaftNetworkFactory, RaftNetworkV2};

use crate::calls::{Answer, Ask};
use crate::part::{Bytes, Part};
use crate::type_config::{Snapshot, SnapshotData, TypeConfig, Vote};
use crate::{CallError, Calls, MOST_PART, MOST_SNAPSHOT, RaftRequest, Voice};

/// Knows how to call everybody.
pub(crate) struct Network {
    pub(crate) cluster: Arc<str>,
    pub(crate) calls: Arc<dyn Calls>,
    pub(crate) book: AddressBook,
    /// How long entries may take.
    pub(crate) patience: Duration,
}

/// Where everybody was said to be last: a voice may move while there is a line to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressBook(Arc<Mutex<BTreeMap<u64, Voice>>>);

impl AddressBook {
    pub(crate) fn replace(&self, voices: BTreeMap<u64, Voice>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = voices;
    }

    fn find(&self, id: u64) -> Option<Voice> {
        let voices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        voices.get(&id).cloned()
    }
}

/// Knows how to call one voice.
pub(crate) struct Line {
    cluster: Arc<str>,
    calls: Arc<dyn Calls>,
    book: AddressBook,
    patience: Duration,
    to: Voice,
}

type Failed = RPCError<TypeConfig>;

impl RaftNetworkFactory<TypeConfig> for Network {
    type Network = Line;

    async fn new_client(&mut self, _: u64, node: &Voice) -> Line {
        Line {
            cluster: Arc::clone(&self.cluster),
            calls: Arc::clone(&self.calls),
            book: self.book.clone(),
            patience: self.patience,
            to: node.clone(),
        }
    }
}

impl Line {
    async fn ask(&self, ask: Ask, within: Duration) -> Result<Answer, Failed> {
        let request = RaftRequest {
            cluster: self.cluster.to_string(),
            to: self.to.id,
            ask,
        };
        let to = self.book.find(self.to.id);
        let called = self
            .calls
            .call(to.as_ref().unwrap_or(&self.to), request, within);
        let late = Err(CallError::Late(within));
        match tokio::time::timeout(within, called).await.unwrap_or(late) {
            Ok(response) => match response.refusal() {
                // Not worth trying again at once.
                Some(refusal) => Err(Unreachable::new(refusal).into()),
                None => Ok(response.0),
            },
            Err(error @ CallError::Unreachable(_)) => Err(Unreachable::new(&error).into()),
            Err(error @ CallError::Late(_)) => Err(NetworkError::new(&error).into()),
        }
    }

    async fn send(
        &self,
        part: Part,
        within: Duration,
    ) -> Result<Option<SnapshotResponse<TypeConfig>>, Failed> {
        match self.ask(Ask::Snapshot(part), within).await? {
            Answer::Taken => Ok(None),
            Answer::Installed(installed) => Ok(Some(installed)),
            Answer::Appended(_)
            | Answer::PreVoted(_)
            | Answer::Voted(_)
            | Answer::Transferred(_)
            | Answer::Refused(_) => Err(odd()),
        }
    }

    async fn send_all(
        &self,
        vote: Vote,
        snapshot: Snapshot,
        within: Duration,
    ) -> Result<SnapshotResponse<TypeConfig>, Failed> {
        let total = snapshot.snapshot.len();
        if total > MOST_SNAPSHOT {
            let text =
                format!("a snapshot of {total} bytes is too large: {MOST_SNAPSHOT} are the most");
            return Err(Unreachable::from_string(text).into());
        }
        let pieces = snapshot.snapshot.chunks(MOST_PART);
        for (number, piece) in pieces.enumerate() {
            let part = Part {
                vote,
                meta: snapshot.meta.clone(),
                total,
                offset: number * MOST_PART,
                bytes: Bytes(piece.to_owned()),
            };
            if let Some(installed) = self.send(part, within).await? {
                return Ok(installed);
            }
        }
        Err(NetworkError::from_string("a snapshot was sent, and more was wanted").into())
    }
}

/// An answer to another question.
fn odd() -> Failed {
    Unreachable::from_string("this is an answer to another question").into()
}

impl RaftNetworkV2<TypeConfig> for Line {
    type SnapshotData = SnapshotData;

    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<TypeConfig>, Failed> {
        let within = option.soft_ttl().max(self.patience);
        let answer = self.ask(Ask::Append(rpc), within).await?;
        let Answer::Appended(appended) = answer else {
            return Err(odd());
        };
        Ok(appended)
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, Failed> {
        let answer = self.ask(Ask::Vote(rpc), option.soft_ttl()).await?;
        let Answer::Voted(voted) = answer else {
            return Err(odd());
        };
        Ok(voted)
    }

    async fn pre_vote(
        &mut self,
        rpc: VoteRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, Failed> {
        let answer = self.ask(Ask::PreVote(rpc), option.soft_ttl()).await?;
        let Answer::PreVoted(voted) = answer else {
            return Err(odd());
        };
        Ok(voted)
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<TypeConfig>, StreamingError<TypeConfig>> {
        tokio::select! {
            closed = cancel => Err(closed.into()),
            sent = self.send_all(vote, snapshot, option.soft_ttl()) => Ok(sent?),
        }
    }

    async fn transfer_leader(
        &mut self,
        rpc: TransferLeaderRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<TypeConfig>, Failed> {
        let answer = self.ask(Ask::Transfer(rpc), option.soft_ttl()).await?;
        let Answer::Transferred(transferred) = answer else {
            return Err(odd());
        };
        Ok(transferred)
    }
}
