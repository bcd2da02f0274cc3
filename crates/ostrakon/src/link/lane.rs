//! `Lane`: the way from this node to one shard, which keeps the order of what is sent on it.
//!
//! ```text
//!            a message comes back, or the map names another owner
//!   flowing ────────────────────────────────────────────────────▶ mending
//!      ▲                                                             │ the old owner has judged all it was sent,
//!      └─────────────────────────────────────────────────────────────┘ and what waited has gone to the new one
//! ```
//!
//! While a lane is mended, new messages wait behind those that came back, in a bounded queue. Invariant: of any two messages
//! on a lane the later is never handled while the earlier can still be.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use ostrakon_core::{
    Assignment, EntityId, GroupName, ShardId, ShardMap, Time, Version, stable_hash,
};

use super::{
    Fenced, Hub, Link, Outgoing, Parcel, Withdrawn,
    frame::{Addressee, RequestId},
    outbox::LaneKey,
    parcel::Origin,
    remaining,
    requests::AskerId,
};
use crate::{TellError, lease::for_entity, lock::Mutex, reply::Settle, wire::Ports};

/// The lanes of a group, by shard.
pub(crate) type Lanes = Arc<[Arc<Lane>]>;

/// How much may wait while a lane is mended.
const MOST_HELD: usize = 1024;
const MOST_HELD_BYTES: usize = 1024 * 1024;
/// How long to wait before an owner is asked again that did not want to be one.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// How often messages that wait are looked at for their deadline.
const TICK: Duration = Duration::from_millis(20);
/// After so long without trouble the pauses begin anew.
const CALM: Duration = Duration::from_millis(500);

pub(crate) struct Lane {
    hub: Weak<Hub>,
    /// The version of the newest map.
    newest: Arc<AtomicU64>,
    group: GroupName,
    pub(crate) shard: ShardId,
    key: LaneKey,
    /// The shard is ours and nothing waits: messages need not come this way at all.
    here: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// The map that `route` was taken from.
    version: Option<Version>,
    route: Option<Route>,
    /// A better owner than the map's, as somebody has said.
    hint: Option<Hint>,
    /// Something was sent on the route that may yet come back.
    used: bool,
    mending: bool,
    returned: VecDeque<Parcel>,
    held: VecDeque<Parcel>,
    held_bytes: usize,
    /// The owner that sent something back, and how long to leave it alone.
    refused: Option<Assignment>,
    pause: Duration,
    /// When something last came back.
    trouble: Time,
}

/// What somebody has said about the owner.
struct Hint {
    assignment: Assignment,
    /// The newest map at that time.
    version: Version,
}

#[derive(Clone)]
struct Route {
    assignment: Assignment,
    /// `None`: this node.
    link: Option<Arc<Link>>,
}

/// A message that is to be sent on a lane.
pub(crate) struct Draft<'a> {
    pub(crate) kind: &'static str,
    pub(crate) id: &'a EntityId,
    /// `None` for a tell.
    pub(crate) asking: Option<Asking<'a>>,
    pub(crate) options: &'a [u8],
    pub(crate) ports: Ports,
    pub(crate) payload: &'a [u8],
}

/// Who waits for a message, and until when.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) settle: &'a Arc<dyn Settle>,
    pub(crate) now: Time,
    pub(crate) deadline: Time,
}

impl Asking<'_> {
    /// How many milliseconds are left.
    pub(crate) fn remaining(self) -> u64 {
        remaining(self.now, self.deadline)
    }
}

/// Where a lane leads at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leads {
    Here,
    Away,
}

/// A hold on an ask that has gone to another node.
pub(crate) struct Ticket<'a> {
    pub(crate) way: Way<'a>,
    pub(crate) request: RequestId,
}

pub(crate) enum Way<'a> {
    Lane(&'a Arc<Lane>),
    Link(&'a Arc<Link>),
}

impl Ticket<'_> {
    /// Takes the ask back.
    pub(crate) fn withdraw(&self, settle: AskerId) -> Withdrawn {
        match self.way {
            Way::Lane(lane) => lane.withdraw(self.request, settle),
            Way::Link(link) => link.withdraw(self.request, settle),
        }
    }
}

