//! What gossip costs where so many peers do not fit into one process: the same topologies and the same frames, in virtual time.
//!
//! `cargo run --release -p ostrakon-peers --example gossip_cost_simulated -- 1000`

use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
    time::Duration,
};

use ostrakon_control::{Framed, PeerWords};
use ostrakon_core::{
    Address, ConnectFailure, NodeName, Time, Topology, TopologyAction, TopologyConfig,
    TopologyInput, TopologyMessage, TopologySnapshot, TopologyStatus,
};

const SECOND: Duration = Duration::from_secs(1);
/// Nothing takes longer than this, or it is not measured.
const LONGEST: Duration = Duration::from_secs(120);
const STEADY: Duration = Duration::from_secs(20);

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(1000), |text| text.parse())?;
    let mut network = Network::new();
    for _ in 0..count {
        network.add()?;
    }
    network.measure("all see all", move |snapshot| up(snapshot) == count)?;

    // What was learned last is passed on for a few rounds more.
    network.run_for(SECOND * 10)?;
    network.said = Said::default();
    network.run_for(STEADY)?;
    network.print_said("while nothing happens", STEADY);

    let lost = network.names[count - 1].clone();
    network.running[count - 1] = None;
    network.measure("all see a lost peer down", move |snapshot| {
        let member = snapshot.get(&lost);
        member.is_some_and(|member| member.status == TopologyStatus::Down)
    })?;
    network.add()?;
    network.measure("all see a new peer up", move |snapshot| {
        up(snapshot) == count
    })?;
    Ok(())
}

fn up(snapshot: &TopologySnapshot) -> usize {
    let members = snapshot.members.iter();
    members
        .filter(|member| member.status == TopologyStatus::Up)
        .count()
}

#[derive(Default)]
struct Said {
    frames: u64,
    bytes: u64,
}

/// Peers that ask the first of them. Messages take up to 2 ms, and none is lost.
struct Network {
    now: Time,
    running: Vec<Option<Topology>>,
    /// When each wants to be woken, so that it is not woken twice.
    wakes: Vec<Option<Time>>,
    /// By which it is known whether somebody has to be looked at again.
    changed: Vec<bool>,
    names: Vec<NodeName>,
    addresses: Vec<Address>,
    at: HashMap<Address, usize>,
    agenda: BTreeMap<(Time, u64), (usize, TopologyInput)>,
    events: u64,
    said: Said,
    random: fastrand::Rng,
}

impl Network {
    fn new() -> Self {
        Self {
            now: Time::ZERO,
            running: Vec::new(),
            wakes: Vec::new(),
            changed: Vec::new(),
            names: Vec::new(),
            addresses: Vec::new(),
            at: HashMap::new(),
            agenda: BTreeMap::new(),
            events: 0,
            said: Said::default(),
            random: fastrand::Rng::with_seed(1),
        }
    }

    fn add(&mut self) -> Result<(), Box<dyn Error>> {
        let number = self.running.len();
        let address = |number: usize| {
            let (high, low) = (number / 256, number % 256);
            Address::new(format!("10.20.{high}.{low}:25520"))
        };
        let name = NodeName::new(format!("node-{number}"))?;
        let run = 1_700_000_000_000 + number as u64;
        let mut config = TopologyConfig::new(name.clone(), address(number)?, run);
        config.seed_value = self.random.u64(..);
        config.seeds.push(address(0)?);
        self.at.insert(config.address.clone(), number);
        self.addresses.push(config.address.clone());
        self.names.push(name);
        self.running.push(Some(Topology::new(self.now, config)?));
        self.wakes.push(None);
        self.changed.push(true);
        self.plan(number, TopologyInput::Tick);
        Ok(())
    }

    /// Runs until all that run see this, and prints how long that took and what was said.
    fn measure(
        &mut self,
        what: &str,
        goal: impl Fn(&TopologySnapshot) -> bool,
    ) -> Result<(), Box<dyn Error>> {
        let (began, step) = (self.now, Duration::from_millis(100));
        self.said = Said::default();
        self.changed.fill(true);
        let mut behind = vec![true; self.running.len()];
        loop {
            self.run_for(step)?;
            for (number, behind) in behind.iter_mut().enumerate() {
                if std::mem::take(&mut self.changed[number]) {
                    let topology = self.running[number].as_ref();
                    *behind = topology.is_some_and(|topology| !goal(&topology.snapshot()));
                }
            }
            let took = self.now.saturating_since(began);
            if !behind.contains(&true) {
                println!("{what} after {took:.1?}, or as many rounds");
                self.print_said("meanwhile", took);
                return Ok(());
            }
            if took > LONGEST {
                return Err(format!("{what}: not within {LONGEST:?}").into());
            }
        }
    }

    fn print_said(&self, when: &str, time: Duration) {
        let each = self.running.iter().flatten().count() as f64 * time.as_secs_f64();
        println!(
            "  {when} each says {:.1} frames and {:.0} bytes per second",
            self.said.frames as f64 / each,
            self.said.bytes as f64 / each,
        );
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Box<dyn Error>> {
        let end = self.now + time;
        while let Some(entry) = self.agenda.first_entry()
            && entry.key().0 <= end
        {
            let ((at, _), (number, input)) = entry.remove_entry();
            self.now = at;
            self.step(number, input)?;
        }
        self.now = end;
        Ok(())
    }

    fn step(&mut self, number: usize, input: TopologyInput) -> Result<(), Box<dyn Error>> {
        let Some(topology) = &mut self.running[number] else {
            return Ok(());
        };
        let actions = topology.step(self.now, input);
        let wakeup = topology.next_wakeup();
        for action in actions {
            if let TopologyAction::Send { to, message } = action {
                self.carry(number, to, message)?;
            } else if let TopologyAction::Changed { .. } = action {
                self.changed[number] = true;
            }
        }
        if let Some(at) = wakeup.filter(|at| self.wakes[number] != Some(*at)) {
            self.wakes[number] = Some(at);
            self.events += 1;
            self.agenda
                .insert((at, self.events), (number, TopologyInput::Tick));
        }
        Ok(())
    }

    fn carry(
        &mut self,
        from: usize,
        to: Address,
        message: TopologyMessage,
    ) -> Result<(), Box<dyn Error>> {
        let words = PeerWords::Gossip(message);
        self.said.frames += 1;
        self.said.bytes += Framed::new(&words)?.size() as u64;
        let PeerWords::Gossip(message) = words else {
            return Ok(());
        };
        let target = self.at.get(&to).copied();
        match target.filter(|target| self.running[*target].is_some()) {
            Some(target) => {
                let from = self.addresses[from].clone();
                self.plan(target, TopologyInput::Message { from, message });
            }
            None => {
                let failure = ConnectFailure::Refused;
                self.plan(
                    from,
                    TopologyInput::Unreachable {
                        address: to,
                        failure,
                    },
                );
            }
        }
        Ok(())
    }

    fn plan(&mut self, number: usize, input: TopologyInput) {
        let delay = Duration::from_micros(self.random.u64(200..2000));
        self.events += 1;
        self.agenda
            .insert((self.now + delay, self.events), (number, input));
    }
}
