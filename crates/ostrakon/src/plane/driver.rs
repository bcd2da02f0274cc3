//! The driver: does what the node's [`Region`] decides, and tells it what has happened.
//!
//! It follows the log, by whoever tells of it, and from that and from what the region holds makes the map that routing goes by: own
//! shards are taken from the region, which knows, and never from the log, which may be behind or ahead. Nothing here decides about
//! ownership. Invariant: a shard is opened only after whatever lived in it under an earlier ownership has ended.

mod shards;
mod showing;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Weak},
    time::Duration,
};

use ostrakon_clock::HolderClock;
use ostrakon_control::{FromManager, FromNode, Seat};
use ostrakon_core::{
    ControlState, Entry, Incarnation, Index, NodeName, Placement, Region, RegionAction,
    RegionInput, Registration, ShardKey, Snapshot, Time, ToCoordinator, TopologySnapshot, Version,
};
use ostrakon_storage::{Read, Renewal, Storage};
use tokio::sync::{mpsc, watch};

use super::{
    Event,
    contact::Address,
    contacts::Contacts,
    decider::Decider,
    emptying::{Emptying, Manner},
    gossiped,
    pulses::Pulses,
    shared,
    standing::Standing,
};
use crate::{lease::Lease, link::Hub};

/// How often at most a node is reported that cannot be reached.
const REPORT_PAUSE: Duration = Duration::from_secs(1);
/// How often at most an owner is asked for.
const ASK_PAUSE: Duration = Duration::from_millis(250);
/// How often it is looked whether the node still exists.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long to try to say goodbye to managers of whom nothing is heard.
const FAREWELL: Duration = Duration::from_secs(3);

pub(crate) struct Driver {
    hub: Weak<Hub>,
    clock: HolderClock,
    lease: Arc<Lease>,
    /// The run that the lease is for.
    run: Option<Incarnation>,
    region: Region,
    seat: Seat,
    state: ControlState,
    deciders: BTreeMap<Address, Decider>,
    troubles: BTreeMap<Address, String>,
    emptying: Emptying,
    /// When each node was last reported.
    reported: BTreeMap<NodeName, Time>,
    /// When an owner was last asked for.
    asked: BTreeMap<ShardKey, Time>,
    /// The log as it was when the map was last made.
    mapped: Index,
    /// What is held has changed since the map was last made.
    changed: bool,
    shown: Version,
    leaving: bool,
    /// Nobody has the node any more.
    dropped: bool,
    /// When to give up saying goodbye: nobody is there to hear it.
    farewell: Option<Time>,
    storage: Option<Arc<dyn Storage>>,
    gossip: Option<watch::Receiver<TopologySnapshot>>,
    /// Those that are down, as the nodes tell each other. Advice: what they own is theirs until the log says otherwise.
    down: BTreeSet<NodeName>,
    /// The log has been read from the storage once.
    has_read: bool,
    /// How far the log is known, for whoever reads it.
    applied: watch::Sender<Index>,
    events: mpsc::Sender<Event>,
    standing: watch::Sender<Standing>,
    /// Who decides, as a client has heard.
    heard_of: watch::Sender<Vec<Address>>,
    pulses: Pulses,
    /// When those who decide are told next what the node is doing.
    next_vitals: Time,
}

/// What a driver is made of.
pub(crate) struct DriverParts {
    pub(crate) registration: Registration,
    pub(crate) slack: Duration,
    pub(crate) seat: Seat,
    pub(crate) storage: Option<Arc<dyn Storage>>,
    pub(crate) gossip: Option<watch::Receiver<TopologySnapshot>>,
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) standing: watch::Sender<Standing>,
    pub(crate) heard_of: watch::Sender<Vec<Address>>,
}

/// Runs a driver and its contacts apart from the user's threads, until the node is gone.
pub(crate) fn on_its_own_thread(
    driver: Driver,
    contacts: Contacts,
    events: mpsc::Receiver<Event>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let run = move || {
        runtime.block_on(async {
            tokio::spawn(contacts.keep());
            driver.run(events).await;
        });
    };
    std::thread::Builder::new()
        .name("ostrakon-control".to_owned())
        .spawn(run)?;
    Ok(())
}

impl Driver {
    pub(crate) fn new(hub: &Arc<Hub>, parts: DriverParts) -> Self {
        let DriverParts {
            registration,
            slack,
            seat,
            storage,
            gossip,
            events,
            standing,
            heard_of,
        } = parts;
        Self {
            hub: Arc::downgrade(hub),
            clock: hub.lease.clock(),
            lease: Arc::clone(&hub.lease),
            run: None,
            region: Region::new(registration, slack),
            seat,
            state: ControlState::default(),
            deciders: BTreeMap::new(),
            troubles: BTreeMap::new(),
            emptying: Emptying::default(),
            reported: BTreeMap::new(),
            asked: BTreeMap::new(),
            mapped: Index::default(),
            changed: false,
            shown: Version::default(),
            leaving: false,
            dropped: false,
            farewell: None,
            storage,
            gossip,
            down: BTreeSet::new(),
            has_read: false,
            applied: watch::Sender::new(Index::default()),
            events,
            standing,
            heard_of,
            pulses: Pulses::default(),
            next_vitals: Time::ZERO,
        }
    }

