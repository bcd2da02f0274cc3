//! `Topology`: who the members of a cluster are, as one node sees it, kept up by gossip.
//!
//! A machine without a clock or a network: [`Topology::step`] takes what happened and returns what to do, and
//! [`Topology::next_wakeup`] says when to come back. It is how nodes without a manager find each other, agree on who is there,
//! and notice who has fallen silent. It is *advisory*: it never grants, expires or moves the ownership of a shard, whatever it
//! believes; that is for the control log alone.
//!
//! Invariants: every message carries the cluster's id, and those of another cluster change nothing; only a node itself raises
//! the generation of its record; views that exchange everything become equal, in whatever order; all memory is bounded by
//! `max_members`.
//!
//! The parts: `search`, `pledges` and `admission` (getting in and out), `gossip` (spreading), `watches` and `suspicion` (noticing
//! silence), `member`, `segment` and `view` (what is known), `message` (what is said).

mod action;
mod address;
mod admission;
mod cluster_id;
mod config;
mod gathering;
mod gossip;
mod member;
mod message;
mod mutants;
mod peer_choice;
mod pledges;
mod profile;
mod search;
mod segment;
mod snapshot;
mod suspicion;
mod view;
mod watches;

use std::collections::{BTreeMap, BTreeSet};

pub use action::{ConnectFailure, TopologyAction, TopologyInput, TopologyRejection};
pub use address::{Address, InvalidAddress};
pub use cluster_id::ClusterId;
pub use config::{Forming, InvalidTopologyConfig, TopologyConfig};
pub use gathering::Gathering;
pub use member::{Generation, TopologyMember, TopologyStatus};
pub use message::TopologyMessage;
pub use profile::{InvalidProfile, Profile};
pub use snapshot::TopologySnapshot;

use self::message::Body;
use self::peer_choice::PeerChoice;
use self::search::Search;
use self::view::View;
use self::watches::Watches;
use crate::{Author, NodeName, Rules, Time};

/// One node's view of its cluster.
///
/// ```
/// use ostrakon_core::{Address, NodeName, Time, Topology, TopologyAction, TopologyConfig, TopologyInput};
///
/// let config = TopologyConfig::new(NodeName::new("node-1")?, Address::new("127.0.0.1:25520")?, 1);
/// let mut topology = Topology::new(Time::ZERO, config)?;
/// let actions = topology.step(Time::ZERO, TopologyInput::Tick);
/// assert!(matches!(actions[0], TopologyAction::Formed { .. }), "without seeds it is a cluster of its own");
/// assert_eq!(topology.snapshot().members.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Topology {
    config: TopologyConfig,
    rules: Rules,
    now: Time,
    choice: PeerChoice,
    phase: Phase,
    /// This node's own record: the view holds a copy once it is a member.
    me: TopologyMember,
    view: View,
    watches: Watches,
    ring_is_stale: bool,
    /// Since when this node has known a member to be down or removed.
    since: BTreeMap<NodeName, (TopologyStatus, Time)>,
    next_gossip: Time,
    next_beat: Time,
    rounds: u64,
    /// The clusters that have been reported, the latest first.
    foreign: Vec<ClusterId>,
    version: u64,
    changed: bool,
    out: Vec<TopologyAction>,
}

#[derive(Clone, Debug)]
enum Phase {
    Searching(Search),
    Member(ClusterId),
    Leaving {
        cluster: ClusterId,
        until: Time,
        /// Those who were told, and may not have heard it.
        unheard: BTreeSet<NodeName>,
    },
    Gone,
}

impl Topology {
    /// A node that starts at `now`, and searches as soon as it is stepped.
    pub fn new(now: Time, config: TopologyConfig) -> Result<Self, InvalidTopologyConfig> {
        Self::with_rules(now, config, Rules::default())
    }