impl LaneKey {
    pub(crate) fn of(group: &GroupName, shard: ShardId) -> Self {
        Self::Shard(stable_hash(group.as_str()) ^ u64::from(shard.get()))
    }
}

impl Lane {
    pub(crate) fn new(
        hub: Weak<Hub>,
        newest: &Arc<AtomicU64>,
        group: GroupName,
        shard: ShardId,
    ) -> Self {
        Self {
            hub,
            newest: Arc::clone(newest),
            key: LaneKey::of(&group, shard),
            group,
            shard,
            here: AtomicBool::new(false),
            state: Mutex::new(State {
                version: None,
                route: None,
                hint: None,
                used: false,
                mending: false,
                returned: VecDeque::new(),
                held: VecDeque::new(),
                held_bytes: 0,
                refused: None,
                pause: FIRST_PAUSE,
                trouble: Time::ZERO,
            }),
        }
    }

    /// Whether messages for this shard may be delivered in this process at once.
    pub(crate) fn is_here(&self) -> bool {
        self.here.load(Ordering::Acquire)
    }

    /// Where messages go now.
    pub(crate) fn leads(self: &Arc<Self>) -> Leads {
        let mut state = self.state.lock();
        let newest = Version::new(self.newest.load(Ordering::Acquire));
        if state.version != Some(newest) {
            let Some(hub) = self.hub.upgrade() else {
                return Leads::Here;
            };
            self.look_up(&hub, &mut state);
        }
        match &state.route {
            Some(route) if route.link.is_none() && !state.mending => {
                self.here.store(true, Ordering::Release);
                Leads::Here
            }
            _ => Leads::Away,
        }
    }

    /// Sends a message to the owner, or lets it wait until there is one.
    pub(crate) fn send(self: &Arc<Self>, mut draft: Draft<'_>) -> Result<RequestId, TellError> {
        let mut state = self.state.lock();
        let newest = Version::new(self.newest.load(Ordering::Acquire));
        if state.mending || state.version != Some(newest) {
            let Some(hub) = self.hub.upgrade() else {
                return Err(self.stopped(&draft));
            };
            self.look_up(&hub, &mut state);
        }
        if !state.mending
            && let Some(Route {
                assignment,
                link: Some(link),
            }) = &state.route
        {
            let message = Outgoing {
                kind: draft.kind,
                id: draft.id,
                to: self.addressee(assignment),
                lane: self.key,
                asker: draft.asking.map(|asking| asking.settle),
                deadline: draft.asking.map(|asking| asking.deadline),
                remaining: draft.asking.map_or(0, Asking::remaining),
                options: draft.options,
                payload: draft.payload,
            };
            let request = link.send(&message, &mut draft.ports)?;
            state.used = true;
            return Ok(request);
        }
        let Some(hub) = self.hub.upgrade() else {
            return Err(self.stopped(&draft));
        };
        self.hold(&hub, &mut state, draft)?;
        Ok(0)
    }

    fn addressee(&self, assignment: &Assignment) -> Addressee {
        Addressee::Entity {
            shard: self.shard,
            epoch: assignment.epoch,
        }
    }

    fn stopped(&self, draft: &Draft<'_>) -> TellError {
        TellError::Stopped {
            kind: draft.kind,
            id: draft.id.clone(),
        }
    }

    fn hold(
        self: &Arc<Self>,
        hub: &Arc<Hub>,
        state: &mut State,
        draft: Draft<'_>,
    ) -> Result<(), TellError> {
        let parcel = Parcel {
            kind: draft.kind,
            id: draft.id.clone(),
            shard: self.shard,
            asker: draft.asking.map(|asking| Arc::clone(asking.settle)),
            deadline: draft
                .asking
                .map_or_else(|| hub.deadline(0), |asking| asking.deadline),
            origin: Origin::here(&hub.lease),
            options: draft.options.to_vec(),
            ports: draft.ports,
            payload: draft.payload.to_vec(),
        };
        let size = parcel.size();
        if state.held.len() >= MOST_HELD
            || (state.held_bytes + size > MOST_HELD_BYTES && !state.held.is_empty())
        {
            return Err(TellError::Overloaded {
                kind: parcel.kind,
                id: parcel.id,
                capacity: MOST_HELD,
            });
        }
        state.held_bytes += size;
        state.held.push_back(parcel);
        self.begin_mending(hub, state);
        Ok(())
    }

