//! Taking back what was sent: an ask that nobody waits for, the messages of a shard that has another owner.
//!
//! What has not been written comes back whole; of what has been, the other node says what became of it.

use ostrakon_core::{GroupName, ShardId};
use tokio::sync::oneshot;

use super::{
    Hub, Link, Parcel, Phase, State,
    frame::{self, Addressee, RequestId},
    outbox::{LaneKey, Spot},
    requests::Request,
};
use crate::reply::AskId;

/// What became of an attempt to take an ask back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withdrawn {
    /// It has not left this node, and will not.
    Unsent,
    /// It may have been handled.
    Sent,
}

/// What a lane learns from its fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fenced {
    /// All messages before it were accepted or have come back.
    Judged,
    /// Nobody will tell: those that were sent are lost, the others wait to be recalled.
    NotConnected,
}

impl State {
    /// Takes a frame back that has not gone out, and what else is owed for it, which must be dropped where no lock is held: whoever has passed a
    /// reply on is told then. `None`: it may have gone out.
    pub(super) fn withdraw(&mut self, spot: Spot) -> Option<Vec<Request>> {
        let owed = self.outbox.requests_at(spot);
        if !self.outbox.withdraw(spot) {
            return None;
        }
        let owed = owed.into_iter();
        Some(owed.filter_map(|id| self.requests.remove(id)).collect())
    }
}

impl Link {
    /// Takes an ask back; what has been sent is cancelled. `None`: this link does not have it.
    pub(crate) fn withdraw(&self, request: RequestId, ask: AskId) -> Option<Withdrawn> {
        let mut state = self.state.lock();
        let found = state.requests.get_mut(request);
        let id = if found.is_some_and(|found| found.is(ask)) {
            request
        } else {
            state.requests.find(ask)?
        };
        let request = state.requests.remove(id)?;
        let unsent = state.withdraw(request.spot);
        drop(state);
        if unsent.is_some() {
            return Some(Withdrawn::Unsent);
        }
        self.sign(|out| frame::put_cancel(out, id));
        Some(Withdrawn::Sent)
    }

    /// Waits until every message of a lane that was sent before has been judged, or the connection is gone.
    pub(crate) async fn fence(&self, group: &GroupName, shard: ShardId) -> Fenced {
        let (judged, wait) = oneshot::channel();
        {
            let mut state = self.state.lock();
            if !matches!(state.phase, Phase::Up(_)) {
                return Fenced::NotConnected;
            }
            let token = state.token();
            state.fences.insert(token, judged);
            let lane = LaneKey::of(group, shard);
            state.outbox.push(lane, token, |out| {
                frame::put_fence(out, token, group.as_str(), shard);
            });
            self.wake(state);
        }
        match wait.await {
            Ok(()) => Fenced::Judged,
            Err(_) => Fenced::NotConnected,
        }
    }

    /// Takes back every message of a lane that has not been sent, in order. Only without a connection is that all there is.
    pub(crate) fn recall(
        &self,
        hub: &Hub,
        group: &GroupName,
        shard: ShardId,
    ) -> Option<Vec<Parcel>> {
        // Declared first, so dropped after the lock is released.
        let (mut parcels, mut void) = (Vec::new(), Vec::new());
        let mut state = self.state.lock();
        let state = &mut *state;
        if matches!(state.phase, Phase::Up(_)) {
            return None;
        }
        let is_mine = |message: &frame::Message<'_>| match message.to {
            Addressee::Entity { shard: its, .. } => {
                its == shard && hub.group_of(message.kind) == Some(group)
            }
            Addressee::Actor => false,
        };
        let requests = &mut state.requests;
        state.outbox.recall(is_mine, |message| {
            match Parcel::taken_back(hub, message, |id| requests.remove(id)) {
                Ok(parcel) => parcels.push(parcel),
                Err(unwanted) => void.push(unwanted),
            }
        });
        Some(parcels)
    }

    /// A message of ours comes back.
    pub(super) fn take_returned(&self, hub: &Hub, message: &frame::Message<'_>) -> Option<Parcel> {
        let mut state = self.state.lock();
        let taken_back = Parcel::taken_back(hub, message, |id| state.requests.remove(id));
        drop(state);
        taken_back.ok()
    }
}
