//! `Hub`: this node among the others: its links, its lanes, and the map they go by.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use ostrakon_core::{
    Assignment, EntityId, Epoch, GroupName, Incarnation, NodeName, ShardId, ShardKey, ShardMap,
    Time, Version,
};
use ostrakon_tls::Security;
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    task::AbortHandle,
};

use super::{
    Lane, LaneGroup, Lanes, Leftovers, Limits, Link, Parcel, TurnedAway,
    arrival::{Arrival, Claim},
    connection::End,
    counts::Counts,
    expiry,
    frame::{find_option, option},
    handshake::Me,
    listener, supervisor,
};
use crate::{
    CallChain, Member, MemberStatus, TellError, TraceContext,
    actors::Actors,
    clock::Clock,
    entity_ref::DEFAULT_TIMEOUT,
    host::{AnyHost, envelope::Ask},
    lease::Lease,
    lock::Mutex,
    plane::Event,
    reply::Pending,
    topology::Topology,
};

/// How long the last words to all nodes may take.
const LEAVE_PATIENCE: Duration = Duration::from_secs(3);
/// The hub and the supervisor hold a link; everybody else who does uses it.
const UNUSED: usize = 2;

pub(crate) struct Hub {
    pub(crate) me: Me,
    pub(crate) limits: Limits,
    pub(crate) security: Security,
    pub(crate) clock: Clock,
    /// Until when this node's entities may act.
    pub(crate) lease: Arc<Lease>,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) topology: Arc<Topology>,
    pub(crate) map: ArcSwap<ShardMap>,
    /// The version of the map, where lanes can read it without the map.
    version: Arc<AtomicU64>,
    /// The version of the map, for those who wait for the next.
    pub(crate) changed: watch::Sender<Version>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) address: SocketAddr,
    actors: Arc<Actors>,
    lanes: BTreeMap<GroupName, Lanes>,
    kinds: OnceLock<Vec<KnownKind>>,
    /// Entities that run wherever their shard is.
    singletons: OnceLock<Vec<(&'static str, EntityId)>>,
    homes: Mutex<BTreeMap<NodeName, Home>>,
    links: Mutex<BTreeMap<NodeName, Arc<Link>>>,
    /// The nodes that there is a connection with, each with a number that changes with its connection.
    pub(crate) connected: watch::Sender<BTreeMap<NodeName, u64>>,
    sessions: AtomicU64,
    leaving: AtomicBool,
    listener: OnceLock<AbortHandle>,
    /// Who decides about membership; nobody in a cluster whose map comes from outside.
    plane: OnceLock<mpsc::Sender<Event>>,
}

/// What a hub is made of.
pub(crate) struct HubParts {
    pub(crate) me: Me,
    pub(crate) limits: Limits,
    pub(crate) security: Security,
    pub(crate) clock: Clock,
    pub(crate) topology: Arc<Topology>,
    pub(crate) actors: Arc<Actors>,
}

/// Where a node is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) address: String,
    /// Which run of it is there, if that is known.
    pub(crate) run: Option<Incarnation>,
}

/// A kind that this node hosts or talks to.
pub(crate) struct KnownKind {
    pub(crate) kind: &'static str,
    pub(crate) group: GroupName,
    /// `None`: only others host it.
    pub(crate) host: Option<Arc<dyn AnyHost>>,
}