    fn begin_mending(self: &Arc<Self>, hub: &Arc<Hub>, state: &mut State) {
        self.here.store(false, Ordering::Release);
        if !std::mem::replace(&mut state.mending, true) {
            hub.runtime.spawn(Arc::clone(self).mend());
        }
    }

    /// Sees whether the map or somebody's word names another owner.
    fn look_up(self: &Arc<Self>, hub: &Arc<Hub>, state: &mut State) {
        let map = hub.map.load();
        if state.version == Some(map.version()) || state.mending {
            return;
        }
        state.version = Some(map.version());
        let best = self.best(&map, state);
        let Some(best) = best else {
            if state.used {
                self.begin_mending(hub, state);
            } else {
                self.lose_route(state);
            }
            return;
        };
        let same_owner = state
            .route
            .as_ref()
            .is_some_and(|route| route.assignment.owner == best.owner);
        if state.used && !same_owner {
            self.begin_mending(hub, state);
        } else {
            self.take_route(hub, state, best.clone());
        }
    }

    /// The map names another owner, or none.
    pub(crate) fn owner_changed(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.used
            && let Some(hub) = self.hub.upgrade()
        {
            self.look_up(&hub, &mut state);
        }
    }

    /// Of two words about who owns the shard, the later. A newer map that names nobody has the last word: whoever was named may be gone.
    fn best<'a>(&self, map: &'a ShardMap, state: &'a State) -> Option<&'a Assignment> {
        let hint = state.hint.as_ref();
        match map.owner(&self.group, self.shard) {
            Some(owner) => {
                let hint = hint.map(|hint| &hint.assignment);
                let later = hint.filter(|hint| hint.epoch > owner.epoch);
                Some(later.unwrap_or(owner))
            }
            None => {
                let newest = hint.filter(|hint| hint.version == map.version());
                newest.map(|hint| &hint.assignment)
            }
        }
    }

    fn take_route(&self, hub: &Arc<Hub>, state: &mut State, assignment: Assignment) {
        if state
            .route
            .as_ref()
            .is_some_and(|route| route.assignment == assignment)
        {
            return;
        }
        let link = (assignment.owner != hub.me.name).then(|| hub.link(&assignment.owner));
        self.here.store(false, Ordering::Release);
        state.pause = FIRST_PAUSE;
        state.route = Some(Route { assignment, link });
    }

    /// Nobody owns the shard: the last owner would only send everything back.
    fn lose_route(&self, state: &mut State) {
        self.here.store(false, Ordering::Release);
        state.route = None;
    }

