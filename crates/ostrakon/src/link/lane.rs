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

mod leftovers;
mod mending;

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

pub(crate) use self::leftovers::Leftovers;
use super::{
    Hub, Link, Outgoing, Parcel, Withdrawn,
    frame::{Addressee, RequestId},
    outbox::LaneKey,
    parcel::Origin,
    remaining,
};
use crate::{
    TellError,
    lock::Mutex,
    reply::{AskId, Settle},
    wire::Ports,
};

/// The lanes of a group, by shard.
pub(crate) type Lanes = Arc<[Arc<Lane>]>;

/// How much may wait while a lane is mended.
const MOST_HELD: usize = 1024;
const MOST_HELD_BYTES: usize = 1024 * 1024;
/// How many nodes are remembered that messages have gone to before: a dropped ask is cancelled there.
const MOST_FORMER: usize = 4;
/// How long to wait before an owner is asked again that did not want to be one.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// After so long without trouble the pauses begin anew.
const CALM: Duration = Duration::from_millis(500);

/// There is one for every shard, and each message looks at its own: so it is small, and what few of them need is in a [`Detour`].
pub(crate) struct Lane {
    group: Arc<LaneGroup>,
    pub(crate) shard: ShardId,
    /// The shard is ours and nothing waits: messages need not come this way at all.
    here: AtomicBool,
    state: Mutex<State>,
}

/// What the lanes of a group have in common.
pub(crate) struct LaneGroup {
    hub: Weak<Hub>,
    /// The version of the newest map.
    newest: Arc<AtomicU64>,
    /// The hash of the name.
    hash: u64,
    name: GroupName,
}

#[derive(Default)]
struct State {
    /// The map that `route` was taken from.
    version: Option<Version>,
    route: Option<Route>,
    /// Something was sent on the route that may yet come back.
    used: bool,
    mending: bool,
    /// Made when it is first needed.
    detour: Option<Box<Detour>>,
}

/// What is known and what waits since the lane was not in order.
struct Detour {
    /// A better owner than the map's, as somebody has said.
    hint: Option<Hint>,
    returned: VecDeque<Parcel>,
    held: VecDeque<Parcel>,
    held_bytes: usize,
    /// The owner that sent something back, and how long to leave it alone.
    refused: Option<Assignment>,
    pause: Duration,
    /// When something last came back.
    trouble: Time,
    /// Where messages of this lane went before, and may be still.
    former: Vec<Weak<Link>>,
}

impl Default for Detour {
    fn default() -> Self {
        Self {
            hint: None,
            returned: VecDeque::new(),
            held: VecDeque::new(),
            held_bytes: 0,
            refused: None,
            pause: FIRST_PAUSE,
            trouble: Time::ZERO,
            former: Vec::new(),
        }
    }
}

impl Detour {
    /// Takes an ask out that waits here.
    fn take_out(&mut self, ask: AskId) -> Option<Parcel> {
        let parcel = take_out(&mut self.returned, ask);
        parcel.or_else(|| {
            let parcel = take_out(&mut self.held, ask)?;
            self.held_bytes -= parcel.size();
            Some(parcel)
        })
    }

    /// Messages go elsewhere from now on; some may be with this node still, to be handled.
    fn note_former(&mut self, link: &Arc<Link>) {
        let link = Arc::downgrade(link);
        self.former
            .retain(|former| former.strong_count() > 0 && !former.ptr_eq(&link));
        if self.former.len() == MOST_FORMER {
            self.former.remove(0);
        }
        self.former.push(link);
    }
}

impl State {
    fn detour(&mut self) -> &mut Detour {
        self.detour.get_or_insert_default()
    }

    fn hint(&self) -> Option<&Hint> {
        self.detour.as_ref()?.hint.as_ref()
    }
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
    pub(crate) fn withdraw(&self, ask: AskId) -> Withdrawn {
        match self.way {
            Way::Lane(lane) => lane.withdraw(self.request, ask),
            Way::Link(link) => {
                let withdrawn = link.withdraw(self.request, ask);
                withdrawn.unwrap_or(Withdrawn::Sent)
            }
        }
    }
}

impl LaneKey {
    pub(crate) fn of(group: &GroupName, shard: ShardId) -> Self {
        Self::of_hashed(stable_hash(group.as_str()), shard)
    }

    fn of_hashed(group: u64, shard: ShardId) -> Self {
        Self::Shard(group ^ u64::from(shard.get()))
    }
}

impl LaneGroup {
    pub(crate) fn new(hub: Weak<Hub>, newest: &Arc<AtomicU64>, name: GroupName) -> Self {
        Self {
            hub,
            newest: Arc::clone(newest),
            hash: stable_hash(name.as_str()),
            name,
        }
    }
}

