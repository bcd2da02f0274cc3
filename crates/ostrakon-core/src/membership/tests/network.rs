//! A network of topologies in virtual time: messages are delayed, lost, doubled and cut off, and nodes crash, pause and start
//! again. One seed value decides everything, so a run can be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{
    Address, ConnectFailure, NodeName, Time, Topology, TopologyAction, TopologyConfig,
    TopologyInput, TopologyMessage,
};

/// What the network does to messages.
#[derive(Clone, Debug)]
pub(crate) struct Weather {
    pub(crate) delay: std::ops::Range<Duration>,
    pub(crate) lost_percent: u64,
    pub(crate) doubled_percent: u64,
    /// Whether a machine without a process answers that nothing listens there; otherwise nothing answers.
    pub(crate) refusals: Refusals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusals {
    Sent,
    Swallowed,
}

impl Weather {
    pub(crate) fn fair() -> Self {
        Self {
            delay: Duration::from_micros(200)..Duration::from_millis(2),
            lost_percent: 0,
            doubled_percent: 0,
            refusals: Refusals::Sent,
        }
    }

    pub(crate) fn foul() -> Self {
        Self {
            delay: Duration::from_millis(1)..Duration::from_millis(80),
            lost_percent: 10,
            doubled_percent: 10,
            refusals: Refusals::Swallowed,
        }
    }
}

pub(crate) struct Network {
    pub(crate) now: Time,
    pub(crate) weather: Weather,
    pub(crate) nodes: Vec<Node>,
    /// What the nodes decided, messages and new versions apart.
    pub(crate) decisions: Vec<(Time, usize, TopologyAction)>,
    /// Messages and bytes sent, by kind.
    pub(crate) sent: BTreeMap<&'static str, (u64, u64)>,
    pub(crate) measure: fn(&TopologyMessage) -> usize,
    /// Pairs of which the second does not hear the first.
    pub(crate) deaf: BTreeSet<(usize, usize)>,
    at: BTreeMap<Address, usize>,
    queue: BTreeMap<(Time, u64), Event>,
    events: u64,
    random: u64,
}

pub(crate) struct Node {
    pub(crate) config: TopologyConfig,
    /// None while its process does not run.
    pub(crate) topology: Option<Topology>,
    /// Nodes on different islands do not reach each other.
    pub(crate) island: u32,
    paused_until: Time,
    wakes: Option<Time>,
}

enum Event {
    Wake(usize),
    Arrive(usize, TopologyInput),
}

impl Network {
    pub(crate) fn new(seed_value: u64, weather: Weather) -> Self {
        Self {
            now: Time::ZERO,
            weather,
            nodes: Vec::new(),
            decisions: Vec::new(),
            sent: BTreeMap::new(),
            measure: |_| 0,
            deaf: BTreeSet::new(),
            at: BTreeMap::new(),
            queue: BTreeMap::new(),
            events: 0,
            random: seed_value,
        }
    }

    /// A machine for this node, without its process.
    pub(crate) fn add(&mut self, mut config: TopologyConfig) -> usize {
        let index = self.nodes.len();
        config.seed_value = self.random();
        self.at.insert(config.address.clone(), index);
        self.nodes.push(Node {
            config,
            topology: None,
            island: 0,
            paused_until: Time::ZERO,
            wakes: None,
        });
        index
    }

    /// Starts the process, once more if it runs already.
    pub(crate) fn start(&mut self, index: usize) {
        let config = self.nodes[index].config.clone();
        self.nodes[index].topology =
            Some(Topology::new(self.now, config).expect("the config is valid"));
        self.nodes[index].wakes = None;
        self.input(index, TopologyInput::Tick);
    }

    pub(crate) fn crash(&mut self, index: usize) {
        self.nodes[index].topology = None;
    }

    /// Stops the process for a while; what arrives meanwhile waits.
    pub(crate) fn pause(&mut self, index: usize, length: Duration) {
        self.nodes[index].paused_until = self.now + length;
    }

    /// Hands something to a node now.
    pub(crate) fn input(&mut self, index: usize, input: TopologyInput) {
        let now = self.now;
        if let Some(topology) = &mut self.nodes[index].topology {
            let actions = topology.step(now, input);
            self.perform(index, actions);
        }
    }

