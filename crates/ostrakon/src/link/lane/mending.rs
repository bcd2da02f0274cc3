//! How a lane is brought back into order: hear what became of all that was sent, find the owner, send what waits to it.

use std::{sync::Arc, time::Duration};

use ostrakon_core::Time;

use super::{LONGEST_PAUSE, Lane, State, leftovers::Leftovers};
use crate::{
    AskError, Cause, TellError,
    lease::for_entity,
    link::{Fenced, Hub, Outgoing, Parcel, parcel::Origin, remaining},
};

/// How often messages that wait are looked at for their deadline.
const TICK: Duration = Duration::from_millis(20);

impl Lane {
    /// Brings a lane back into order.
    pub(super) async fn mend(self: Arc<Self>) {
        loop {
            let Some(hub) = self.hub() else {
                return self.abandon();
            };
            let mut changed = hub.changed.subscribe();
            self.expiring(&hub, self.settle(&hub)).await;
            let pause = self.rest(&hub);
            if pause.is_none() && self.flush(&hub) {
                return;
            }
            let pause = pause.unwrap_or(LONGEST_PAUSE / 5);
            let pausing = tokio::time::timeout(pause, changed.changed());
            let _ = self.expiring(&hub, pausing).await;
            self.state.lock().detour().refused = None;
        }
    }

    /// Does something while messages wait here, and ends those whose time is over meanwhile.
    async fn expiring<T>(&self, hub: &Arc<Hub>, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = tokio::time::sleep(TICK) => self.expire(hub),
            }
        }
    }

    /// The node is gone: nothing that waits here will be sent.
    fn abandon(&self) {
        let mut state = self.state.lock();
        let detour = state.detour();
        let mut waiting = std::mem::take(&mut detour.returned);
        waiting.append(&mut detour.held);
        drop(state);
        for parcel in waiting {
            if let Some(asker) = &parcel.asker {
                let error = AskError::NotSent(parcel.no_owner());
                // Whoever waits is woken. If that panics, the others are told all the same.
                let _ = Cause::catch(|| asker.fail(error));
            }
        }
    }

    fn expire(&self, hub: &Arc<Hub>) {
        let now = hub.clock.now();
        let mut over = Vec::new();
        let mut state = self.state.lock();
        let detour = state.detour();
        for queue in [&mut detour.returned, &mut detour.held] {
            for parcel in std::mem::take(queue) {
                if parcel.is_over(now) {
                    over.push(parcel);
                } else {
                    queue.push_back(parcel);
                }
            }
        }
        detour.held_bytes = detour.held.iter().map(Parcel::size).sum();
        drop(state);
        for parcel in over {
            let error = parcel.no_owner();
            parcel.fail(hub, error);
        }
    }

    /// Hears what became of all that was sent on the old route.
    async fn settle(&self, hub: &Arc<Hub>) {
        let link = {
            let state = self.state.lock();
            let route = state.route.as_ref().filter(|_| state.used);
            route.and_then(|route| route.link.clone())
        };
        let Some(link) = link else {
            return;
        };
        // However long it takes: a connection that does not answer is ended by its heartbeats.
        let unsent = loop {
            if link.fence(&self.group.name, self.shard).await == Fenced::Judged {
                break Vec::new();
            }
            // Those that were sent are lost, and their askers have been told; the rest never left, unless there is a
            // connection again.
            if let Some(unsent) = link.recall(hub, &self.group.name, self.shard) {
                break unsent;
            }
        };
        unsent.iter().for_each(Parcel::came_back);
        let mut state = self.state.lock();
        let detour = state.detour();
        detour.returned.extend(unsent);
        detour.note_former(&link);
        state.used = false;
    }

    /// How long to leave an owner alone that has just refused, while no other is known.
    fn rest(&self, hub: &Arc<Hub>) -> Option<Duration> {
        let mut state = self.state.lock();
        let map = hub.map.load();
        let best = self.best(&map, &state).cloned();
        let detour = state.detour();
        if best.is_none() || best != detour.refused {
            return None;
        }
        let pause = detour.pause;
        detour.pause = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }

    /// Sends all that waits to the present owner, in order. `false`: there is none, or it cannot take it all.
    fn flush(self: &Arc<Self>, hub: &Arc<Hub>) -> bool {
        let mut leftovers = Leftovers::default();
        let is_done = self.flush_into(hub, &mut leftovers);
        leftovers.settle(hub);
        is_done
    }

    fn flush_into(self: &Arc<Self>, hub: &Arc<Hub>, leftovers: &mut Leftovers) -> bool {
        let mut state = self.state.lock();
        let map = hub.map.load();
        let best = self.best(&map, &state).cloned();
        state.version = Some(map.version());
        match best {
            Some(best) => self.take_route(hub, &mut state, best),
            None => self.lose_route(&mut state),
        }
        let detour = state.detour();
        let mut waiting = std::mem::take(&mut detour.returned);
        waiting.append(&mut detour.held);
        let now = hub.clock.now();
        while let Some(parcel) = waiting.pop_front() {
            if parcel.is_over(now) || parcel.is_lost(&hub.lease) {
                let error = parcel.no_owner();
                leftovers.fail(parcel, error);
                continue;
            }
            let asker = parcel.asker.clone();
            // Decoding a message may panic, and so may dropping it; that must not keep those behind it waiting for ever.
            let forward = || self.forward(hub, &mut state, parcel, now, leftovers);
            let forwarded = Cause::catch(forward);
            match forwarded {
                Ok(None) => {}
                Ok(Some(parcel)) => {
                    waiting.push_front(parcel);
                    break;
                }
                Err(cause) => {
                    tracing::warn!(shard = %self.shard, %cause, "a message that waited for its shard is lost");
                    leftovers.interrupt(asker);
                }
            }
        }
        if !waiting.is_empty() && state.route.is_none() {
            hub.wanted(&self.group.name, self.shard);
        }
        state.mending = !waiting.is_empty();
        let detour = state.detour();
        detour.held_bytes = waiting.iter().map(Parcel::size).sum();
        detour.held = waiting;
        !state.mending
    }

    /// Sends one message on the present route. It comes back if it cannot be taken yet.
    fn forward(
        &self,
        hub: &Arc<Hub>,
        state: &mut State,
        parcel: Parcel,
        now: Time,
        leftovers: &mut Leftovers,
    ) -> Option<Parcel> {
        let Some(route) = state.route.clone() else {
            return Some(parcel);
        };
        let Some(link) = &route.link else {
            return hub.deliver_here(parcel, route.assignment.epoch, leftovers);
        };
        let mut parcel = parcel;
        let message = Outgoing {
            kind: parcel.kind,
            id: &parcel.id,
            to: self.addressee(&route.assignment),
            lane: self.key(),
            asker: parcel.asker.as_ref(),
            deadline: parcel.asker.as_ref().map(|_| parcel.deadline),
            remaining: remaining(now, parcel.deadline),
            options: &parcel.options,
            payload: &parcel.payload,
        };
        let mut send = || link.send(&message, &mut parcel.ports);
        let sent = match parcel.origin {
            // After the end of the lease it waits in the outbox, as it would if it had not waited here.
            Origin::Entity { .. } => for_entity(send),
            Origin::Free => send(),
        };
        match sent {
            Ok(_) => {
                state.used = true;
                None
            }
            Err(TellError::Congested { .. }) => Some(parcel),
            Err(error) => {
                leftovers.fail(parcel, error);
                None
            }
        }
    }
}