impl Lane {
    pub(crate) fn new(group: &Arc<LaneGroup>, shard: ShardId) -> Self {
        Self {
            group: Arc::clone(group),
            shard,
            here: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn key(&self) -> LaneKey {
        LaneKey::of_hashed(self.group.hash, self.shard)
    }

    fn hub(&self) -> Option<Arc<Hub>> {
        self.group.hub.upgrade()
    }

    /// Whether messages for this shard may be delivered in this process at once.
    pub(crate) fn is_here(&self) -> bool {
        self.here.load(Ordering::Acquire)
    }

    /// Where messages go now.
    pub(crate) fn leads(self: &Arc<Self>) -> Leads {
        let mut state = self.state.lock();
        let newest = Version::new(self.group.newest.load(Ordering::Acquire));
        if state.version != Some(newest) {
            let Some(hub) = self.hub() else {
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
        let newest = Version::new(self.group.newest.load(Ordering::Acquire));
        if state.mending || state.version != Some(newest) {
            let Some(hub) = self.hub() else {
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
                lane: self.key(),
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
        let Some(hub) = self.hub() else {
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

    #[cold]
    fn stopped(&self, draft: &Draft<'_>) -> TellError {
        TellError::Stopped {
            kind: draft.kind,
            id: draft.id.clone(),
        }
    }

    #[cold]
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
        let detour = state.detour();
        if detour.held.len() >= MOST_HELD
            || (detour.held_bytes + size > MOST_HELD_BYTES && !detour.held.is_empty())
        {
            return Err(TellError::Overloaded {
                kind: parcel.kind,
                id: parcel.id,
                capacity: MOST_HELD,
            });
        }
        detour.held_bytes += size;
        detour.held.push_back(parcel);
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
    #[cold]
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
        if !state.used && !state.mending {
            // Looked up when it is needed; until then it shall not keep the link to a node that is gone.
            state.version = None;
            self.lose_route(&mut state);
        } else if let Some(hub) = self.hub() {
            self.look_up(&hub, &mut state);
        }
    }

    /// Of two words about who owns the shard, the later. A newer map that names nobody has the last word: whoever was named may be gone.
    fn best<'a>(&self, map: &'a ShardMap, state: &'a State) -> Option<&'a Assignment> {
        let hint = state.hint();
        match map.owner(&self.group.name, self.shard) {
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
        if let Some(detour) = &mut state.detour {
            detour.pause = FIRST_PAUSE;
        }
        state.route = Some(Route { assignment, link });
    }

    /// Nobody owns the shard: the last owner would only send everything back.
    fn lose_route(&self, state: &mut State) {
        self.here.store(false, Ordering::Release);
        state.route = None;
    }

    /// A message of this lane comes back: `owner` is who should have it instead, if that is known.
    pub(crate) fn returned(self: &Arc<Self>, parcel: Parcel, owner: Option<Assignment>) {
        let Some(hub) = self.hub() else {
            return;
        };
        parcel.came_back();
        let mut state = self.state.lock();
        let refused = state.route.as_ref().map(|route| route.assignment.clone());
        let now = hub.clock.now();
        let detour = state.detour();
        let known = detour.hint.as_ref().map(|hint| hint.assignment.epoch);
        if let Some(assignment) =
            owner.filter(|owner| known.is_none_or(|known| known < owner.epoch))
        {
            let version = hub.map.load().version();
            detour.hint = Some(Hint {
                assignment,
                version,
            });
        }
        detour.refused = refused;
        if now.saturating_since(detour.trouble) > CALM {
            detour.pause = FIRST_PAUSE;
        }
        detour.trouble = now;
        detour.returned.push_back(parcel);
        self.begin_mending(&hub, &mut state);
    }

    /// Takes an ask back that waits here, or has gone on from here.
    fn withdraw(&self, request: RequestId, ask: AskId) -> Withdrawn {
        let mut state = self.state.lock();
        let waiting = state
            .detour
            .as_mut()
            .and_then(|detour| detour.take_out(ask));
        if let Some(parcel) = waiting {
            drop(state);
            // Whoever has passed a reply on in it is told.
            drop(parcel);
            return Withdrawn::Unsent;
        }
        let link = state.route.as_ref().and_then(|route| route.link.clone());
        let detour = state.detour.as_ref();
        let former = detour.map_or_else(Vec::new, |detour| detour.former.clone());
        drop(state);
        let former = former.iter().filter_map(Weak::upgrade);
        let withdrawn = link
            .into_iter()
            .chain(former)
            .find_map(|link| link.withdraw(request, ask));
        withdrawn.unwrap_or(Withdrawn::Sent)
    }
}

fn take_out(queue: &mut VecDeque<Parcel>, ask: AskId) -> Option<Parcel> {
    let place = queue.iter().position(|parcel| parcel.is_of(ask))?;
    queue.remove(place)
}