impl Hub {
    /// A hub that listens on this port already; it lets nobody in before [`Hub::open`].
    pub(crate) fn new(parts: HubParts, address: SocketAddr) -> Arc<Self> {
        let HubParts {
            me,
            limits,
            security,
            clock,
            topology,
            actors,
        } = parts;
        let map = ShardMap::unowned(Version::default(), &me.groups);
        let version = Arc::new(AtomicU64::new(0));
        Arc::new_cyclic(|hub: &Weak<Self>| {
            let lanes = me.groups.iter().map(|group| {
                let lanes = LaneGroup::new(hub.clone(), &version, group.name.clone());
                let lanes = Arc::new(lanes);
                let lane = |shard| Arc::new(Lane::new(&lanes, shard));
                (group.name.clone(), group.count.iter().map(lane).collect())
            });
            Self {
                lanes: lanes.collect(),
                version: Arc::clone(&version),
                changed: watch::Sender::new(map.version()),
                map: ArcSwap::from_pointee(map),
                counts: Arc::new(Counts::new(&me.name)),
                me,
                limits,
                security,
                clock,
                lease: Arc::new(Lease::for_ever()),
                runtime: tokio::runtime::Handle::current(),
                topology,
                address,
                actors,
                kinds: OnceLock::new(),
                singletons: OnceLock::new(),
                homes: Mutex::default(),
                links: Mutex::default(),
                connected: watch::Sender::default(),
                sessions: AtomicU64::new(1),
                leaving: AtomicBool::new(false),
                listener: OnceLock::new(),
                plane: OnceLock::new(),
            }
        })
    }

    /// Lets other nodes in: this node knows what it hosts.
    pub(crate) fn open(
        self: &Arc<Self>,
        listener: TcpListener,
        kinds: Vec<KnownKind>,
        singletons: Vec<(&'static str, EntityId)>,
    ) {
        let _ = self.kinds.set(kinds);
        let _ = self.singletons.set(singletons);
        let task = listener::run(Arc::downgrade(self), listener, self.limits.connections);
        let _ = self.listener.set(tokio::spawn(task).abort_handle());
        if let Some(certificates) = self.security.certificates() {
            // Ends with the runtime; it holds nothing but the certificates.
            let watching = ostrakon_tls::watch(Arc::clone(certificates), Duration::from_secs(5));
            tokio::spawn(watching);
        }
    }

    /// The lanes of a group.
    pub(crate) fn lanes(&self, group: &GroupName) -> Option<&Lanes> {
        self.lanes.get(group)
    }

    pub(crate) fn lane(&self, kind: &str, shard: ShardId) -> Option<&Arc<Lane>> {
        self.lanes(self.group_of(kind)?)?.get(shard.index())
    }

    fn kind(&self, kind: &str) -> Option<&KnownKind> {
        self.kinds.get()?.iter().find(|known| known.kind == kind)
    }

    pub(crate) fn known_kind(&self, kind: &str) -> Option<&'static str> {
        self.kind(kind).map(|known| known.kind)
    }

    pub(crate) fn group_of(&self, kind: &str) -> Option<&GroupName> {
        self.kind(kind).map(|known| &known.group)
    }

    /// The host of a kind on this node.
    pub(crate) fn host(&self, kind: &str) -> Result<&Arc<dyn AnyHost>, TellError> {
        let host = self.kind(kind).and_then(|known| known.host.as_ref());
        host.ok_or_else(|| TellError::UnknownKind {
            kind: kind.to_owned(),
        })
    }

    /// The host of an actor on this node.
    pub(crate) fn actor_host(&self, kind: &str, name: &str) -> Result<Arc<dyn AnyHost>, TellError> {
        let name = EntityId::new(name)?;
        self.actors
            .host_of(kind, &name)
            .ok_or_else(|| TellError::NoSuchActor {
                name,
                node: self.me.name.clone(),
            })
    }

    /// The deadline of a message that leaves so many milliseconds.
    pub(crate) fn deadline(&self, remaining: u64) -> Time {
        let patience = match remaining {
            0 => DEFAULT_TIMEOUT,
            millis => Duration::from_millis(millis),
        };
        self.clock.now() + patience
    }