    async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        if let Some(storage) = &self.storage {
            let (storage, applied) = (Arc::clone(storage), self.applied.subscribe());
            tokio::spawn(shared::follow(storage, applied, self.events.clone()));
        }
        if let Some(gossip) = self.gossip.take() {
            tokio::spawn(gossiped::follow(gossip, self.events.clone()));
        }
        while let Some(hub) = self.hub.upgrade() {
            self.step(&hub, RegionInput::Wake);
            self.refresh(&hub);
            self.show_vitals();
            if self.is_done() {
                return;
            }
            drop(hub);
            let pause = self.wakes_at().saturating_since(self.clock.now());
            let event = tokio::select! {
                event = events.recv() => event,
                () = tokio::time::sleep(pause) => None,
            };
            let Some(hub) = self.hub.upgrade() else {
                return;
            };
            let mut next = event;
            while let Some(event) = next {
                self.take(&hub, event);
                next = events.try_recv().ok();
            }
        }
    }

    /// It looks now and then whether the node still exists.
    fn wakes_at(&self) -> Time {
        let soon = self.clock.now() + LOOK_AGAIN;
        match self.seat {
            Seat::Node => {
                let soon = soon.min(self.next_vitals);
                let region = self.region.next_wakeup();
                region.map_or(soon, |wake| wake.min(soon))
            }
            Seat::Client => soon,
        }
    }

    fn is_done(&self) -> bool {
        if self.dropped || self.standing.borrow().has_left() {
            return true;
        }
        let unheard = self.farewell.is_some_and(|end| self.clock.now() >= end);
        if unheard {
            self.standing.send_replace(Standing::GoneUnheard);
        }
        unheard
    }

    fn take(&mut self, hub: &Arc<Hub>, event: Event) {
        match event {
            Event::Met { contact, decider } => {
                let behind = self.state.applied();
                decider.say(FromNode::Follow { behind });
                self.troubles.remove(&contact);
                self.deciders.insert(contact, decider);
                self.farewell = None;
            }
            Event::Lost { contact, trouble } => self.lost(contact, trouble),
            Event::Parted { contact } => {
                self.deciders.remove(&contact);
                self.troubles.remove(&contact);
                self.hurry_if_alone();
            }
            Event::Heard { contact, words } => self.hear(hub, &contact, words),
            Event::Read(read) => self.read_shared(read),
            Event::UpToDate => self.has_read = true,
            Event::Answered(answer) => self.step(hub, RegionInput::Heard(answer)),
            Event::Ended { shard, epoch } => self.ended(hub, &shard, epoch),
            Event::Down(down) => {
                self.down = down;
                self.mirror(hub);
            }
            Event::Unreachable { node } => self.unreachable(hub, node),
            Event::Wanted { shard } => self.wanted(hub, shard),
            Event::Pulse(pulse) => self.pulses.note(self.clock.now(), pulse),
            Event::Leave => self.leave(hub),
            Event::Dropped => self.dropped = true,
        }
    }

    fn lost(&mut self, contact: Address, trouble: String) {
        self.deciders.remove(&contact);
        self.hurry_if_alone();
        self.troubles.insert(contact, trouble);
        let troubles = &self.troubles;
        self.standing.send_if_modified(|standing| match standing {
            Standing::Waiting | Standing::Alone(_) => {
                *standing = Standing::Alone(troubles.clone());
                true
            }
            Standing::Refused(_) | Standing::Joined | Standing::Left | Standing::GoneUnheard => {
                false
            }
        });
    }

    fn leave(&mut self, hub: &Arc<Hub>) {
        if self.seat == Seat::Client {
            self.standing.send_replace(Standing::Left);
            return;
        }
        self.leaving = true;
        self.hurry_if_alone();
        self.step(hub, RegionInput::Leave);
    }

    /// Whoever leaves does not wait for ever for a manager that is away.
    fn hurry_if_alone(&mut self) {
        if self.leaving && self.deciders.is_empty() && self.farewell.is_none() {
            self.farewell = Some(self.clock.now() + FAREWELL);
        }
    }

    fn hear(&mut self, hub: &Arc<Hub>, contact: &Address, words: FromManager) {
        match words {
            FromManager::Say(message) => self.step(hub, RegionInput::Heard(message)),
            FromManager::Entries { behind, entries } => self.read(contact, behind, &entries),
            FromManager::State(snapshot) => self.restore(*snapshot),
            FromManager::Deciders(deciders) => self.meet(deciders),
            FromManager::Ping => {
                if let Some(decider) = self.deciders.get(contact) {
                    decider.say(FromNode::Pong);
                }
            }
        }
    }

    /// A client speaks to those as well who decide now.
    fn meet(&self, deciders: Vec<String>) {
        if self.seat == Seat::Client {
            let deciders = deciders.iter().map(|address| address.as_str().into());
            self.heard_of.send_replace(deciders.collect());
        }
    }

    fn read_shared(&mut self, read: Read) {
        if let Some(snapshot) = read.snapshot {
            self.restore(snapshot);
        }
        for (index, entry) in read.entries {
            self.state.apply(index, &entry);
        }
        // Also if nothing was new: whoever reads waits for it.
        self.applied.send_replace(self.state.applied());
    }

    fn restore(&mut self, snapshot: Snapshot) {
        match ControlState::restore(snapshot) {
            Ok(state) if state.applied() > self.state.applied() => self.state = state,
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "the state of the cluster cannot be read"),
        }
    }

    fn read(&mut self, contact: &Address, behind: Index, entries: &[Entry]) {
        if behind > self.state.applied() {
            if let Some(decider) = self.deciders.get(contact) {
                let behind = self.state.applied();
                decider.say(FromNode::Follow { behind });
            }
            return;
        }
        for (number, entry) in (behind.get() + 1..).zip(entries) {
            // Those that are known already change nothing.
            self.state.apply(Index::new(number), entry);
        }
    }

    /// Reports a node, unless that was done just now.
    fn unreachable(&mut self, hub: &Arc<Hub>, node: NodeName) {
        let now = self.clock.now();
        let recently = |then: &Time| now.saturating_since(*then) < REPORT_PAUSE;
        if self.reported.get(&node).is_some_and(recently) {
            return;
        }
        let runs = self.state.members();
        let run = runs
            .filter(|(_, member)| member.registration.name == node)
            .last();
        let Some((incarnation, _)) = run else {
            return;
        };
        self.reported.retain(|_, then| recently(then));
        self.reported.insert(node, now);
        self.step(hub, RegionInput::Unreachable { incarnation });
    }

    /// Asks for an owner, where shards get one only then, and unless that was done just now.
    fn wanted(&mut self, hub: &Arc<Hub>, shard: ShardKey) {
        let now = self.clock.now();
        let recently = |then: &Time| now.saturating_since(*then) < ASK_PAUSE;
        let placement = self.state.policy().placement;
        if placement == Placement::AtOnce || self.asked.get(&shard).is_some_and(recently) {
            return;
        }
        self.asked.retain(|_, then| recently(then));
        self.asked.insert(shard.clone(), now);
        tracing::debug!(%shard, known = %self.state.applied(), "an owner is asked for");
        match self.seat {
            Seat::Node => self.step(hub, RegionInput::Wanted { shard }),
            Seat::Client => self.say(&ToCoordinator::Wanted { shard }),
        }
    }

    fn say(&self, message: &ToCoordinator) {
        for decider in self.deciders.values() {
            decider.say(FromNode::Say(message.clone()));
        }
    }

    fn step(&mut self, hub: &Arc<Hub>, input: RegionInput) {
        if self.seat == Seat::Client {
            return;
        }
        let actions = self.region.step(self.clock.now(), input);
        self.keep_lease();
        for action in actions {
            self.act(hub, action);
        }
    }

    /// What one run may do says nothing about another.
    fn keep_lease(&mut self) {
        let run = self.region.incarnation();
        if run != self.run {
            self.run = run;
            self.lease.end();
        }
        if run.is_some() {
            self.lease.extend(self.region.acts_until());
        }
    }

    fn act(&mut self, hub: &Arc<Hub>, action: RegionAction) {
        match action {
            RegionAction::Send(message) => {
                self.renew_shared(&message);
                self.say(&message);
            }
            RegionAction::Open { shard, epoch } => self.open(hub, &shard, epoch),
            RegionAction::Drain { shard, epoch } => {
                self.empty(hub, shard, epoch, Manner::Drain);
            }
            RegionAction::Fence { shard, epoch } => {
                self.empty(hub, shard, epoch, Manner::Fence);
            }
            RegionAction::Refused { reason } => {
                tracing::error!(reason, "the managers refuse this node");
                self.standing.send_if_modified(|standing| {
                    let waits = matches!(standing, Standing::Waiting | Standing::Alone(_));
                    if waits {
                        *standing = Standing::Refused(reason);
                    }
                    waits
                });
            }
            RegionAction::Left => {
                self.standing.send_replace(Standing::Left);
            }
        }
    }

    /// Renews in the storage what is renewed by a manager.
    fn renew_shared(&self, message: &ToCoordinator) {
        let (Some(storage), Some(_)) = (&self.storage, self.region.acts_until()) else {
            return;
        };
        if let ToCoordinator::Renew {
            incarnation,
            seq,
            ok_seq,
            ..
        } = *message
        {
            let (storage, events) = (Arc::clone(storage), self.events.clone());
            let renewal = Renewal { seq, ok_seq };
            tokio::spawn(shared::renew(storage, incarnation, renewal, events));
        }
    }
}