    /// A message of this lane comes back: `owner` is who should have it instead, if that is known.
    pub(crate) fn returned(self: &Arc<Self>, parcel: Parcel, owner: Option<Assignment>) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        let mut state = self.state.lock();
        let newer = |known: &Option<Hint>, new: &Assignment| {
            let known = known.as_ref();
            known.is_none_or(|known| known.assignment.epoch < new.epoch)
        };
        if let Some(assignment) = owner.filter(|owner| newer(&state.hint, owner)) {
            let version = hub.map.load().version();
            state.hint = Some(Hint {
                assignment,
                version,
            });
        }
        state.refused = state.route.as_ref().map(|route| route.assignment.clone());
        let now = hub.clock.now();
        if now.saturating_since(state.trouble) > CALM {
            state.pause = FIRST_PAUSE;
        }
        state.trouble = now;
        state.returned.push_back(parcel);
        self.begin_mending(&hub, &mut state);
    }

    /// Takes an ask back that waits here, or has gone on from here.
    fn withdraw(&self, request: RequestId, settle: AskerId) -> Withdrawn {
        let mut state = self.state.lock();
        if take_out(&mut state.returned, settle).is_some() {
            return Withdrawn::Unsent;
        }
        if let Some(parcel) = take_out(&mut state.held, settle) {
            state.held_bytes -= parcel.size();
            return Withdrawn::Unsent;
        }
        let link = state.route.as_ref().and_then(|route| route.link.clone());
        drop(state);
        link.map_or(Withdrawn::Sent, |link| link.withdraw(request, settle))
    }

    /// Brings a lane back into order.
    async fn mend(self: Arc<Self>) {
        loop {
            let Some(hub) = self.hub.upgrade() else {
                return;
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
            self.state.lock().refused = None;
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

    fn expire(&self, hub: &Arc<Hub>) {
        let now = hub.clock.now();
        let mut over = Vec::new();
        let mut state = self.state.lock();
        let State { returned, held, .. } = &mut *state;
        for queue in [returned, held] {
            for parcel in std::mem::take(queue) {
                if parcel.is_over(now) {
                    over.push(parcel);
                } else {
                    queue.push_back(parcel);
                }
            }
        }
        state.held_bytes = state.held.iter().map(Parcel::size).sum();
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
            if link.fence(&self.group, self.shard).await == Fenced::Judged {
                break Vec::new();
            }
            // Those that were sent are lost, and their askers have been told; the rest never left, unless there is a
            // connection again.
            if let Some(unsent) = link.recall(hub, &self.group, self.shard) {
                break unsent;
            }
        };
        let mut state = self.state.lock();
        state.returned.extend(unsent);
        state.used = false;
    }

    /// How long to leave an owner alone that has just refused, while no other is known.
    fn rest(&self, hub: &Arc<Hub>) -> Option<Duration> {
        let mut state = self.state.lock();
        let map = hub.map.load();
        let best = self.best(&map, &state);
        if best.is_none() || best != state.refused.as_ref() {
            return None;
        }
        let pause = state.pause;
        state.pause = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }

    /// Sends all that waits to the present owner, in order. `false`: there is none, or it cannot take it all.
    fn flush(self: &Arc<Self>, hub: &Arc<Hub>) -> bool {
        let mut state = self.state.lock();
        let map = hub.map.load();
        let best = self.best(&map, &state).cloned();
        state.version = Some(map.version());
        match best {
            Some(best) => self.take_route(hub, &mut state, best),
            None => self.lose_route(&mut state),
        }
        let mut waiting = std::mem::take(&mut state.returned);
        waiting.append(&mut state.held);
        let now = hub.clock.now();
        while let Some(parcel) = waiting.pop_front() {
            if parcel.is_over(now) || parcel.is_lost(&hub.lease) {
                let error = parcel.no_owner();
                parcel.fail(hub, error);
            } else if let Some(parcel) = self.forward(hub, &mut state, parcel, now) {
                waiting.push_front(parcel);
                break;
            }
        }
        if !waiting.is_empty() && state.route.is_none() {
            hub.wanted(&self.group, self.shard);
        }
        state.held_bytes = waiting.iter().map(Parcel::size).sum();
        state.mending = !waiting.is_empty();
        state.held = waiting;
        !state.mending
    }

    /// Sends one message on the present route. It comes back if it cannot be taken yet.
    fn forward(
        &self,
        hub: &Arc<Hub>,
        state: &mut State,
        parcel: Parcel,
        now: Time,
    ) -> Option<Parcel> {
        let Some(route) = state.route.clone() else {
            return Some(parcel);
        };
        let Some(link) = &route.link else {
            return hub.deliver_here(parcel, route.assignment.epoch);
        };
        let mut parcel = parcel;
        let message = Outgoing {
            kind: parcel.kind,
            id: &parcel.id,
            to: self.addressee(&route.assignment),
            lane: self.key,
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
                parcel.fail(hub, error);
                None
            }
        }
    }
}

fn take_out(queue: &mut VecDeque<Parcel>, settle: AskerId) -> Option<Parcel> {
    let place = queue.iter().position(|parcel| parcel.is_from(settle))?;
    queue.remove(place)
}
