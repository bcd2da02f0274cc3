//! `Engine`: drives the coordinator. One task, which never waits for anything but its inputs.

mod ahead;
mod carrying_out;
mod input;
mod leading;
mod reading;

use std::{
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
    time::Duration,
};

use ostrakon_clock::GrantorClock;
use ostrakon_control::FromNode;
use ostrakon_core::{
    Coordinator, CoordinatorInput, Counted, Incarnation, Index, Liveness, NodeName, Policy,
    Succession, Term, Time, ToCoordinator,
};
use ostrakon_health::Health;
use ostrakon_storage::Renewal;
use tokio::sync::{mpsc, watch};

pub(crate) use self::input::Input;
use crate::{OtherRules, keeper::Keeper, leading::Leading, switchboard::Switchboard, view::View};

/// How often to give and look for signs of life.
const TICK: Duration = Duration::from_secs(1);
/// How often to try to lead after an election.
const TRY: Duration = Duration::from_millis(100);
/// Callers are asked every so many ticks whether they are there.
const PING_EVERY: u32 = 5;
/// So many inputs are taken in before what came of them is shown.
const AT_ONCE: usize = 1024;
/// The log is compacted after so many entries.
const COMPACT_AFTER: u64 = 10_000;

pub(crate) struct EngineParts {
    pub(crate) me: NodeName,
    pub(crate) policy: Policy,
    pub(crate) other_rules: OtherRules,
    pub(crate) patience: Duration,
    pub(crate) leading: Leading,
    pub(crate) health: Arc<dyn Health>,
    pub(crate) keeper: Keeper,
    pub(crate) view: Arc<RwLock<View>>,
    pub(crate) inputs: mpsc::Sender<Input>,
    pub(crate) applied: watch::Sender<Index>,
    pub(crate) events: watch::Sender<u64>,
}

pub(crate) struct Engine {
    coordinator: Coordinator,
    clock: GrantorClock,
    succession: Succession,
    switchboard: Switchboard,
    /// The coordinator waits to hear that the log has been read.
    read_is_owed: bool,
    /// It was elected, and tries to lead when it has read the log.
    leads_when_read: bool,
    leads: Option<Term>,
    beats: u64,
    ticks: u32,
    compacted: Index,
    ahead: ahead::Ahead,
    /// It has been said that the storage takes too little at once.
    knows_limit: bool,
    parts: EngineParts,
}

impl Engine {
    pub(crate) fn new(parts: EngineParts) -> Self {
        let clock = GrantorClock::start();
        let run = fastrand::u64(..);
        // A random part keeps managers from trying to lead at the same moment. Less than two looks would be no patience at all.
        let patience = parts.patience.max(TICK * 2);
        let patience = patience.mul_f64(1.0 + fastrand::f64() / 2.0);
        Self {
            coordinator: Coordinator::new(parts.me.clone(), run),
            succession: Succession::new(patience, clock.now()),
            clock,
            switchboard: Switchboard::default(),
            read_is_owed: false,
            leads_when_read: false,
            leads: None,
            beats: 0,
            ticks: 0,
            compacted: Index::default(),
            ahead: ahead::Ahead::default(),
            knows_limit: false,
            parts,
        }
    }

    /// Runs until nobody can reach it any more.
    pub(crate) async fn run(mut self, mut inputs: mpsc::Receiver<Input>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut tries = tokio::time::interval(TRY);
        tries.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.parts.keeper.read(Index::default());
        loop {
            let pause = self.pause();
            tokio::select! {
                input = inputs.recv() => match input {
                    // Thousands of nodes give a sign of life every second, and nothing comes of it that anybody could be shown.
                    Some(Input::Heard { words: FromNode::Pong, .. }) => continue,
                    Some(input) => self.take(input),
                    None => return,
                },
                _ = ticks.tick() => self.tick(),
                _ = tries.tick(), if self.should_try() => {
                    self.leads_when_read = true;
                    self.read_log();
                }
                () = tokio::time::sleep(pause) => self.step(CoordinatorInput::Wake),
            }
            // Not without end: those who speak without pause must not keep it from everything else.
            for _ in 0..AT_ONCE {
                let Ok(input) = inputs.try_recv() else {
                    break;
                };
                self.take(input);
            }
            self.publish();
        }
    }

