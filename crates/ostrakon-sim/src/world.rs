//! `World`: one schedule, from its seed to its end.
//!
//! It has the only true clock, carries out what coordinators and regions want done, and tells the [`Oracle`] what really happened. What
//! it does to whom is in the files below; all of it is decided by the dice, and in the order of the agenda.

mod absence;
mod agreement;
mod answers;
mod calm;
mod faults;
mod gossip;
mod hosting;
mod lanes;
mod leases;
mod logging;
mod managers;
mod messages;
mod nodes;
mod operator;
mod processes;
mod quorum;
mod succession;
mod watching;

use std::rc::Rc;

use ostrakon_core::{Address, Command, Entry, NodeName, Rules, Term, Time};

use self::absence::Absence;
use crate::{
    agenda::{Agenda, MILLI, Moment, SECOND},
    dice::Dice,
    event::{Event, Local},
    log::Log,
    manager::Manager,
    mutant::Mutant,
    network::Network,
    node::Node,
    oracle::Oracle,
    ran::Ran,
    setup::{Plane, Setup},
    site::Site,
    storage::Storage,
    trace::{Trace, Writing},
    voters::Voters,
};

/// One schedule.
pub(crate) struct World {
    setup: Setup,
    mutant: Option<Mutant>,
    rules: Rules,
    dice: Dice,
    now: Moment,
    agenda: Agenda<Event>,
    trace: Trace,
    oracle: Oracle,
    network: Network,
    storage: Storage,
    voters: Voters,
    log: Log,
    sites: Vec<Site>,
    /// By manager; `None` while its process does not run.
    managers: Vec<Option<Manager>>,
    /// By node; `None` while its process does not run.
    nodes: Vec<Option<Node>>,
    /// By node: a seed in another cluster, for its next process.
    other_seeds: Vec<Option<Address>>,
    processes: u64,
    streams: u64,
    is_calm: bool,
    /// When all is well, managers go away for a while.
    absence: Absence,
    /// The asks by which it is seen that all is well, once it is.
    proof: Option<Vec<usize>>,
}

/// Runs the schedule of a seed.
pub fn run(seed: u64, plane: Plane, mutant: Option<Mutant>, writing: Writing) -> Ran {
    World::new(seed, plane, mutant, writing).run()
}

impl World {
    fn new(seed: u64, plane: Plane, mutant: Option<Mutant>, writing: Writing) -> Self {
        let mut dice = Dice::new(seed);
        let setup = Setup::of(plane, mutant, &mut dice);
        let voters = match plane {
            Plane::Managed => 0,
            Plane::Peer => setup.managers,
        };
        let sites = (0..setup.sites()).map(|site| Site::new(setup.clock(site)));
        let vacant = |count| std::iter::repeat_with(|| None).take(count);
        Self {
            mutant,
            rules: mutant.map(Mutant::rules).unwrap_or_default(),
            now: 0,
            agenda: Agenda::new(),
            trace: Trace::new(writing),
            oracle: Oracle::new(setup.keys.len(), setup.forget_after()),
            network: Network::new(&setup),
            storage: Storage::default(),
            voters: Voters::new(voters),
            log: Log::default(),
            sites: sites.collect(),
            managers: vacant(setup.managers).collect(),
            nodes: std::iter::repeat_with(|| None).take(setup.nodes).collect(),
            other_seeds: vec![None; setup.nodes],
            processes: 0,
            streams: 0,
            is_calm: false,
            absence: Absence::default(),
            proof: None,
            dice,
            setup,
        }
    }

    fn run(mut self) -> Ran {
        self.begin();
        while let Some((at, event)) = self.agenda.next() {
            if at > self.setup.ends_at || self.oracle.violation.is_some() {
                break;
            }
            self.now = at;
            self.trace.event(at, event.facts(), || format!("{event:?}"));
            self.happens(event);
        }
        if self.oracle.violation.is_none() {
            self.now = self.setup.ends_at;
            self.must_be_well();
        }
        Ran {
            hash: self.trace.hash(),
            events: self.trace.events(),
            lasted: self.now,
            tally: self.oracle.tally,
            violation: self.oracle.violation,
            last: self.trace.into_last(),
        }
    }