    /// The same under other rules, for simulations.
    pub fn with_rules(
        now: Time,
        config: TopologyConfig,
        rules: Rules,
    ) -> Result<Self, InvalidTopologyConfig> {
        config.check()?;
        let (name, address) = (config.name.clone(), config.address.clone());
        Ok(Self {
            rules,
            now,
            choice: PeerChoice::new(config.seed_value),
            phase: Phase::Searching(Search::new(&config, now)),
            me: TopologyMember::joining(name, address, config.run, config.profile.clone()),
            view: View::new(),
            watches: Watches::new(config.phi, config.heartbeat_every),
            ring_is_stale: true,
            since: BTreeMap::new(),
            next_gossip: now,
            next_beat: now,
            rounds: 0,
            foreign: Vec::new(),
            version: 0,
            changed: false,
            out: Vec::new(),
            config,
        })
    }

    /// Takes what happened at `now`, and says what is to be done, in this order. A `now` before the last is taken for the last.
    pub fn step(&mut self, now: Time, input: TopologyInput) -> Vec<TopologyAction> {
        self.advance(now);
        match input {
            TopologyInput::Tick => {}
            TopologyInput::Message { from, message } => self.receive(from, message),
            TopologyInput::Unreachable { address, failure } => self.unreachable(&address, failure),
            TopologyInput::Seeds(seeds) => self.reseed(seeds),
            TopologyInput::Describe(profile) => self.describe(profile),
            TopologyInput::Leave => self.leave(),
        }
        self.do_what_is_due();
        if std::mem::take(&mut self.changed) {
            self.version += 1;
            let version = self.version;
            self.out.push(TopologyAction::Changed { version });
        }
        std::mem::take(&mut self.out)
    }

    /// When to call [`step`](Self::step) with a [`Tick`](TopologyInput::Tick), at the latest. Never again once it has ended.
    pub fn next_wakeup(&self) -> Option<Time> {
        match &self.phase {
            Phase::Searching(search) => Some(search.next_wakeup(self.now)),
            Phase::Member(_) => Some(self.next_gossip.min(self.next_beat)),
            Phase::Leaving { until, .. } => Some(self.next_gossip.min(self.next_beat).min(*until)),
            Phase::Gone => None,
        }
    }

    /// The members as they are now.
    pub fn snapshot(&self) -> TopologySnapshot {
        let mut members: Vec<_> = self
            .view
            .iter()
            .filter(|member| member.status < TopologyStatus::Removed)
            .cloned()
            .collect();
        members.sort_by(|a, b| a.name.cmp(&b.name));
        TopologySnapshot {
            cluster: self.cluster(),
            version: self.version,
            members,
        }
    }

    /// What is known of a member, even of a removed one as long as it is remembered.
    pub fn member(&self, name: &NodeName) -> Option<&TopologyMember> {
        self.view.get(name)
    }

    /// How much the silence of each neighbour that this node listens to speaks against it at `now`, for people to look at.
    pub fn phis(&self, now: Time) -> impl Iterator<Item = (&NodeName, f64)> {
        self.watches.phis(now)
    }

    /// The cluster that this node has joined or formed; it must serve nothing before.
    pub const fn cluster(&self) -> Option<ClusterId> {
        match &self.phase {
            Phase::Member(cluster) | Phase::Leaving { cluster, .. } => Some(*cluster),
            Phase::Searching(_) | Phase::Gone => None,
        }
    }

    /// Whom this node waits for, if it belongs to no cluster and it takes several to form one.
    pub fn gathering(&self) -> Option<Gathering> {
        let Phase::Searching(search) = &self.phase else {
            return None;
        };
        let mut gathering = search.gathering(self.now)?;
        if gathering.at.as_ref() == Some(&self.me.address) {
            gathering.there.insert(0, self.me.name.clone());
        }
        Some(gathering)
    }