    fn pause(&self) -> Duration {
        let wake = self.coordinator.next_wakeup();
        wake.map_or(TICK, |wake| wake.saturating_since(self.clock.now()))
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Arrived {
                line,
                name,
                seat,
                mouth,
            } => self.switchboard.arrived(line, name, seat, mouth),
            Input::Heard { line, words } => self.hear(line, words),
            Input::Hung { line } => {
                if let Some(incarnation) = self.switchboard.hung(line) {
                    let unreachable = ToCoordinator::Unreachable { incarnation };
                    self.step(CoordinatorInput::Heard(unreachable));
                }
            }
            Input::Deciders(deciders) => self.switchboard.name_deciders(deciders),
            Input::Election => self.election(),
            Input::LogMoved => self.read_log(),
            Input::Read(read) => self.read(read),
            Input::ReadEnded { ok } => self.read_ended(ok),
            Input::AppendEnded {
                id,
                after,
                entries,
                outcome,
            } => self.append_ended(id, after, entries, outcome),
            Input::Confirmed { id, outcome } => {
                self.step(CoordinatorInput::ConfirmEnded { id, outcome });
            }
            Input::Looked(head) => self.looked(head),
            Input::LogEnds(end) => self.log_ends(end),
            Input::Leases(leases) => {
                for (incarnation, Renewal { seq, ok_seq }) in leases {
                    let counted = Counted { seq, ok_seq };
                    self.step(CoordinatorInput::Counted {
                        incarnation,
                        counted,
                    });
                }
            }
            Input::Health {
                incarnation,
                answer,
            } => self.learn_health(incarnation, answer),
            // Whoever asked may have gone.
            Input::Wish { wish, answer } => drop(answer.send(self.wish(wish))),
            Input::Plan { answer } => drop(answer.send(self.plan())),
            Input::Knock { answer } => drop(answer.send(())),
        }
    }

    fn hear(&mut self, line: u64, words: FromNode) {
        match words {
            FromNode::Pong | FromNode::Vitals(_) => {}
            FromNode::Follow { behind } => self.follow(line, behind),
            FromNode::Say(message) => {
                if let Some(run) = speaker(&message) {
                    self.switchboard.spoke(line, run);
                }
                tracing::trace!(line, ?message, "heard");
                self.step_for(Some(line), CoordinatorInput::Heard(message));
            }
        }
    }

    fn tick(&mut self) {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.is_multiple_of(PING_EVERY) {
            self.switchboard.ping();
        }
        self.look_at_end();
        if let Some(term) = self.coordinator.leads() {
            self.count(term);
            self.note_silence();
            self.compact();
        } else if !matches!(self.parts.leading, Leading::While(_)) {
            self.parts.keeper.look();
        }
        self.gauge();
    }

    /// What a leader does first: the rules of the cluster become its own, unless it has none that count.
    fn begin_to_lead(&mut self, term: Term) {
        tracing::info!(%term, "leading");
        let rules = self.coordinator.state().policy();
        let may_stay = self.parts.other_rules == OtherRules::Keep && *rules != Policy::default();
        if *rules != self.parts.policy && !may_stay {
            let policy = self.parts.policy.clone();
            let set = ostrakon_core::Command::SetPolicy(policy);
            self.step(CoordinatorInput::Propose(set));
        }
        if matches!(self.parts.leading, Leading::While(_)) {
            self.suspect_the_missing();
        }
    }

    /// A process that ends closes its connections before it is gone: whoever is connected nowhere is asked about again, less and less often.
    fn learn_health(&mut self, incarnation: Incarnation, answer: Liveness) {
        let is_dead = matches!(answer, Liveness::Dead(_));
        self.step(CoordinatorInput::Health {
            incarnation,
            answer,
        });
        if !is_dead && !self.switchboard.speaks(incarnation) {
            self.step(CoordinatorInput::Heard(ToCoordinator::Unreachable {
                incarnation,
            }));
        }
    }

    /// Nodes speak to all of their peers that may decide. Whoever does not speak to this one may have ended with the one that led before.
    fn suspect_the_missing(&mut self) {
        let members = self.coordinator.state().members();
        let missing = members.filter(|(run, _)| !self.switchboard.speaks(*run));
        let missing: Vec<_> = missing.map(|(run, _)| run).collect();
        for incarnation in missing {
            let unreachable = ToCoordinator::Unreachable { incarnation };
            self.step(CoordinatorInput::Heard(unreachable));
        }
    }

    /// Lets everybody see what has changed.
    fn publish(&mut self) {
        let leads = self.coordinator.leads();
        if leads != self.leads {
            self.leads = leads;
            self.view().set_leads(leads);
            match leads {
                Some(term) => self.begin_to_lead(term),
                None => tracing::info!("another manager leads"),
            }
        }
        let view = self.parts.view.read();
        let view = view.unwrap_or_else(PoisonError::into_inner);
        self.switchboard.tell_news(&view);
        let (applied, next) = (view.state().applied(), view.next_event());
        drop(view);
        self.parts.applied.send_if_modified(|old| {
            let news = *old != applied;
            *old = applied;
            news
        });
        self.parts.events.send_if_modified(|old| {
            let news = *old != next;
            *old = next;
            news
        });
    }

    fn view(&self) -> RwLockWriteGuard<'_, View> {
        let view = self.parts.view.write();
        view.unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        self.clock.now()
    }
}

/// The run that says something of itself.
fn speaker(message: &ToCoordinator) -> Option<Incarnation> {
    match message {
        ToCoordinator::Renew { incarnation, .. }
        | ToCoordinator::Released { incarnation, .. }
        | ToCoordinator::Leave { incarnation }
        | ToCoordinator::Gone { incarnation } => Some(*incarnation),
        ToCoordinator::Register { .. }
        | ToCoordinator::Unreachable { .. }
        | ToCoordinator::Wanted { .. } => None,
    }
}