    /// A log with nothing in it but the policy, and processes that start one after the other.
    fn begin(&mut self) {
        let grantor = NodeName::new("operator").expect("a node name");
        let policy = self.setup.policy.clone();
        let first = Command::Takeover { grantor, run: 0 };
        let second = Command::SetPolicy(policy);
        for (term, command) in [(0, first), (1, second)] {
            let term = Term::new(term);
            self.commit(Rc::new(Entry { term, command }));
        }
        for site in 0..self.sites.len() {
            let at = self.dice.below(10 * SECOND);
            let process = 0;
            self.agenda.note(at, Event::Restart { site, process });
        }
        for (at, event) in [
            (15 * SECOND, Event::Trouble),
            (20 * SECOND, Event::Move),
            (self.setup.calm_at / 2, Event::SetPolicy),
            (self.setup.calm_at, Event::Calm),
        ] {
            self.agenda.note(at, event);
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::At {
                site,
                process,
                what,
            } => self.happens_at(site, process, what),
            Event::Log {
                manager,
                number,
                request,
            } => self.reaches_log(manager, number, request),
            Event::Renewal {
                site,
                process,
                incarnation,
                counted,
            } => self.renewal_arrives(site, process, incarnation, counted),
            Event::Lapse { site, process } => self.lapse(site, process),
            Event::Trouble => self.trouble(),
            Event::FaultEnds(fault) => self.fault_ends(&fault),
            Event::Resume { site, process } => self.resume(site, process),
            Event::Restart { site, process } => self.restart(site, process),
            Event::Move => self.operator_moves(),
            Event::SetPolicy => self.operator_sets_policy(),
            Event::JoinClusters { ours, theirs } => self.operator_joins_clusters(ours, theirs),
            Event::Calm => self.calm(),
            Event::Look => self.look(),
        }
    }

    fn happens_at(&mut self, site: usize, process: Option<u64>, what: Local) {
        let place = &mut self.sites[site];
        let is_there = process.is_none_or(|process| process == place.process);
        if !place.is_alive || !is_there {
            return;
        }
        if place.is_paused {
            place.backlog.push(what);
            return;
        }
        self.happens_to(site, what);
    }

    fn happens_to(&mut self, site: usize, what: Local) {
        match what {
            Local::ManagerWakes => self.manager_wakes(site),
            Local::ManagerTicks => self.manager_ticks(site),
            Local::ManagerHears { from, message } => self.manager_hears(site, from, *message),
            Local::LogAnswers { number, answer } => self.log_answers(site, number, answer),
            Local::LogIsLate { number } => self.log_is_late(site, number),
            Local::Health {
                incarnation,
                answer,
            } => self.manager_learns(site, incarnation, answer),
            Local::NodeWakes => self.node_wakes(site),
            Local::NodeHears(message) => self.node_hears(site, *message),
            Local::NodeGetsMap(told) => self.node_gets_map(site, &told),
            Local::GossiperWakes => self.gossiper_wakes(site),
            Local::GossiperHears(word) => self.gossiper_hears(site, word),
            Local::GossiperIsRefused(address) => self.gossiper_is_refused(site, *address),
            Local::Client => self.client_speaks(site),
            Local::Pump { shard } => self.pump(site, shard),
            Local::AskEnds { shard, message } => self.ask_ends(site, shard, message),
            Local::Frame(frame) => self.frame_arrives(site, frame),
            Local::Answer {
                shard,
                stream,
                message,
                disposition,
            } => self.answered(site, (shard, stream), message, disposition),
            Local::StreamBreaks { shard, stream } => self.stream_breaks(site, shard, stream),
            Local::HandlerEnds {
                shard,
                epoch,
                message,
            } => self.handler_ends(site, shard, epoch, message),
            Local::Quiet(shard) => self.is_quiet(site, shard.0, shard.1),
        }
    }

    /// What the clock of a site shows.
    fn local(&self, site: usize) -> Time {
        self.sites[site].clock.shows(self.now)
    }

    /// Notes something for the process that runs at a site now.
    fn note(&mut self, after: Moment, site: usize, what: Local) {
        let process = Some(self.sites[site].process);
        let at = self.now + after;
        self.agenda.note(
            at,
            Event::At {
                site,
                process,
                what,
            },
        );
    }

    /// Sends a message of the control plane to whoever runs there when it arrives.
    fn send(&mut self, from: usize, to: usize, what: &Local) {
        self.send_to(from, (to, None), what);
    }

    /// The same, to a certain process if one is named.
    fn send_to(&mut self, from: usize, (to, process): (usize, Option<u64>), what: &Local) {
        let copies = self.network.copies(from, to, &mut self.dice);
        for delay in copies.into_iter().flatten() {
            let at = self.now + delay;
            let what = what.clone();
            self.agenda.note(
                at,
                Event::At {
                    site: to,
                    process,
                    what,
                },
            );
        }
    }

    /// When to wake a process that wants to be woken at a time of its own.
    fn wake_at(&self, site: usize, time: Time) -> Moment {
        let moment = self.sites[site].clock.moment_of(time);
        moment.max(self.now + MILLI)
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}