    pub(crate) fn next_session(&self) -> u64 {
        self.sessions.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// The link to a node; made on first use, connected when there is something to send.
    pub(crate) fn link(self: &Arc<Self>, peer: &NodeName) -> Arc<Link> {
        let mut links = self.links.lock();
        if let Some(link) = links.get(peer) {
            return Arc::clone(link);
        }
        let (link, incoming) = Link::new(self, peer.clone());
        if self.is_leaving() {
            link.close();
            return link;
        }
        let supervisor = supervisor::run(Arc::downgrade(self), Arc::clone(&link), incoming);
        let supervisor = self.runtime.spawn(supervisor);
        self.runtime
            .spawn(expiry::run(Arc::downgrade(&link), self.clock));
        let _ = link.supervisor.set(supervisor.abort_handle());
        links.insert(peer.clone(), Arc::clone(&link));
        link
    }

    /// Forgets a link that nobody uses: names of nodes come and go for as long as this node runs. `false`: somebody does.
    pub(crate) fn forget(&self, link: &Arc<Link>) -> bool {
        // Whoever wants a link comes here for it, so nobody can begin to use this one meanwhile.
        let mut links = self.links.lock();
        let is_kept = links
            .get(&link.peer)
            .is_some_and(|kept| Arc::ptr_eq(kept, link));
        let is_unused = is_kept && Arc::strong_count(link) == UNUSED && link.is_at_rest();
        if is_unused {
            links.remove(&link.peer);
        }
        is_unused
    }

    /// Whether there may be a connection with this node: those that come uninvited are limited.
    pub(crate) fn may_meet(&self, peer: &NodeName) -> bool {
        let connected = self.connected.borrow();
        connected.contains_key(peer) || connected.len() < self.limits.connections
    }

    /// Where a node is reached.
    pub(crate) fn address(&self, peer: &NodeName) -> Option<String> {
        let homes = self.homes.lock();
        homes.get(peer).map(|home| home.address.clone())
    }

    /// Says where a node is reached.
    pub(crate) fn introduce(&self, peer: NodeName, address: String) {
        self.topology.add(&peer);
        self.reach(&peer, Home { address, run: None });
    }

    /// Says where a node of the cluster is reached now.
    pub(crate) fn reach(&self, peer: &NodeName, home: Home) {
        let mut homes = self.homes.lock();
        if homes.get(peer) == Some(&home) {
            return;
        }
        homes.insert(peer.clone(), home);
        drop(homes);
        if let Some(link) = self.links.lock().get(peer) {
            link.begun_anew.notify_one();
        }
    }

    /// Forgets where nodes are that belong to the cluster no more. `members` are ordered by name.
    pub(crate) fn reach_only(&self, members: &[Member]) {
        let place = |name: &NodeName| members.binary_search_by(|member| member.name.cmp(name));
        let mut homes = self.homes.lock();
        let gone = homes.extract_if(.., |name, _| place(name).is_err());
        let gone: Vec<NodeName> = gone.map(|(name, _)| name).collect();
        drop(homes);
        let before = self.topology.snapshot();
        for name in gone {
            // Whoever left in good order has answered everything, and the last of it may still be on its way.
            let left = before
                .members
                .iter()
                .any(|member| member.name == name && member.status == MemberStatus::Leaving);
            let link = self.links.lock().get(&name).cloned();
            if let Some(link) = link.filter(|_| !left) {
                link.run_is_over();
            }
        }
    }

    /// Tells the plane from now on which nodes cannot be reached, and which shards lack an owner.
    pub(crate) fn follow(&self, plane: mpsc::Sender<Event>) {
        let _ = self.plane.set(plane);
    }

    pub(crate) fn unreachable(&self, peer: &NodeName) {
        if let Some(plane) = self.plane.get() {
            let node = peer.clone();
            // It is advice: if nobody has time for it, it is given again.
            let _ = plane.try_send(Event::Unreachable { node });
        }
    }

    /// Somebody waits for an owner of this shard.
    pub(crate) fn wanted(&self, group: &GroupName, shard: ShardId) {
        if let Some(plane) = self.plane.get() {
            let group = group.clone();
            let shard = ShardKey { group, shard };
            // Said again for as long as somebody waits.
            let _ = plane.try_send(Event::Wanted { shard });
        }
    }

    pub(crate) fn knows(&self, peer: &NodeName) -> bool {
        self.homes.lock().contains_key(peer)
    }

    /// Takes over a newer map: gives up what is not ours in it, then opens what is.
    pub(crate) async fn adopt(&self, map: ShardMap) {
        let old = self.map.load_full();
        if map.version() <= old.version() {
            return;
        }
        let mine = |assignment: &Assignment| assignment.owner == self.me.name;
        for (group, shard, assignment) in old.iter() {
            let kept = map.owner(group, shard) == assignment;
            if assignment.is_some_and(mine) && !kept {
                self.close_shard(group, shard).await;
            }
        }
        for (group, shard, assignment) in map.iter() {
            if let Some(assignment) = assignment.filter(|assignment| mine(assignment)) {
                self.open_shard(group, shard, assignment.epoch);
            }
        }
        self.show(map);
    }

    /// Goes by this map from now on. Shards that are ours in it have been opened.
    pub(crate) fn show(&self, map: ShardMap) {
        let (version, map) = (map.version(), Arc::new(map));
        let old = self.map.swap(Arc::clone(&map));
        self.version.store(version.get(), Ordering::Release);
        self.changed.send_replace(version);
        self.turn_lanes(&old, &map);
        for (kind, id) in self.singletons.get().into_iter().flatten() {
            if let Ok(host) = self.host(kind) {
                // Refused where its shard is not.
                let _ = host.keep_running(id);
            }
        }
    }

    /// The shards of singletons that nobody owns. Where shards get an owner when somebody wants one, nobody else would want these.
    pub(crate) fn unowned_singletons(&self) -> Vec<ShardKey> {
        let map = self.map.load();
        let unowned = |(kind, id): &(&'static str, EntityId)| {
            let host = self.host(kind).ok()?;
            let group = &host.group().name;
            let shard = host.group().shard_of(id).ok()?;
            let group = map.owner(group, shard).is_none().then(|| group.clone())?;
            Some(ShardKey { group, shard })
        };
        let singletons = self.singletons.get().into_iter().flatten();
        singletons.filter_map(unowned).collect()
    }

    /// What waits for a node that has lost a shard goes on to the next one, also if nothing more is sent there.
    fn turn_lanes(&self, old: &ShardMap, new: &ShardMap) {
        for (group, lanes) in &self.lanes {
            let owner = |map: &ShardMap, lane: &Lane| {
                let assignment = map.owner(group, lane.shard);
                assignment.map(|assignment| assignment.owner.clone())
            };
            for lane in lanes.iter() {
                if owner(old, lane) != owner(new, lane) {
                    lane.owner_changed();
                }
            }
        }
    }

    fn hosts_in<'a>(&'a self, group: &'a GroupName) -> impl Iterator<Item = &'a Arc<dyn AnyHost>> {
        let kinds = self.kinds.get().into_iter().flatten();
        kinds
            .filter(move |known| known.group == *group)
            .filter_map(|known| known.host.as_ref())
    }

    pub(crate) fn open_shard(&self, group: &GroupName, shard: ShardId, epoch: Epoch) {
        self.hosts_in(group)
            .for_each(|host| host.open_shard(shard, epoch));
    }

    /// Lets what lives in a shard finish and stop. Returns when nothing of it acts any more, however long that takes.
    pub(crate) async fn close_shard(&self, group: &GroupName, shard: ShardId) {
        let closing = self.hosts_in(group).map(|host| async move {
            while host.close_shard(shard).await > 0 {
                tracing::error!(
                    kind = host.kind(),
                    %shard,
                    "entities hold their threads without end: the shard cannot be given up"
                );
            }
        });
        futures_util::future::join_all(closing).await;
    }

    /// Ends what lives in a shard. Returns when nothing of it acts any more.
    pub(crate) async fn fence_shard(&self, group: &GroupName, shard: ShardId) {
        if self.lease.is_over() {
            self.drop_acts();
        }
        let fencing = self.hosts_in(group).map(|host| host.fence_shard(shard));
        futures_util::future::join_all(fencing).await;
    }

    /// Drops what this node's entities have sent and the end of the lease has held back.
    fn drop_acts(&self) {
        self.lease.lose();
        for link in self.links.lock().values() {
            let mut state = link.state.lock();
            state.outbox.drop_acts();
            link.wake(state);
        }
    }

    /// Delivers a message that has waited in a lane and turned out to be for this node. It comes back if it cannot be taken yet.
    pub(crate) fn deliver_here(
        &self,
        parcel: Parcel,
        epoch: Epoch,
        leftovers: &mut Leftovers,
    ) -> Option<Parcel> {
        let host = match self.host(parcel.kind) {
            Ok(host) => host,
            Err(error) => {
                leftovers.fail(parcel, error);
                return None;
            }
        };
        let arrival = Arrival {
            id: parcel.id.clone(),
            claim: Some(Claim {
                shard: parcel.shard,
                epoch,
            }),
            payload: &parcel.payload,
            whole: None,
            ports: parcel.ports.clone(),
            ask: parcel.asker.as_ref().map(|asker| Ask {
                pending: Pending::new(Arc::clone(asker)),
                deadline: parcel.deadline,
                chain: find_option(&parcel.options, option::CHAIN).and_then(CallChain::read),
            }),
            trace: find_option(&parcel.options, option::TRACE)
                .and_then(TraceContext::from_bytes)
                .map(Arc::new),
            load: &self.counts.own_load,
            now: None,
        };
        let (error, ask, letter) = match host.arrive(arrival, None) {
            Ok(()) => {
                leftovers.drop_later(Box::new(parcel));
                return None;
            }
            Err(TurnedAway::NotOwner { ask, letter }) => (None, ask, Some(letter)),
            Err(TurnedAway::Refused {
                error: TellError::Overloaded { .. },
                ask: None,
                letter,
            }) => (None, None, letter),
            Err(TurnedAway::Refused { error, ask, letter }) => (Some(error), ask, letter),
        };
        // The parcel speaks for it again.
        if let Some(ask) = ask {
            ask.pending.hand_over();
        }
        if let Some(letter) = letter {
            leftovers.drop_later(letter);
        }
        match error {
            None => Some(parcel),
            Some(error) => {
                leftovers.fail(parcel, error);
                None
            }
        }
    }

    /// A told message is lost; nobody waits for it, so it is counted.
    pub(crate) fn undelivered(&self, kind: &'static str, id: &EntityId, reason: &'static str) {
        self.undelivered_named(kind, id.as_str(), reason);
    }

    pub(crate) fn undelivered_named(&self, kind: &str, id: &str, reason: &'static str) {
        // The name comes from another node: only one that is known here becomes a label.
        let kind = self.known_kind(kind).unwrap_or("unknown");
        metrics::counter!("ostrakon_undelivered_total", "kind" => kind, "reason" => reason)
            .increment(1);
        tracing::warn!(kind, id, reason, "a told message was not delivered");
    }

    pub(crate) fn peer_is_up(&self, peer: &NodeName) {
        let number = self.next_session();
        self.connected.send_modify(|connected| {
            connected.insert(peer.clone(), number);
        });
        if self.plane.get().is_some() {
            return;
        }
        self.topology.add(peer);
        self.topology.set_status(peer, MemberStatus::Up);
    }

    pub(crate) fn peer_is(&self, peer: &NodeName, end: &End) {
        self.connected
            .send_if_modified(|connected| connected.remove(peer).is_some());
        if self.plane.get().is_none() {
            self.topology.set_status(peer, MemberStatus::Down);
        } else if !end.is_agreed() {
            self.unreachable(peer);
        }
    }

    /// Says goodbye to everybody, after all that waits has been sent.
    pub(crate) async fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
        let links: Vec<_> = self.links.lock().values().cloned().collect();
        let leaving = links.iter().map(|link| link.leave());
        let left = futures_util::future::join_all(leaving);
        // Whoever does not hear it will notice.
        let _ = tokio::time::timeout(LEAVE_PATIENCE, left).await;
        self.close();
    }

    /// Ends all tasks; nothing is said to anybody.
    pub(crate) fn close(&self) {
        self.leaving.store(true, Ordering::Release);
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
        // A statement of its own, so that the lock is released: those who wait are woken.
        let links = std::mem::take(&mut *self.links.lock());
        links.into_values().for_each(|link| link.close());
    }
}