    pub(crate) fn run_for(&mut self, length: Duration) {
        let end = self.now + length;
        while let Some(entry) = self.queue.first_entry()
            && entry.key().0 <= end
        {
            let ((at, _), event) = entry.remove_entry();
            self.now = at;
            self.happen(event);
        }
        self.now = end;
    }

    /// Runs until `goal` holds, looking every 100 ms, and says how long that took; none if it took longer than `limit`.
    pub(crate) fn run_until(
        &mut self,
        limit: Duration,
        goal: impl Fn(&Self) -> bool,
    ) -> Option<Duration> {
        let start = self.now;
        while !goal(self) {
            if self.now.saturating_since(start) >= limit {
                return None;
            }
            self.run_for(Duration::from_millis(100));
        }
        Some(self.now.saturating_since(start))
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = (usize, &Topology)> {
        let all = self.nodes.iter().enumerate();
        all.filter_map(|(index, node)| Some((index, node.topology.as_ref()?)))
    }

    pub(crate) fn name(&self, index: usize) -> &NodeName {
        &self.nodes[index].config.name
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Wake(index) if self.nodes[index].paused_until > self.now => {
                self.nodes[index].wakes = None;
                self.wake_at(index, self.nodes[index].paused_until);
            }
            Event::Arrive(index, input) if self.nodes[index].paused_until > self.now => {
                let at = self.nodes[index].paused_until;
                self.schedule(at, Event::Arrive(index, input));
            }
            Event::Wake(index) if self.nodes[index].wakes == Some(self.now) => {
                self.nodes[index].wakes = None;
                self.input(index, TopologyInput::Tick);
            }
            Event::Wake(_) => {}
            Event::Arrive(index, input) => self.input(index, input),
        }
    }

    fn perform(&mut self, index: usize, actions: Vec<TopologyAction>) {
        for action in actions {
            if let TopologyAction::Send { to, message } = action {
                self.carry(index, to, message);
            } else if !matches!(action, TopologyAction::Changed { .. }) {
                self.decisions.push((self.now, index, action));
            }
        }
        let wakeup = self.nodes[index]
            .topology
            .as_ref()
            .and_then(Topology::next_wakeup);
        if let Some(at) = wakeup {
            self.wake_at(index, at);
        }
    }

    fn wake_at(&mut self, index: usize, at: Time) {
        if self.nodes[index].wakes != Some(at) {
            self.nodes[index].wakes = Some(at);
            self.schedule(at, Event::Wake(index));
        }
    }

    fn carry(&mut self, index: usize, to: Address, message: TopologyMessage) {
        let (count, bytes) = self.sent.entry(message.kind()).or_default();
        *count += 1;
        *bytes += (self.measure)(&message) as u64;
        let target = self.at.get(&to).copied();
        if target.is_some_and(|target| self.nodes[target].island != self.nodes[index].island) {
            return;
        }
        if target.is_some_and(|target| self.deaf.contains(&(index, target))) {
            return;
        }
        let Some(target) = target.filter(|target| self.nodes[*target].topology.is_some()) else {
            return self.refuse(index, to);
        };
        let copies = 1 + u64::from(self.percent() < self.weather.doubled_percent);
        for _ in 0..copies {
            if self.percent() >= self.weather.lost_percent {
                let from = self.nodes[index].config.address.clone();
                let message = message.clone();
                let at = self.arrival();
                self.schedule(
                    at,
                    Event::Arrive(target, TopologyInput::Message { from, message }),
                );
            }
        }
    }

    fn refuse(&mut self, index: usize, address: Address) {
        if self.weather.refusals == Refusals::Sent {
            let failure = ConnectFailure::Refused;
            let at = self.arrival();
            self.schedule(
                at,
                Event::Arrive(index, TopologyInput::Unreachable { address, failure }),
            );
        }
    }

    fn arrival(&mut self) -> Time {
        let (least, most) = (self.weather.delay.start, self.weather.delay.end);
        let spread = (most - least).as_nanos() as u64;
        self.now + least + Duration::from_nanos(self.random() % spread.max(1))
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events += 1;
        self.queue.insert((at, self.events), event);
    }

    fn percent(&mut self) -> u64 {
        self.random() % 100
    }

    /// SplitMix64.
    pub(crate) fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