    /// Time passes, for this node too: if it is called much later than it asked for, it was the one that was not there.
    fn advance(&mut self, now: Time) {
        let due = self.next_wakeup().unwrap_or(now);
        self.now = self.now.max(now);
        let late = self.now.saturating_since(due);
        if let Phase::Searching(search) = &mut self.phase
            && late > self.config.heartbeat_every
        {
            search.overslept(self.now);
        }
        if self.cluster().is_some() && late > self.config.heartbeat_every * 2 {
            self.watches.overslept(self.now);
            if late > self.config.forget_after / 2 {
                self.start_afresh();
            }
        }
    }

    fn do_what_is_due(&mut self) {
        self.search();
        self.leave_if_due();
        if self.cluster().is_none() {
            return;
        }
        if self.now >= self.next_beat {
            self.next_beat = self.now + self.config.heartbeat_every;
            self.beat();
        }
        if self.now >= self.next_gossip {
            self.next_gossip = self.now + self.config.gossip_every;
            self.gossip();
        }
    }

    fn receive(&mut self, from: Address, message: TopologyMessage) {
        if matches!(self.phase, Phase::Gone) {
            return;
        }
        if message.from == self.me.name && message.run == self.me.generation.run {
            return self.reject(from, TopologyRejection::Unexpected);
        }
        match (self.cluster(), message.cluster) {
            (_, None) => self.on_searcher(&from, message),
            (None, Some(theirs)) => self.on_found_cluster(&from, theirs, message),
            (Some(ours), Some(theirs)) if ours != theirs => {
                self.on_foreigner(&from, ours, theirs, &message.body)
            }
            (Some(_), Some(_)) => self.on_member(from, message),
        }
    }

    fn on_member(&mut self, from: Address, message: TopologyMessage) {
        match message.body {
            Body::Ping(number) => self.send(from, Body::Pong(number)),
            Body::Pong(number) => {
                self.heard_farewell(&message.from, number);
                self.watches
                    .pong(self.now, &message.from, message.run, number);
            }
            Body::Digest(digest) => self.on_digest(from, digest),
            Body::Segments(digests) => self.on_segments(&from, digests),
            Body::Clocks(clocks) => self.on_clocks(&from, clocks),
            Body::Records { segments, want } => self.on_records(&from, segments, &want),
            // A second seed's answer to a hello that the first has answered already.
            Body::Welcome { .. } => {}
            Body::Hello(_) | Body::Searching | Body::Full | Body::Foreign => {
                self.reject(from, TopologyRejection::Unexpected);
            }
        }
    }

    fn describe(&mut self, profile: Profile) {
        if profile == self.me.profile {
            return;
        }
        self.me.profile = profile;
        if self.cluster().is_some() {
            self.me.generation = self.me.generation.next_revision();
            self.speak();
        }
    }

    /// Puts this node's own record, with its raised generation, into the view.
    fn speak(&mut self) {
        self.view.write(&self.me, &self.author());
        self.changed = true;
        self.ring_is_stale = true;
    }

    fn author(&self) -> Author {
        Author {
            name: self.me.name.clone(),
            run: self.me.generation.run,
        }
    }

    fn refresh_ring(&mut self) {
        if std::mem::take(&mut self.ring_is_stale) {
            let live = self.view.iter().filter(|member| member.is_live());
            self.watches
                .set_ring(live.map(|member| member.name.clone()));
        }
    }

    fn end(&mut self, reason: TopologyAction) {
        self.phase = Phase::Gone;
        self.out.push(reason);
    }

    fn tell(&mut self, name: &NodeName, body: Body) {
        if let Some(address) = self.view.get(name).map(|member| member.address.clone()) {
            self.send(address, body);
        }
    }

    fn send(&mut self, to: Address, body: Body) {
        if matches!(self.phase, Phase::Gone) {
            return;
        }
        let message = TopologyMessage {
            cluster: self.cluster(),
            from: self.me.name.clone(),
            run: self.me.generation.run,
            body,
        };
        self.out.push(TopologyAction::Send { to, message });
    }

    fn reject(&mut self, from: Address, reason: TopologyRejection) {
        self.out.push(TopologyAction::Rejected { from, reason });
    }
}

#[cfg(test)]
mod tests;
